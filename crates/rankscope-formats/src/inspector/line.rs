//! One line of Inspector's, as it stands there.

use serde::Deserialize;

/// What a line turned out to be.
pub(super) enum Parsed {
    /// An operation, or what the next lines are of.
    Line(Box<Line>),
    /// JSON of something else: a newer release's records.
    Other,
    /// No JSON, or an operation without what makes it one.
    Malformed,
}

/// A line. Until version 4.2 each has a header; later those of one dump share the one before them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line {
    pub(super) header: Option<Header>,
    pub(super) metadata: Option<Metadata>,
    coll_perf: Option<Collective>,
    p2p_perf: Option<Message>,
    pub(super) dump_stats: Option<Stats>,
    #[serde(skip)]
    pub(super) operation: Option<Operation>,
}

/// A communicator, seen from one of its ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Header {
    pub(super) id: String,
    pub(super) comm_name: String,
    pub(super) rank: u32,
    pub(super) n_ranks: u32,
}

/// The process, and when the line was written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub(super) inspector_output_format_version: String,
    pub(super) dump_timestamp_us: u64,
    pub(super) hostname: String,
    pub(super) pid: i64,
}

/// Operations that were overwritten before they could be written, since the dump before.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Stats {
    pub(super) coll_dropped_since_last_dump: u64,
    pub(super) p2p_dropped_since_last_dump: u64,
}

#[derive(Debug, Deserialize)]
struct Collective {
    coll: String,
    coll_sn: u64,
    #[serde(default)]
    coll_msg_size_bytes: u64,
    #[serde(default)]
    coll_exec_time_us: f64,
    #[serde(default)]
    coll_timing_source: String,
    #[serde(default)]
    coll_algo: String,
    #[serde(default)]
    coll_proto: String,
    #[serde(default)]
    event_trace_ts: Option<Times>,
}

#[derive(Debug, Deserialize)]
struct Message {
    p2p: String,
    #[serde(default)]
    p2p_sn: u64,
    p2p_peer: Option<i64>,
    #[serde(default)]
    p2p_msg_size_bytes: u64,
    #[serde(default)]
    p2p_exec_time_us: f64,
    #[serde(default)]
    p2p_timing_source: String,
    #[serde(default)]
    event_trace_ts: Option<Times>,
}

/// Microseconds of the wall clock; 0 is what is written where there is none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Times {
    #[serde(alias = "p2p_start_ts")]
    pub(super) coll_start_ts: u64,
    #[serde(alias = "p2p_stop_ts")]
    pub(super) coll_stop_ts: u64,
    pub(super) kernel_events: Vec<Channel>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Channel {
    pub(super) kernel_start_ts: u64,
    pub(super) kernel_stop_ts: u64,
}

/// A collective or a message.
#[derive(Debug)]
pub(super) struct Operation {
    /// As NCCL calls it.
    pub(super) function: String,
    /// Its number among those of its function in its communicator.
    pub(super) number: u64,
    /// The other end of a message, within the communicator.
    pub(super) peer: Option<u32>,
    pub(super) bytes: u64,
    pub(super) took_us: f64,
    pub(super) timed_by: String,
    pub(super) algorithm: String,
    pub(super) protocol: String,
    pub(super) times: Option<Times>,
}

impl Line {
    pub(super) fn parse(text: &[u8]) -> Parsed {
        let Ok(mut line) = serde_json::from_slice::<Self>(text) else { return Parsed::Malformed };
        line.operation = match (line.coll_perf.take(), line.p2p_perf.take()) {
            (Some(collective), _) => Some(collective.into()),
            (None, Some(message)) => Some(message.into()),
            (None, None) if line.dump_stats.is_some() => None,
            (None, None) => return Parsed::Other,
        };
        Parsed::Line(Box::new(line))
    }
}

impl From<Collective> for Operation {
    fn from(it: Collective) -> Self {
        Self {
            function: it.coll,
            number: it.coll_sn,
            peer: None,
            bytes: it.coll_msg_size_bytes,
            took_us: it.coll_exec_time_us,
            timed_by: it.coll_timing_source,
            algorithm: it.coll_algo,
            protocol: it.coll_proto,
            times: it.event_trace_ts,
        }
    }
}

impl From<Message> for Operation {
    fn from(it: Message) -> Self {
        Self {
            function: it.p2p,
            number: it.p2p_sn,
            peer: it.p2p_peer.and_then(|peer| u32::try_from(peer).ok()),
            bytes: it.p2p_msg_size_bytes,
            took_us: it.p2p_exec_time_us,
            timed_by: it.p2p_timing_source,
            algorithm: String::new(),
            protocol: String::new(),
            times: it.event_trace_ts,
        }
    }
}
