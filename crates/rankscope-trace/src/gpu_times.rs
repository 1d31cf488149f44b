//! [`GpuTimes`]: when a GPU worked on a span by its own clock, beside when the host launched that and learned of its end.
//!
//! Nothing is concluded here: what such pairs of stamps say about the two clocks takes all of them.

/// When a GPU worked on a span, as its recorder was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuTimes {
    /// On the trace's clock, no later than the launch; none where nobody told of one.
    pub launched_ns: Option<i64>,
    /// By the GPU's clock; zero where it was not told.
    pub start_ns: u64,
    /// By the GPU's clock; zero where it was not told.
    pub stop_ns: u64,
    /// On the trace's clock, when the host was told of the stop.
    pub seen_ns: i64,
}
