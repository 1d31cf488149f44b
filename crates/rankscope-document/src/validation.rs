//! Whether what traces show can have happened: `rankscope validate`, schema 1, described in docs/reference/formats/validate-json.md.

use serde::{Deserialize, Serialize};

use crate::ClockMethod;
use crate::vocabulary::vocabulary;

/// What was judged, and what came of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ValidationDocument {
    /// Version of this layout: 1.
    pub schema: u32,
    /// Version of the program that wrote it.
    pub rankscope_version: String,
    /// What was judged, for headings: the input paths.
    pub title: String,
    /// The clocks that collectives were judged on.
    pub clocks: ClockMethod,
    /// What is odd about those.
    pub notes: Vec<String>,
    /// Who takes part in collectives, by number.
    pub nodes: Vec<ValidationNode>,
    /// Ranks of the job without a trace.
    pub missing_ranks: Vec<u32>,
    /// Files that were passed over, and why.
    pub skipped: Vec<String>,
    /// What cannot have happened.
    pub violations: u64,
    /// Collectives in which the times of all ranks overlap, as they must.
    pub overlaps: u64,
    /// What a viewer leaves out or draws wrongly.
    pub losses: u64,
    /// What is missing or was damaged.
    pub warnings: u64,
    /// From the first to the last start of a collective that needs all ranks, on average.
    pub avg_gap_ns: Option<f64>,
    /// The same, the largest.
    pub max_gap_ns: Option<i64>,
    /// Collectives that these two are over.
    pub gap_count: u64,
    /// Collectives found on several participants.
    pub matched: u64,
    /// Collectives found on one only.
    pub unmatched: u64,
    /// Matched ones of which nothing recorded says which rank needs which.
    pub unjudged: u64,
    /// Every rule, in order.
    pub rules: Vec<RuleCount>,
    /// The violations: across ranks, largest gap first, then those of single traces.
    pub details: Vec<RuleFinding>,
    /// Losses and warnings.
    pub findings: Vec<RuleFinding>,
}

/// A participant in collectives: a rank, or one device of several.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ValidationNode {
    /// Its number.
    pub node: usize,
    /// Its rank.
    pub rank: u32,
    /// Its host, where the file says so.
    pub host: Option<String>,
    /// The device, where a file holds several.
    pub device: Option<String>,
    /// The file.
    pub file: String,
}

/// How often a rule was judged and found broken.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RuleCount {
    /// The rule.
    pub rule: Rule,
    /// What a breach of it weighs.
    pub weight: RuleWeight,
    /// How often there was something to judge.
    pub judged: u64,
    /// How often it is broken.
    pub found: u64,
}

/// One place where a rule is broken.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RuleFinding {
    /// The rule.
    pub rule: Rule,
    /// The event.
    pub op: String,
    /// The rank concerned; across ranks, the one that entered too late.
    pub rank: u32,
    /// By how much the rule is missed.
    pub gap_ns: Option<i64>,
    /// Start of the event.
    pub at_ns: Option<i64>,
    /// Of the event; across ranks of the late one and the early one.
    pub correlation_ids: Vec<u64>,
    /// What is wrong, for people.
    pub detail: String,
    /// Across ranks only: the two that missed each other.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub pair: Option<MissedPair>,
}

/// The two ranks of a collective that missed each other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MissedPair {
    /// The process group.
    pub group: String,
    /// How many collectives of this operation the group had before.
    pub occurrence: u64,
    /// The participant that entered last.
    pub latest_start_node: usize,
    /// Its rank.
    pub latest_start_rank: u32,
    /// When it entered.
    pub latest_start_time: i64,
    /// The participant that left first.
    pub earliest_end_node: usize,
    /// Its rank.
    pub earliest_end_rank: u32,
    /// When it left.
    pub earliest_end_time: i64,
    /// Whether it is so even where the clocks are off by what they claim at worst.
    pub certain: bool,
}

vocabulary! {
    /// What a broken rule means.
    RuleWeight {
        /// It cannot have happened as shown.
        Violation = "violation",
        /// A viewer leaves something out or draws it wrongly.
        Loss = "loss",
        /// Something is missing or was damaged.
        Warning = "warning",
    }
}

vocabulary! {
    /// A rule that traces keep.
    Rule {
        /// No rank leaves a collective that needs all ranks before every rank has entered it.
        CollectiveOverlap = "collective_overlap",
        /// No rank leaves a broadcast or scatter before its root has entered, and no root a reduce or gather before every rank has.
        RootTakesPart = "root_takes_part",
        /// No receive ends before its send starts.
        ReceiveAfterSend = "receive_after_send",
        /// No kernel starts before the call that launches it.
        KernelAfterLaunch = "kernel_after_launch",
        /// A wait for an event names the call that recorded it, and that call is in the trace.
        WaitNamesRecord = "wait_names_record",
        /// That call is no later than the wait.
        RecordBeforeWait = "record_before_wait",
        /// No kernel is running on a stream when it is synchronised.
        StreamIdleAtSync = "stream_idle_at_sync",
        /// A collective's operator has its name, type, sizes and group size.
        CollectiveFields = "collective_fields",
        /// One sequence number belongs to one backward operator.
        BackwardName = "backward_name",
        /// Spans of one thread or stream nest or follow each other.
        Nesting = "nesting",
        /// A flow begins once.
        FlowId = "flow_id",
        /// A flow that ends has begun.
        FlowBegin = "flow_begin",
        /// A point of a flow lies within a span.
        FlowEnclosed = "flow_enclosed",
        /// A flow does not point backward in time.
        FlowForward = "flow_forward",
        /// The file could be read as a whole.
        Damage = "damage",
        /// The profiler lost nothing and wrote no error or warning into the file.
        Drops = "drops",
        /// Every span ended before the recording did.
        Unfinished = "unfinished",
        /// No duration is negative or overflowed.
        Duration = "duration",
        /// No event lies far from all others.
        Outside = "outside",
    }
}
