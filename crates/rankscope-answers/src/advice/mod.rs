//! Advice: what to do first, each item from one rule, with its worth.
//!
//! A rule finds a cause in the graph and says which change would take it away; running the graph again with that change says what it
//! is worth. So a large share of the time is no advice by itself: what hides behind something else is worth nothing. Advice is
//! ordered by worth, what is wrong with some ranks first, and whatever is worth less than [`WORTH_MIN`] of a step is none. A rule that
//! needs what the graph does not hold stays silent.

mod device;
mod host;
mod ledger;
mod names;
mod network;
mod path;
mod ranks;
mod steps;
mod sums;
mod suspects;
mod worth;

use std::sync::OnceLock;

use rankscope_execution::replay::Replay;
use rankscope_execution::{JobExecution, Path};

use crate::blame::{Blamed, Suspect};
use crate::budgets::Budget;
use crate::leaving::LastOut;
use crate::links::SlowLink;
use ledger::Ledger;
use path::PathTime;
use sums::Sums;

pub use ranks::{HOST, UNRECORDED};
pub use worth::Worth;

/// The least share of a step that anything must be worth.
pub const WORTH_MIN: f64 = 0.02;

/// The least share of a step that something wrong with some ranks must be worth to stand before everything else.
const DEFECT_MIN: f64 = 0.05;

/// A job of more pieces is run again under one change at a time: memory counts there, and this many are 32 MB.
const AT_ONCE_PIECES: usize = 4 << 20;

/// Advice at most.
const ADVICE_MAX: usize = 20;

/// A sort of collective, as advice sees it.
#[derive(Clone, Debug)]
pub struct Sort<'a> {
    /// The process group, as changes name it.
    pub group: String,
    /// What the group is for, as changes name it, where that is known.
    pub dimension: Option<String>,
    /// Whether what it exchanges goes over the link between two nodes.
    pub over_link: bool,
    /// The operation, as changes name it.
    pub kind: String,
    /// Whether it is a message between two ranks.
    pub is_message: bool,
    /// Indices of its ranks.
    pub ranks: &'a [usize],
    /// What it costs.
    pub budget: Budget,
}

/// A slow link between two nodes.
#[derive(Clone, Debug)]
pub struct Link {
    /// What was found.
    pub slow: SlowLink,
    /// What it makes long, in words.
    pub exchange: String,
    /// Indices of the ranks that use it.
    pub ranks: Vec<usize>,
}

/// A rank that leaves the collectives of a sort last.
#[derive(Clone, Debug)]
pub struct LateOut {
    /// What was found.
    pub found: LastOut,
    /// The process group, as changes name it.
    pub group: String,
    /// The operation, as changes name it.
    pub kind: String,
}

/// What advice is found in. Lists by rank are in the order of the graph.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The graph.
    pub job: &'a JobExecution<'a>,
    /// The graph, ready to be run again.
    pub replay: &'a Replay<'a>,
    /// The critical path of each step.
    pub paths: &'a [Path],
    /// Who made others wait.
    pub blamed: &'a Blamed,
    /// Those who stand out.
    pub suspects: &'a [Suspect],
    /// What collectives cost.
    pub sorts: &'a [Sort<'a>],
    /// Links that are slower than others.
    pub slow_links: &'a [Link],
    /// The rank that leaves collectives last, where most is lost by that.
    pub late_out: Option<&'a LateOut>,
    /// When the first step of each rank begins, on its own clock.
    pub begins_ns: &'a [Option<i64>],
    /// Ranks of each stage of the pipeline, by index, first stage first; none where there is no pipeline.
    pub stages: &'a [Vec<usize>],
}

/// The rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "docs/explanation/causes.md and the document's vocabulary say what each finds")]
pub enum Rule {
    StragglerRank,
    StragglerNode,
    HeavyStage,
    DataLoader,
    HostBound,
    SmallKernels,
    Recompute,
    ExposedCommunication,
    SlowLink,
    UnevenWork,
    PipelineBubble,
    PageableCopies,
    Synchronization,
    GarbageCollection,
    ThrottledDevice,
    FirstSteps,
}

impl Rule {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::StragglerRank => "straggler_rank",
            Self::StragglerNode => "straggler_node",
            Self::HeavyStage => "heavy_stage",
            Self::DataLoader => "data_loader",
            Self::HostBound => "host_bound",
            Self::SmallKernels => "small_kernels",
            Self::Recompute => "recompute",
            Self::ExposedCommunication => "exposed_communication",
            Self::SlowLink => "slow_link",
            Self::UnevenWork => "uneven_work",
            Self::PipelineBubble => "pipeline_bubble",
            Self::PageableCopies => "pageable_copies",
            Self::Synchronization => "synchronization",
            Self::GarbageCollection => "garbage_collection",
            Self::ThrottledDevice => "throttled_device",
            Self::FirstSteps => "first_steps",
        }
    }
}

/// Whom advice is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whom {
    /// All ranks.
    #[default]
    All,
    /// The ranks that are listed.
    Ranks,
    /// All ranks of this node.
    Node(u32),
    /// All ranks of this stage of the pipeline.
    Stage(u32),
    /// The ranks that use the link between these two nodes.
    Link(u32, u32),
    /// The rank that is listed, which what is sent to it reaches late.
    Receiver,
}

/// What a piece of advice rests on. Figures that a rule does not use are 0. Times are nanoseconds a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// What those it is about spend.
    pub own_ns: i64,
    /// What the median of the others spends on the same.
    pub others_ns: i64,
    /// Their ratio, where that is what matters.
    pub ratio: f64,
    /// How often, a step.
    pub count: f64,
    /// In what share of all cases.
    pub share: f64,
    /// Steps from one time to the next, where it recurs so.
    pub every: Option<usize>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The rule that found it.
    pub rule: Rule,
    /// What it is worth.
    pub worth: Worth,
    /// Whom it is about.
    pub whom: Whom,
    /// Indices of those ranks, ascending; none where it is all.
    pub ranks: Vec<usize>,
    /// The operator, kernel, annotation, function or group it is about; empty where it is about none.
    pub name: String,
    /// Where that is in the program; empty where nothing is known.
    pub place: String,
    /// What it rests on.
    pub figures: Figures,
}

/// All advice on a job: what is wrong with some ranks and matters first, then what is worth most.
pub fn advise(input: &Input<'_>) -> Vec<Advice> {
    let scene = Scene::of(input);
    let mut all = ranks::advice(&scene);
    let of_host = || host::advice(&scene, &all);
    let of_others = || {
        let mut found = device::advice(&scene);
        found.extend(network::advice(&scene));
        found.extend(steps::advice(&scene));
        found
    };
    // Each runs the job again by itself, with a number for each piece.
    let pieces: usize = input.job.ranks.iter().map(|rank| rank.len()).sum();
    let (of_host, others) = if pieces <= AT_ONCE_PIECES { rayon::join(of_host, of_others) } else { (of_host(), of_others()) };
    all.extend(of_host.into_iter().chain(others));
    // What late ranks cost in some steps saves nothing in the others, and the mean of those is open; that they stand out is known. So is
    // what goes by a name that comes again.
    let has_name = |one: &Advice| matches!(one.rule, Rule::DataLoader | Rule::GarbageCollection) && one.worth.steps > 1;
    all.retain(|one| scene.is_worth_it(&one.worth) && (one.worth.lo_ns > 0 || one.whom != Whom::All || has_name(one)));
    // What is wrong with some ranks and matters stands before what all of them do by design, whose worth is often out of reach.
    let is_wrong = |one: &Advice| one.whom != Whom::All && one.worth.ns as f64 >= DEFECT_MIN * scene.step_ns as f64;
    let order = |one: &Advice| (!is_wrong(one), std::cmp::Reverse(one.worth.ns), one.rule);
    all.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| (&a.ranks, &a.name).cmp(&(&b.ranks, &b.name))));
    all.truncate(ADVICE_MAX);
    all
}

/// What all rules look at.
struct Scene<'a> {
    input: &'a Input<'a>,
    ledger: Ledger,
    /// Of the ledger; only who tries many ranks asks for them.
    sums: OnceLock<Sums>,
    path: PathTime,
    /// What a step takes.
    step_ns: i64,
    /// How many there are; the whole recording is one where none is marked.
    steps: usize,
}

impl<'a> Scene<'a> {
    fn of(input: &'a Input<'a>) -> Self {
        Self {
            ledger: Ledger::of(input.job),
            sums: OnceLock::new(),
            path: PathTime::of(input.job, input.paths),
            step_ns: input.replay.observed_step_ns().max(1),
            steps: (input.replay.steps() as usize).max(1),
            input,
        }
    }

    /// What ranks spend by name.
    fn sums(&self) -> &Sums {
        self.sums.get_or_init(|| Sums::of(&self.ledger))
    }

    /// Whether steps are marked.
    fn has_steps(&self) -> bool {
        self.input.replay.steps() > 0
    }

    /// Whether a step would save enough for it to be advice.
    fn is_worth_it(&self, worth: &Worth) -> bool {
        worth.ns > (self.step_ns as f64 * WORTH_MIN) as i64
    }

    /// A sum over the recording as what it is a step.
    fn per_step(&self, ns: i64) -> i64 {
        ns / self.steps as i64
    }
}
