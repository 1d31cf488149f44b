//! The whole analysis of a job: every rank by itself, then all of them together.

use rankscope_collectives::{Matched, RankCollectives};
use rankscope_time::Rank;
use rankscope_trace::{SpanId, Trace};
use rustc_hash::FxHashMap;

use crate::arrivals::Map;
use crate::table::table;
use crate::{
    Account, Accounting, Class, Classes, CollectiveTable, Copies, Finding, HotName, Side, StepSource, StepWindow, Work,
    exposed, findings, hot, steps,
};

/// One rank's trace and its clock.
#[derive(Clone, Copy, Debug)]
pub struct RankInput<'a> {
    /// The rank.
    pub rank: Rank,
    /// Its trace.
    pub trace: &'a Trace,
    /// From its clock to the job's.
    pub map: &'a Map,
}

/// Everything known about one rank by itself.
#[derive(Clone, Debug)]
pub struct RankReport {
    /// The rank.
    pub rank: Rank,
    /// Where its accounted work ran.
    pub side: Side,
    /// Its sets of time.
    pub accounting: Accounting,
    /// Its copies.
    pub copies: Copies,
    /// What told its steps.
    pub step_source: StepSource,
    /// Its steps, and where their time went.
    pub steps: Vec<(StepWindow, Account)>,
    /// What ran longest.
    pub hottest: Vec<HotName>,
    /// Exposed time of each communicating span.
    pub exposed: FxHashMap<SpanId, i64>,
}

/// The collectives of the job and what the clocks leave open.
#[derive(Clone, Copy, Debug)]
pub struct JobInput<'a> {
    /// Collectives by rank, in the order of the ranks.
    pub collectives: &'a [RankCollectives],
    /// Which of them belong together.
    pub matched: &'a Matched,
    /// Width of what the clocks leave open between two ranks.
    pub uncertainty_ns: i64,
}

/// Everything known about a job.
#[derive(Clone, Debug)]
pub struct Job {
    /// The ranks, as given.
    pub ranks: Vec<RankReport>,
    /// Their collectives.
    pub collectives: CollectiveTable,
    /// The answers.
    pub findings: Vec<Finding>,
}

/// Names listed for each rank.
const HOT_NAMES: usize = 20;

impl RankReport {
    /// Analyses one rank by itself.
    pub fn of(input: RankInput<'_>, classes: &Classes) -> Self {
        let RankInput { rank, trace, map } = input;
        let (side, work) = classes.work(trace, map);
        let accounting = Accounting::of(&work);
        let (step_source, windows) = steps::windows(trace, map, side, &work);
        let account = |step: StepWindow| (step, accounting.window(step.start_ns, step.end_ns));
        Self {
            rank,
            side,
            copies: Copies::of(&memory(&work), |piece| trace.bytes.get(piece.span)),
            step_source,
            steps: windows.into_iter().map(account).collect(),
            hottest: hot::hottest(trace, &work, HOT_NAMES),
            exposed: exposed::shares(&work, accounting.exposed_comm()),
            accounting,
        }
    }
}

fn memory(work: &[Work]) -> Vec<Work> {
    work.iter().filter(|piece| matches!(piece.class, Class::Memcpy(_) | Class::Memset)).copied().collect()
}

/// Puts the ranks together.
pub fn analyze(ranks: Vec<RankReport>, maps: &[&Map], input: JobInput<'_>) -> Job {
    let exposed: Vec<_> = ranks.iter().map(|rank| &rank.exposed).collect();
    let collectives = table(input.collectives, input.matched, maps, &exposed);
    let accounts: Vec<_> = ranks.iter().map(|rank| &rank.accounting).collect();
    let findings = findings::findings(&accounts, &collectives, input.uncertainty_ns);
    Job { ranks, collectives, findings }
}
