//! What `rankscope combine` did to each trace: `<stem>.metadata.json`, schema 1, described in docs/reference/formats/combine.md.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::vocabulary::vocabulary;
use crate::{ClockMethod, ValidationDocument};

/// The traces of one combined file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CombineDocument {
    /// Version of this layout: 1.
    pub schema: u32,
    /// The combined file.
    pub output: String,
    /// How clocks are known, by and large.
    pub method: ClockMethod,
    /// What the reader should know.
    pub notes: Vec<String>,
    /// Files that were passed over, and why.
    pub skipped: Vec<String>,
    /// What the traces hold and the output has no place for, and how often; what was not lost is absent.
    pub left_out: BTreeMap<LeftOutKind, u64>,
    /// Every trace.
    pub nodes: Vec<CombinedNode>,
    /// What `validate` says of the combined traces, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<ValidationDocument>,
}

/// One trace.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CombinedNode {
    /// Its number in the combined file.
    pub id: u32,
    /// What told us that number.
    pub numbered_by: NumberedBy,
    /// The node whose clock it was moved by.
    pub node: Option<u32>,
    /// Its host, where the file says so.
    pub host: Option<String>,
    /// The file.
    pub file: String,
    /// How its clock is known.
    pub method: ClockMethod,
    /// Events moved.
    pub events: u64,
    /// Pairs of a tracer's clock and the host's.
    pub snapshots: usize,
    /// It has events of devices, and nothing but the start of its collector says how their clock stood to the host's.
    pub missing_snapshots: bool,
    /// Windows of measured offsets that it was moved by.
    pub offset_windows: usize,
    /// Its clock minus the common one, in its middle.
    pub offset_ns: i64,
    /// The most that was added to a stamp or taken off it between clocks, in either direction.
    pub max_correction_ns: u64,
    /// The most that the common time of an event may be off by what clocks claim; none where they claim nothing.
    pub uncertainty_ns: Option<u64>,
    /// What the measured offsets disagree with the line through them.
    pub residual_ns: Option<f64>,
    /// Events outside what was measured.
    pub extrapolations: Extrapolations,
    /// What was added to stamps that counted from the start of a collector.
    pub restored: RestoredStamps,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// Events outside what was measured, by what was to be known there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extrapolations {
    /// A tracer's clock.
    pub snapshots: u64,
    /// The offset between hosts.
    pub offsets: u64,
}

/// What was added to stamps that counted from the start of a collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoredStamps {
    /// To those of the host.
    pub host_ns: i64,
    /// To those of devices.
    pub devices_ns: i64,
}

vocabulary! {
    /// What told us a trace's number in the combined file.
    NumberedBy {
        /// Its place among the inputs.
        Position = "position",
        /// The trace itself, its name, or the run it is of.
        Rank = "rank",
    }
}

vocabulary! {
    /// What a trace may hold and a format has no place for.
    LeftOutKind {
        /// Points of flows that no span encloses.
        LooseFlowPoints = "loose_flow_points",
        /// Names and categories of flows, by point.
        FlowNames = "flow_names",
        /// Starts and lengths beyond whole nanoseconds.
        Picoseconds = "picoseconds",
        /// What was said once about all spans of a sort.
        Descriptions = "descriptions",
        /// Arguments of processes, devices, threads and streams.
        TrackArguments = "track_arguments",
    }
}
