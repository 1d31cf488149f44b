//! `report.json`, schema 1. Every time is integer nanoseconds; every rate is decimal (GB/s is 1e9 bytes a second).
//!
//! Keys are only ever added within a schema number; docs/reference/formats/report-json.md says what each one means.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::vocabulary::{
    AccountingSide, Classes, ClockMethod, CollectiveKind, Format, KernelClass, ProblemKind, RankSource, StepSource, WaitsFor,
};
use crate::{AcrossRanks, GpuClock};
use crate::{Advice, Blame, BlameGroup, Budget, Caution, CautionKind, CollectiveTables, CriticalPath, Tables, Verdict};

/// One run, as reported.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Document {
    /// Version of this layout: 1.
    pub schema: u32,
    /// Version of the program that wrote it.
    pub rankscope_version: String,
    /// What was reported on, for headings: the input path.
    pub title: String,
    /// Ranks in the job, where any file says so.
    pub world_size: Option<u32>,
    /// Ranks of the job no file was given for.
    pub missing_ranks: Vec<u32>,
    /// Whether any rank shows device work. If not, all times are the host's.
    pub device_activity: bool,
    /// How events were classed.
    pub classes: Classes,
    /// What the reader should know, most important first.
    pub notes: Vec<Note>,
    /// The limits of what can be said, each with the ranks it is about; `notes` has their texts, too.
    #[serde(default)]
    pub cautions: Vec<Caution>,
    /// Who is late, or why that cannot be said.
    #[serde(default)]
    pub verdict: Verdict,
    /// The profiling windows that all ranks recorded and that are reported on, in order.
    #[serde(default)]
    pub windows: Vec<Window>,
    /// Every rank, ascending.
    pub ranks: Vec<Rank>,
    /// What ran longest on all ranks together, by name, where there are too many ranks to list it for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<Kernel>,
    /// The tables of all ranks side by side, where tables were asked for of two ranks or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across_ranks: Option<AcrossRanks>,
    /// Collectives across ranks.
    pub collectives: Collectives,
    /// Tables of them, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collective_tables: Option<CollectiveTables>,
    /// What is known about the ranks' clocks.
    pub clock: Clock,
    /// What waiting and transfers cost, by group and sort of collective; most exposed first.
    #[serde(default)]
    pub budgets: Vec<Budget>,
    /// Who made the others wait, and why; most caused first.
    #[serde(default)]
    pub blame: Vec<Blame>,
    /// Ranks, nodes and stages of a pipeline that stand out in that; most caused first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blame_groups: Vec<BlameGroup>,
    /// The critical path of each step.
    #[serde(default)]
    pub critical_path: Vec<CriticalPath>,
    /// What to do first.
    #[serde(default)]
    pub advice: Vec<Advice>,
    /// Why some of these answers cannot be given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<String>,
}

impl Document {
    /// Whether this is about a training job. If not, shares of computation and late ranks answer nobody's question, and views show
    /// the notes alone.
    pub fn is_training(&self) -> bool {
        self.cautions.iter().all(|caution| caution.kind != CautionKind::NotTraining)
    }
}

/// A stretch of time that the ranks' profilers recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// First start of accounted work on any rank, on the job's clock.
    pub start_ns: i64,
    /// Last end.
    pub end_ns: i64,
    /// First step that any rank marks in it; `null` where a file marks none.
    pub first_step: Option<i64>,
    /// Last step.
    pub last_step: Option<i64>,
}

/// A sentence for the reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// How much it matters.
    pub level: NoteLevel,
    /// The sentence.
    pub text: String,
}

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteLevel {
    /// An answer: where the time goes, who is late, what is exposed.
    Finding,
    /// Something was wrong with the input.
    Problem,
    /// A limit of what can be said. A level that this version does not know counts as this one.
    #[serde(other)]
    Caution,
}

/// One rank.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Rank {
    /// Global rank.
    pub rank: u32,
    /// What told us.
    pub rank_source: RankSource,
    /// Ranks in the job, as this file says.
    pub world_size: Option<u32>,
    /// The file.
    pub file: String,
    /// Its format.
    pub format: Format,
    /// Host it was recorded on.
    pub host: Option<String>,
    /// Names of the devices that did work, or of those the header lists.
    pub device: Option<String>,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Events kept.
    pub events: u64,
    /// What was wrong in the file.
    pub problems: Vec<Problem>,
    /// Whose time it is.
    pub accounting: AccountingSide,
    /// First start and last end that `time_ns` covers, on the job's clock, in nanoseconds since the Unix epoch where the file's are.
    pub window_ns: [i64; 2],
    /// Where the time of the whole trace went.
    pub time_ns: Time,
    /// Copies by direction.
    pub copies: Copies,
    /// What told us the steps.
    pub step_source: StepSource,
    /// The same for every step, in order.
    pub steps: Vec<Step>,
    /// What ran longest, by name; empty in a job of more than 256 ranks, where [`Document::kernels`] has it for all.
    pub kernels: Vec<Kernel>,
    /// Operators, kernels and idle time, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<Tables>,
}

/// Damage of one kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// First occurrence, as byte offset in the decompressed file.
    pub offset: u64,
    /// What it was.
    pub kind: ProblemKind,
    /// How often.
    pub count: u64,
    /// About the first occurrence; may be empty.
    pub detail: String,
}

/// Time by class. `computation + exposed_comm + exposed_memcpy + idle = total`, to the nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Time {
    /// Union of compute.
    pub computation: i64,
    /// Communication that no compute hides.
    pub exposed_comm: i64,
    /// Copies and fills that neither compute nor communication hides.
    pub exposed_memcpy: i64,
    /// Union of everything.
    pub busy: i64,
    /// `total - busy`.
    pub idle: i64,
    /// First start to last end, or the window of the step.
    pub total: i64,
    /// Union of communication.
    pub total_comm: i64,
    /// Union of copies and fills.
    pub total_memcpy: i64,
}

/// Copies and fills, each as its own union.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copies {
    /// Host to device.
    pub host_to_device: CopyTime,
    /// Device to host.
    pub device_to_host: CopyTime,
    /// Within one device.
    pub device_to_device: CopyTime,
    /// Between devices.
    pub peer_to_peer: CopyTime,
    /// A direction the file does not tell.
    pub other: CopyTime,
    /// Fills.
    pub memset: CopyTime,
}

/// Time and bytes of one sort of copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyTime {
    /// How many.
    pub count: u64,
    /// Their union, in nanoseconds.
    pub total_ns: i64,
    /// Bytes moved, as far as the file says.
    pub bytes: u64,
}

/// One step of one rank.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Step {
    /// Its number.
    pub step: i64,
    /// Its window on the job's clock.
    pub window_ns: [i64; 2],
    /// Where its time went.
    pub time_ns: Time,
}

/// All executions of one name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Kernel {
    /// Name of the kernel, copy or operator.
    pub name: String,
    /// What it does.
    pub class: KernelClass,
    /// How often it ran.
    pub count: u64,
    /// Sum of its durations.
    pub total_ns: i64,
}

impl Kernel {
    /// As many as are listed of a rank, or of all ranks together: those that took longest.
    pub const LISTED_MAX: usize = 20;
}

/// Collectives, matched across ranks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Collectives {
    /// Collectives found on every rank of their group that has a file.
    pub matched: u64,
    /// Collectives that at least one such rank lacks, or that have no counterpart at all.
    pub unmatched: u64,
    /// By name, type, size and process group.
    pub groups: Vec<CollectiveGroup>,
    /// How often each rank was the last to arrive at a matched collective.
    pub last_arrivals: BTreeMap<u32, u64>,
    /// Arrival and waiting, rank by rank.
    pub ranks: Vec<RankArrivals>,
    /// The unmatched ones, never guessed. At most a thousand with 640,000 ranks in all; `unmatched` is the full count.
    pub unmatched_list: Vec<UnmatchedCollective>,
    /// The matched ones in order of time. As many as have 640,000 members listed in all, where each counts as 16 at least.
    pub instances: Vec<CollectiveInstance>,
}

/// Matched collectives of one name, type, size and group. Means are over the matched ones, and absent where there is none.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CollectiveGroup {
    /// Name as recorded.
    pub name: String,
    /// The operation.
    pub kind: CollectiveKind,
    /// Element type as recorded.
    pub dtype: String,
    /// Elements each rank put in.
    pub in_elements: Option<u64>,
    /// Bytes the bandwidth counts.
    pub bytes: Option<u64>,
    /// Ranks of the process group.
    pub ranks: u32,
    /// The process group.
    pub process_group: String,
    /// Collectives, matched or not.
    pub count: u64,
    /// Collectives matched.
    pub matched: u64,
    /// Shortest stay of any rank in the collective: what was left once everybody had come.
    pub transfer_ns_mean: Option<f64>,
    /// Wait for the last arrival, averaged over ranks.
    pub wait_ns_mean: Option<f64>,
    /// Whom a rank waits for in it: where that is `some`, the wait is what ranks can have waited at most.
    #[serde(default)]
    pub waits_for: WaitsFor,
    /// Last arrival minus first.
    pub start_skew_ns_mean: Option<f64>,
    /// Last end minus first, the largest.
    pub end_skew_ns_max: Option<i64>,
    /// Bytes over transfer time.
    pub algbw_gbps_mean: Option<f64>,
    /// The same, times the traffic the operation causes per rank.
    pub busbw_gbps_mean: Option<f64>,
    /// Stay of a rank, averaged over ranks and collectives, matched or not.
    pub stay_ns_mean: f64,
    /// Time of these collectives that no compute hid, summed over ranks.
    pub exposed_ns: i64,
}

/// One rank's part in the matched collectives.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RankArrivals {
    /// The rank.
    pub rank: u32,
    /// Collectives found in its file, by name.
    pub counts: BTreeMap<String, u64>,
    /// Matched collectives it took part in.
    pub matched: u64,
    /// Times it came last.
    pub last: u64,
    /// Times it came first.
    pub first: u64,
    /// Time in which it waited for others; what overlaps counts once.
    pub wait_ns: i64,
    /// Time in which others waited for it alone: where it came last, from the one before it. What overlaps counts once.
    pub delay_ns: i64,
}

/// A collective that lacks a counterpart.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct UnmatchedCollective {
    /// Name as recorded.
    pub name: String,
    /// The process group.
    pub process_group: String,
    /// Ranks that have it.
    pub present: Vec<u32>,
    /// Ranks of the group with a file that lack it.
    pub absent: Vec<u32>,
    /// Start on the lowest rank that has it, on the job's clock.
    pub start_ns: i64,
}

/// A collective found on all of its ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectiveInstance {
    /// Index into `groups`.
    pub group: usize,
    /// First arrival on the job's clock.
    pub start_ns: i64,
    /// How many ranks took part, where not all of them are listed: of more than 64, the first 8 and the last 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<u64>,
    /// Ranks in order of arrival.
    pub arrival_order: Vec<u32>,
    /// Wait of each, in that order.
    pub wait_ns: Vec<i64>,
    /// Shortest stay of any rank.
    pub transfer_ns: i64,
    /// Last end minus first.
    pub end_skew_ns: i64,
}

/// The ranks' clocks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Clock {
    /// How they are known, by and large.
    pub method: ClockMethod,
    /// Whether anything was corrected.
    pub corrected: bool,
    /// What was applied to each rank.
    pub offsets: Vec<ClockOffset>,
    /// For pairs of ranks, the interval that causality leaves for the offset between their clocks as recorded.
    pub pairs: Vec<ClockPair>,
    /// The clocks of ranks' GPUs against the ranks' own, where times of the GPUs' work were told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuClock>,
}

/// One rank's correction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClockOffset {
    /// The rank.
    pub rank: u32,
    /// The node it ran on, where known.
    #[serde(default)]
    pub node: Option<u32>,
    /// How its clock is known, as in [`Clock::method`].
    #[serde(default)]
    pub method: ClockMethod,
    /// Subtracted from its first stamp.
    pub offset_ns: i64,
    /// What the offset grows by, in parts per billion of the time since then.
    #[serde(default)]
    pub drift_ppb: i64,
    /// Least that the offset can be; none if nothing bounds it.
    pub lo_ns: Option<i64>,
    /// Greatest.
    pub hi_ns: Option<i64>,
}

/// The clocks of two ranks, from causality alone: no rank leaves a collective before every rank has entered it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClockPair {
    /// One rank.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Least offset of `b` relative to `a`.
    pub lo_ns: i64,
    /// Greatest.
    pub hi_ns: i64,
    /// Whether equal clocks are possible.
    pub zero_inside: bool,
}
