//! `compare.json`, schema 1: what changed from one side to another, and how sure that is.
//!
//! A difference is always test minus base, in the unit of its metric: where a metric is a time, a positive one takes longer. Times are
//! in nanoseconds and rates in 1e9 bytes a second; a key that ends in `_ns` holds whole nanoseconds. What does not exist is null.

use serde::{Deserialize, Serialize};

use crate::vocabulary::vocabulary;
use crate::{MetricSeries, Note, PairOfSides, SideBySide, StepStrips};

/// Runs of two or more sides, compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompareDocument {
    /// Version of this layout: 1.
    pub schema: u32,
    /// Version of the program that wrote it.
    pub rankscope_version: String,
    /// The sides in the order they were named; the first is the base.
    pub sides: Vec<ComparedSide>,
    /// What the reader should know first: what the sides differ in that makes them hard to compare, and what was left out.
    pub notes: Vec<Note>,
    /// The first test beside the base.
    #[serde(flatten)]
    pub first: Comparison,
    /// Each further test beside the base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Comparison>,
    /// The sides by the time of their steps, the fastest first, where there are more than two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
    /// The figures of each test beside those of the base, in the order of the tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side_by_side: Vec<SideBySide>,
    /// Values of the time of a step and its classes, and of each rank's step, for plots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<MetricSeries>,
    /// The same steps of all sides in time, where they have any in common with collectives in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strips: Option<StepStrips>,
    /// What the policy of a gate says, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateResult>,
}

/// One side of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedSide {
    /// What it is called.
    pub label: String,
    /// Its runs.
    pub runs: Vec<ComparedRun>,
    /// Ranks of each run, the fewest of any.
    pub ranks: usize,
    /// Steps that are compared, of all runs.
    pub steps: usize,
}

/// One run of a side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// Where it was read from.
    pub path: String,
    /// Its ranks.
    pub ranks: usize,
    /// Steps that all ranks marked.
    pub steps: usize,
    /// How many of the first of them were left out as warm-up.
    pub warm_up: usize,
    /// Whether the last was left out because its window is cut off.
    pub last_is_cut: bool,
}

/// A test beside the base.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The label of the base.
    pub base: String,
    /// The label of the test.
    pub test: String,
    /// What counts as one observation.
    pub unit: Observation,
    /// Every metric, with the evidence for its change.
    pub metrics: Vec<MetricComparison>,
    /// Mean time of a step of the base: of all steps that every rank marked, each as long as on its slowest rank.
    #[serde(default)]
    pub base_step_ns: i64,
    /// The same of the test.
    #[serde(default)]
    pub test_step_ns: i64,
    /// The change of the mean time of a step, which `contributions` add up to.
    pub step_delta_ns: i64,
    /// The rank whose step the contributions are parts of; null where no rank is on both sides.
    #[serde(default)]
    pub paced_by: Option<u32>,
    /// What it is made of, the largest first; where a collective's waiting and moving data change in opposite directions, both rank by
    /// what remains.
    pub contributions: Vec<Contribution>,
    /// The same change by class of time; adds up to it, too.
    #[serde(default)]
    pub classes: Vec<ClassChange>,
    /// The change of each rank that is on both sides, by class.
    #[serde(default)]
    pub ranks: Vec<RankChange>,
    /// What was added, removed or replaced.
    pub structure: StructureChanges,
}

/// One metric of both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricComparison {
    /// Its name; that of one rank ends in `@rank` and its number.
    pub name: String,
    /// What its values are in.
    pub unit: MetricUnit,
    /// Which way is better.
    pub direction: Direction,
    /// How one value of a step comes from several ranks or collectives.
    pub over: Over,
    /// Median of the base.
    pub base: Option<f64>,
    /// Median of the test.
    pub test: Option<f64>,
    /// Estimated difference, test minus base.
    pub shift: Option<f64>,
    /// Lower end of the interval of the difference; null where nothing bounds it.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
    /// The difference as a share of the base: 0.01 is one percent more.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub ratio_lo: Option<f64>,
    /// Upper end.
    pub ratio_hi: Option<f64>,
    /// How likely a difference as large is if nothing changed.
    pub p: Option<f64>,
    /// The same, corrected for the number of metrics it was chosen from.
    pub p_adjusted: Option<f64>,
    /// What the evidence says.
    pub verdict: ChangeVerdict,
    /// The difference that counts as none, as a share of the base.
    pub margin: f64,
    /// Whether a difference is certain, though it is within the margin.
    #[serde(default)]
    pub is_measurable: bool,
    /// Observations of each side: runs or steps.
    pub observations: [usize; 2],
    /// How much of each side would decide, where this does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<MoreEvidence>,
}

/// How much would decide what is not decided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoreEvidence {
    /// Of what: runs, or steps in each run.
    pub unit: Observation,
    /// How many on each side.
    pub count: usize,
}

/// A part of the change of a step's time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Contribution {
    /// What sort of part.
    pub kind: ContributionKind,
    /// What changed: an operator, a collective, a cause of idle time.
    pub name: String,
    /// Test minus base, in each step.
    pub delta_ns: i64,
    /// Lower end of its interval, where several runs tell.
    pub lo_ns: Option<i64>,
    /// Upper end.
    pub hi_ns: Option<i64>,
    /// The rank whose step it is a part of.
    pub rank: Option<u32>,
    /// The class of time that it is a part of; null of what is of no class.
    pub class: Option<String>,
    /// What is known about why: another kernel, more calls, other shapes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The change of one class of time, in each step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassChange {
    /// The class, as in the account of time; or `step_marks` or `other_ranks`, as of contributions.
    pub class: String,
    /// Its time in the base.
    pub base_ns: i64,
    /// Its time in the test.
    pub test_ns: i64,
    /// Test minus base.
    pub delta_ns: i64,
}

/// The change of one rank's step. The four deltas of classes add up to `delta_ns`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankChange {
    /// The rank.
    pub rank: u32,
    /// Mean time of its step in the base.
    pub base_ns: i64,
    /// In the test.
    pub test_ns: i64,
    /// Test minus base.
    pub delta_ns: i64,
    /// Of it computation.
    pub computation_delta_ns: i64,
    /// Communication that no computation hides.
    pub exposed_comm_delta_ns: i64,
    /// Copies that neither hides.
    pub exposed_memcpy_delta_ns: i64,
    /// Idle time.
    pub idle_delta_ns: i64,
    /// Change of its waiting for others in collectives, in each step; a part of it may be hidden.
    pub wait_delta_ns: i64,
}

/// What is on one side only, or differs in more than its time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StructureChanges {
    /// In the test only.
    pub new: Vec<StructureChange>,
    /// In the base only.
    pub gone: Vec<StructureChange>,
    /// In the base, and something else in its place in the test.
    pub swapped: Vec<StructureChange>,
    /// In both, another number of times a step.
    pub count_changed: Vec<StructureChange>,
    /// The same in both, launched in another order.
    #[serde(default)]
    pub reordered: Vec<OrderChange>,
    /// What runs of one side differ in, so that it is not compared.
    #[serde(default)]
    pub varying: Vec<StructureVariation>,
    /// Rows that the lists do not hold, of all six: each has 1,000 at most.
    #[serde(default)]
    pub left_out: usize,
}

/// What one operator, module or step launches in another order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OrderChange {
    /// The operator, or the path of the module; null of what a thread launches in a step and in neither.
    pub parent: Option<String>,
    /// The order in the base, from the last that is the same on.
    pub base: String,
    /// The order in the test.
    pub test: String,
    /// The first that is another one, counted from 1; null where it is beyond those that are known by name.
    pub at: Option<u64>,
    /// How much is launched in all.
    pub length: u64,
    /// How many calls of it there are in the whole trace of the base.
    pub base_count: u64,
    /// The same of the test.
    pub test_count: u64,
    /// Ranks that have it so.
    pub ranks: Vec<u32>,
}

/// Something that the runs of one side do not agree on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StructureVariation {
    /// The side.
    pub side: String,
    /// What it is.
    pub kind: StructureKind,
    /// Its name.
    pub name: String,
    /// What it is a part of.
    pub within: Option<String>,
    /// How many runs have it; the fewest of any rank.
    pub runs: usize,
    /// How often it is in the run that has it least, counted as in changes.
    pub least: u64,
    /// How often in the run that has it most.
    pub most: u64,
    /// Ranks that have it so.
    pub ranks: Vec<u32>,
}

/// One such thing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StructureChange {
    /// What it is.
    pub kind: StructureKind,
    /// Its name.
    pub name: String,
    /// What it is a part of: the operator of a kernel.
    pub within: Option<String>,
    /// The modules that it changed in, where both sides recorded modules: 64 at most. Counts and times are of all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<String>,
    /// What took its place, where something did.
    pub replaced_by: Option<String>,
    /// How often it is in the base: in all, or in each iteration where the sides have other numbers of them.
    pub base_count: u64,
    /// How often it, or what took its place, is in the test.
    pub test_count: u64,
    /// Its time in the base, in each step.
    pub base_ns: i64,
    /// Its time, or that of what took its place, in the test.
    pub test_ns: i64,
    /// Ranks that have it so.
    pub ranks: Vec<u32>,
}

/// Sides by how long their steps take.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// The fastest first.
    pub places: Vec<Place>,
    /// The side that is faster than each other one, if the evidence says so of one.
    pub winner: Option<String>,
    /// Every two sides beside each other.
    #[serde(default)]
    pub pairs: Vec<PairOfSides>,
}

/// One side in a ranking.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The side.
    pub label: String,
    /// Median time of its steps.
    pub step_ns: Option<f64>,
    /// Difference to the fastest side.
    pub shift: Option<f64>,
    /// Lower end of its interval.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
    /// What the evidence says of it beside the fastest.
    pub verdict: ChangeVerdict,
}

/// What a gate says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GateResult {
    /// Whether nothing failed.
    pub passed: bool,
    /// The policy's file.
    #[serde(default)]
    pub policy: String,
    /// How often the gate may fail at most where nothing changed, all its metrics together.
    #[serde(default)]
    pub alpha: f64,
    /// Metrics that were looked at together, of all tests: what patterns match counts one by one.
    #[serde(default)]
    pub family: usize,
    /// What becomes of a metric that the evidence does not decide.
    #[serde(default)]
    pub on_inconclusive: OnInconclusive,
    /// Metrics that failed, each with the reason.
    pub failed: Vec<GateCheck>,
    /// Metrics that the evidence does not decide, where the policy does not fail them.
    pub undecided: Vec<GateCheck>,
    /// Metrics that passed.
    pub held: Vec<GateCheck>,
}

/// One metric of a gate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GateCheck {
    /// The metric.
    pub metric: String,
    /// The test it was checked of.
    pub test: String,
    /// What the evidence says, at the policy's margin.
    pub verdict: ChangeVerdict,
    /// A sentence about it.
    pub reason: String,
    /// The figures, at the policy's margin and direction and corrected for all metrics of the gate; null where a side lacks the metric.
    #[serde(default)]
    pub figures: Option<MetricComparison>,
}

vocabulary! {
    /// What becomes of a metric of a gate that the evidence does not decide.
    OnInconclusive {
        /// It fails the gate.
        Fail = "fail",
        /// It is reported, and the gate passes.
        Warn = "warn",
        /// It passes.
        Pass = "pass",
    }
}

vocabulary! {
    /// What counts as one observation of a comparison.
    Observation {
        /// A run: several runs of each side are compared by their medians.
        Run = "run",
        /// A step: too few runs tell how much runs differ, so steps of one run a side are compared.
        Step = "step",
    }
}

vocabulary! {
    /// What the values of a metric are in.
    MetricUnit {
        /// Nanoseconds.
        Nanoseconds = "ns",
        /// 1e9 bytes a second.
        GigabytesPerSecond = "GB/s",
    }
}

vocabulary! {
    /// Which way of a metric is better.
    Direction {
        /// Less is better.
        LowerIsBetter = "lower",
        /// More is better.
        HigherIsBetter = "higher",
        /// Neither: less work may be better, or only more waiting.
        Neutral = "neutral",
    }
}

vocabulary! {
    /// How one value of a step comes from several.
    Over {
        /// The largest of all ranks.
        MaxOfRanks = "max_of_ranks",
        /// The median of all ranks.
        MedianOfRanks = "median_of_ranks",
        /// One rank's own.
        OneRank = "one_rank",
        /// The median of all collectives of a kind in the step.
        MedianOfCollectives = "median_of_collectives",
    }
}

vocabulary! {
    /// What the evidence says of a metric.
    ChangeVerdict {
        /// Better, by more than the margin.
        Improved = "improved",
        /// Worse, by more than the margin.
        Regressed = "regressed",
        /// Another value, by more than the margin, of a metric that has no better and worse.
        Changed = "changed",
        /// The same within the margin.
        Equivalent = "equivalent",
        /// Not decided.
        Inconclusive = "inconclusive",
        /// The two runs differ. Whether other runs of the same sides would, nothing tells.
        Differs = "differs",
        /// The two runs do not differ visibly.
        NoDifferenceSeen = "no_difference_seen",
        /// Too few steps to say anything.
        NoEvidence = "no_evidence",
    }
}

vocabulary! {
    /// What sort of part of a step's time a contribution is.
    ContributionKind {
        /// Device work of an operator, by name and shapes where those are recorded.
        Operator = "operator",
        /// Device work that no operator is known of, by kernel.
        Kernel = "kernel",
        /// Waiting in a collective for the last rank.
        CollectiveWait = "collective_wait",
        /// Moving data in a collective.
        CollectiveTransfer = "collective_transfer",
        /// Copies and fills.
        Copy = "copy",
        /// Device work that ran beside other work: more of it makes a step shorter than its parts.
        Overlap = "overlap",
        /// Idle time, by cause.
        Idle = "idle",
        /// Time before, between and after the marked steps, which the parts hold and steps do not.
        OutsideSteps = "outside_steps",
        /// The slowest rank of a step is not always the one whose parts these are.
        OtherRanks = "other_ranks",
        /// Marks of steps that one side lacks.
        StepMarks = "step_marks",
    }
}

vocabulary! {
    /// What sort of thing changed in structure.
    StructureKind {
        /// An operator.
        Operator = "operator",
        /// Arguments that an operator is called with.
        Arguments = "arguments",
        /// Strides of arguments with these shapes.
        Strides = "strides",
        /// Values of arguments that are no tensors, beside such with these shapes.
        Values = "values",
        /// A kernel.
        Kernel = "kernel",
        /// A collective, by kind, type, size and process group.
        Collective = "collective",
        /// A module of the model.
        Module = "module",
        /// Marks of steps.
        StepMarks = "step_marks",
    }
}
