//! The whole analysis of a job: every rank by itself, then all of them together.

use rankscope_collectives::{Kind, Matched, RankCollectives};
use rankscope_time::{Instant, Rank};
use rankscope_trace::{SpanId, Trace};
use rustc_hash::FxHashMap;

use crate::arrivals::{Arrival, Map};
use crate::lateness::{Scene, Stages, judge};
use crate::table::table;
use crate::{
    Account, Accounting, Class, Classes, CollectiveRow, CollectiveTable, Copies, Finding, HotName, Side, StepSource,
    StepWindow, Verdict, WindowKind, Windows, Work, exposed, findings, hot, steps,
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
    /// Start and end of the accounted work in each window that its trace was joined from, on the job's clock, in nanoseconds since
    /// the epoch; one for a trace that was not. Where nothing worked in a window its end is its start.
    pub recorded_ns: Vec<(i64, i64)>,
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
    /// What the clocks leave open between two ranks, in nanoseconds; `i64::MAX` where nothing bounds them.
    pub open_ns: i64,
    /// Whether the ranks are those of one job; if not, each is accounted by itself and nothing is said between them.
    pub comparable: bool,
}

/// Everything known about a job.
#[derive(Clone, Debug)]
pub struct Job {
    /// The ranks, as given.
    pub ranks: Vec<RankReport>,
    /// The windows they are accounted over.
    pub windows: Windows,
    /// Their collectives.
    pub collectives: CollectiveTable,
    /// Who is late.
    pub verdict: Verdict,
    /// The other answers.
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
        let recorded_ns = match trace.provenance.windows.as_slice() {
            [] => vec![accounting.window_ns()],
            _ => recorded(trace, map, &work),
        };
        let (step_source, windows) = steps::windows(trace, map, side, &work, &recorded_ns);
        let account = |step: StepWindow| (step, accounting.window(step.start_ns, step.end_ns));
        Self {
            rank,
            side,
            recorded_ns,
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

/// Start and end of `work` in each window that `trace` was joined from.
fn recorded(trace: &Trace, map: &Map, work: &[Work]) -> Vec<(i64, i64)> {
    let mapped = |ns| map.map(Instant::from_nanos_since_epoch(ns)).nanos_since_epoch();
    let extent = |(from, to): (i64, i64)| {
        let inside = || work.iter().filter(move |piece| (from..=to).contains(&piece.start_ns));
        let start = inside().map(|piece| piece.start_ns).min().unwrap_or(from);
        (start, inside().map(|piece| piece.end_ns).max().unwrap_or(start))
    };
    trace.provenance.windows.iter().map(|window| extent((mapped(window.bounds_ns.0), mapped(window.bounds_ns.1)))).collect()
}

/// Puts the ranks together.
pub fn analyze(mut ranks: Vec<RankReport>, maps: &[&Map], input: JobInput<'_>) -> Job {
    let windows = if input.comparable { Windows::of(&ranks) } else { Windows::apart() };
    for rank in &mut ranks {
        rank.accounting = std::mem::take(&mut rank.accounting).over(&windows.list);
    }
    let exposed: Vec<_> = ranks.iter().map(|rank| &rank.exposed).collect();
    let collectives = table(input.collectives, input.matched, maps, &exposed);
    let accounts: Vec<_> = ranks.iter().map(|rank| &rank.accounting).collect();
    let messages: Vec<Vec<i64>> = input.collectives.iter().zip(maps).map(|(rank, map)| messages(rank, map)).collect();
    let side = if ranks.iter().any(|rank| rank.side == Side::Device) { Side::Device } else { Side::Host };
    let verdict = verdict(&accounts, &messages, &collectives, &windows, (input.open_ns, side));
    let findings = findings::findings(&accounts, &collectives);
    Job { ranks, windows, collectives, verdict, findings }
}

/// Who is late, by what lies in the windows; of recordings that have none in common nobody can be.
fn verdict(
    accounts: &[&Accounting],
    messages: &[Vec<i64>],
    table: &CollectiveTable,
    windows: &Windows,
    (open_ns, side): (i64, Side),
) -> Verdict {
    let inside = |arrival: &&Arrival| windows.kind != WindowKind::Apart && windows.hold(arrival.start_ns);
    let arrivals: Vec<&Arrival> = table.arrivals.iter().filter(inside).collect();
    let outside = (table.arrivals.len() - arrivals.len()) as u64;
    let scene = Scene {
        arrivals: &arrivals,
        unmatched: table.lacking.len() as u64 + outside,
        ranks: accounts.len(),
        recorded_ns: windows.length_ns(),
        open_ns,
        side,
    };
    let exposed_ns = |row: &CollectiveRow| row.exposed_ns;
    let stages = Stages {
        accounts,
        messages,
        windows_ns: &windows.list,
        messages_ns: table.rows.iter().filter(|row| row.is_message()).map(exposed_ns).sum(),
        all_ns: table.rows.iter().map(exposed_ns).sum(),
    };
    judge(&scene).with_stages(&stages)
}

/// When `rank` sent or received, on the job's clock, in order.
fn messages(rank: &RankCollectives, map: &Map) -> Vec<i64> {
    let messages = rank.collectives.iter().filter(|one| one.kind.is_point_to_point() || one.kind == Kind::SendRecv);
    messages.map(|one| map.map(Instant::from_nanos_since_epoch(one.start_ns)).nanos_since_epoch()).collect()
}
