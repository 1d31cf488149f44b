//! Why, and what would help: budgets, blame, the critical path and advice in `report.json`, and the answer of `what-if`.
//!
//! Times are nanoseconds over the whole recording unless their name says a step.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::vocabulary::vocabulary;
use crate::{CollectiveKind, Link};

/// What one sort of collective costs, split into what balance would save and what a faster network would.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// The process group.
    pub group: String,
    /// The operation.
    pub kind: CollectiveKind,
    /// Element type; empty where it is not recorded.
    pub dtype: String,
    /// Elements of one collective; `null` where they are not recorded.
    pub elements: Option<u64>,
    /// Whether its ranks share a node.
    pub link: Link,
    /// Matched collectives of this sort.
    pub count: u64,
    /// Exposed communication of all its ranks: `wait_ns + transfer_ns`, exactly.
    pub exposed_ns: i64,
    /// The part of it before the last rank had come.
    pub wait_ns: i64,
    /// The part of it after.
    pub transfer_ns: i64,
    /// What the transfer would be, had each collective taken as long as the fastest of its sort.
    pub transfer_at_best_ns: i64,
    /// What the clocks leave open of `wait_ns`, and so of `transfer_ns`.
    pub clock_ns: i64,
    /// What a step of the job would save if all ranks came together.
    pub balance_saves_ns_per_step: i64,
    /// What a step would save if every transfer were as fast as the best.
    pub network_saves_ns_per_step: i64,
}

/// How one rank made others wait, and was made to wait itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Blame {
    /// The rank.
    pub rank: u32,
    /// Lateness where it came last, beside the median rank: `caused_ns + inherited_ns + uncertain_ns`, exactly.
    pub lateness_ns: i64,
    /// The part of it that is the rank's own.
    pub caused_ns: i64,
    /// The part in which it waited for others itself, in other groups.
    pub inherited_ns: i64,
    /// The part that may be the clocks'.
    pub uncertain_ns: i64,
    /// Collectives to which it came last.
    pub last: u64,
    /// Collectives it took part in.
    pub of: u64,
    /// How its lateness recurs.
    pub pattern: LatePattern,
    /// Steps from one late one to the next, where it is periodic.
    pub every_steps: Option<u64>,
    /// What `caused_ns` and `inherited_ns` are made of, the largest first. Those listed and `other_reasons_ns` add up to them.
    pub reasons: Vec<Reason>,
    /// Reasons that are not listed.
    pub other_reasons_ns: i64,
}

vocabulary! {
    /// How a rank's lateness recurs.
    LatePattern {
        /// In most steps.
        Persistent = "persistent",
        /// Every so many steps.
        Periodic = "periodic",
        /// Now and then.
        Sporadic = "sporadic",
        /// Never, or less than the clocks leave open.
        None = "none",
        /// There are too few steps to tell.
        Unknown = "unknown",
    }
}

/// One reason why a rank was late.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// What sort of reason.
    pub kind: ReasonKind,
    /// The operator, kernel, annotation or function; of a wait the group.
    pub name: String,
    /// The place in the program, or the operator that made a call; empty where nothing is known.
    pub place: String,
    /// How much of the lateness it is. Below zero where the late rank was faster than the median one.
    pub ns: i64,
    /// How long the median rank spent on the same in the same stretches.
    pub median_ns: i64,
    /// Of a wait for others, the rank that was waited for.
    pub because_of_rank: Option<u32>,
}

vocabulary! {
    /// Sorts of reasons.
    ReasonKind {
        /// The same kernels took longer.
        LongerKernels = "longer_kernels",
        /// There were more kernels.
        MoreKernels = "more_kernels",
        /// The device had nothing to do while the host did this.
        Host = "host",
        /// Copies and fills.
        Copies = "copies",
        /// Communication of the rank itself, in another group.
        Transfer = "transfer",
        /// Waiting in another group.
        Waiting = "waiting",
        /// The device took long between two pieces of work that were both launched.
        DeviceGap = "device_gap",
        /// Nothing is recorded of it.
        Unrecorded = "unrecorded",
    }
}

/// A rank, a node or a stage of a pipeline that makes others wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlameGroup {
    /// Which of these.
    pub kind: BlameGroupKind,
    /// Its number: the rank, the node as in `clock.offsets` or by order of hosts, the place in the pipeline from 0 on.
    pub number: u32,
    /// Its ranks.
    pub ranks: Vec<u32>,
    /// What tells.
    pub because: BlameGroupReason,
    /// Of `late`, the lateness that its ranks caused, in every collective in which it showed; of `computes_longest`, by how much it
    /// computes longer than the next stage, over all steps.
    pub caused_ns: i64,
    /// How that recurs.
    pub pattern: LatePattern,
    /// Steps from one late one to the next, where it is periodic.
    pub every_steps: Option<u64>,
    /// The same as a sentence.
    pub sentence: String,
}

vocabulary! {
    /// What blame is about.
    BlameGroupKind {
        /// One rank.
        Rank = "rank",
        /// All ranks of a node.
        Node = "node",
        /// All ranks of a stage of a pipeline.
        Stage = "stage",
    }
}

vocabulary! {
    /// What tells that ranks make others wait.
    BlameGroupReason {
        /// They come late to collectives.
        Late = "late",
        /// They compute longer than any other stage.
        ComputesLongest = "computes_longest",
    }
}

/// The longest chain of work that one step had to wait for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// The step; `null` where the trace marks none, and the path is that of the whole recording.
    pub step: Option<i64>,
    /// The rank that ended it last, at whose end the path begins.
    pub rank: u32,
    /// How long the step took: from the start to the end of the window of the rank that ended last. Equal to the sum of `by_class`, of
    /// `by_rank`, and of `by_link` with what is on no link.
    pub length_ns: i64,
    /// Its parts by class, zeros too: `compute`, `communication`, `copy`, `host`, `launch`, `device_gap`, `unknown`, `clock`.
    pub by_class: BTreeMap<String, i64>,
    /// Its parts by the rank that it runs on.
    pub by_rank: BTreeMap<u32, i64>,
    /// Communication on it by link.
    pub by_link: BTreeMap<String, i64>,
    /// How often it goes from one rank to another.
    pub hops: u64,
    /// What it consists of, the longest first.
    pub top: Vec<PathShare>,
    /// Operators that are not on the path, with the least by which one of their kernels could be longer without making the step
    /// longer, the scarcest first.
    pub slack: Vec<Slack>,
}

/// One part of a path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathShare {
    /// The operator, kernel, collective or whatever else it is.
    pub name: String,
    /// The kernel that most of it is, where it has another name; else empty.
    pub kernel: String,
    /// Its class, as in [`CriticalPath::by_class`].
    pub class: String,
    /// The rank it ran on.
    pub rank: u32,
    /// How much of the path it is.
    pub ns: i64,
    /// In how many pieces.
    pub count: u64,
}

/// How much longer an operator's work could take.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slack {
    /// The operator.
    pub name: String,
    /// The rank.
    pub rank: u32,
    /// The least slack of its pieces.
    pub least_ns: i64,
    /// How long they took in all.
    pub ns: i64,
}

/// One thing to do, and what it is worth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The rule that found it.
    pub rule: AdviceRule,
    /// The answer in one sentence.
    pub title: String,
    /// What a step would save, by running the execution graph again without the cause.
    pub worth_ns_per_step: i64,
    /// Least that it would save.
    pub lo_ns: i64,
    /// Most that it would save.
    pub hi_ns: i64,
    /// The ranks it is about; empty where it is about all.
    pub ranks: Vec<u32>,
    /// The operator, kernel, annotation, function or group it is about; empty where it is about none.
    pub name: String,
    /// What it rests on, in figures.
    pub evidence: Vec<String>,
    /// How to check it.
    pub check: String,
    /// What to try.
    pub remedy: String,
}

vocabulary! {
    /// The rules of the advice.
    AdviceRule {
        /// A rank makes the others wait with its own work.
        StragglerRank = "straggler_rank",
        /// All ranks of a node do.
        StragglerNode = "straggler_node",
        /// A stage of a pipeline is heavier than the others.
        HeavyStage = "heavy_stage",
        /// Batches come late.
        DataLoader = "data_loader",
        /// Devices wait for the host's launches.
        HostBound = "host_bound",
        /// So many small kernels that launching them takes longer than running them.
        SmallKernels = "small_kernels",
        /// What is computed again costs more than the memory it saves seems to need.
        Recompute = "recompute",
        /// Gradients are summed up after the work that could hide it.
        ExposedCommunication = "exposed_communication",
        /// A link is slower than others of its sort.
        SlowLink = "slow_link",
        /// Ranks have different amounts of the same work.
        UnevenWork = "uneven_work",
        /// A pipeline waits longer than its schedule has to.
        PipelineBubble = "pipeline_bubble",
        /// Copies between host and device that the host waits for.
        PageableCopies = "pageable_copies",
        /// Calls that wait for the device.
        Synchronization = "synchronization",
        /// Python's garbage collector.
        GarbageCollection = "garbage_collection",
        /// All kernels of one rank are slower by the same factor.
        ThrottledDevice = "throttled_device",
        /// The first steps are slower.
        FirstSteps = "first_steps",
    }
}

/// `what-if`: what a step would take if something were different.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WhatIfDocument {
    /// Version of this layout: 1.
    pub schema: u32,
    /// The input.
    pub title: String,
    /// Steps that the figures are means of; 0 where the trace marks none, and they are of the whole recording.
    pub steps: u64,
    /// What a step took.
    pub base_step_ns: i64,
    /// What it takes when the unchanged graph is run again.
    pub replayed_step_ns: i64,
    /// The error of that: `replayed_step_ns / base_step_ns - 1`.
    pub replay_error: f64,
    /// What it takes with the changes.
    pub changed_step_ns: i64,
    /// `replayed_step_ns - changed_step_ns`.
    pub saved_ns: i64,
    /// The changes, as they were given, in order.
    pub changes: Vec<String>,
    /// Changes by themselves, those that save most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranking: Vec<RankedChange>,
    /// What the reader should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One change by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankedChange {
    /// The change, as `--set` takes it.
    pub change: String,
    /// What a step takes with it.
    pub changed_step_ns: i64,
    /// What that saves.
    pub saved_ns: i64,
}
