//! One measured transfer, in the terms of the model.

use rankscope_time::Span;

/// What one port did, and how long that took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Where it comes from: the line of a file, the index of a collective.
    pub place: usize,
    /// The whole buffer.
    pub size_bytes: u64,
    /// Bytes over the busiest port.
    pub port_bytes: f64,
    /// Messages through it, one after the other.
    pub messages: f64,
    /// Whether the operation's own start is in the time; not where many operations were in flight at once.
    pub started: bool,
    /// How long it took.
    pub time: Span,
}

/// The measurements of one run of one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// What was measured.
    pub operation: super::Operation,
    /// Ranks that took part.
    pub ranks: u32,
    /// Hosts they ran on, where the benchmark names them.
    pub hosts: Option<u32>,
    /// Its rows.
    pub rows: Vec<Sample>,
}
