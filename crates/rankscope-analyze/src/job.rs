//! All ranks together: the windows they are accounted over, their collectives, who is late, and the other answers.

use rankscope_collectives::{Kind, Matched, RankCollectives};

use crate::arrivals::{Arrival, Map};
use crate::lateness::{Scene, Stages, judge};
use crate::table::table;
use crate::{
    Accounting, CollectiveRow, CollectiveTable, ExposedTimes, Finding, PlacedRank, RankReport, Verdict, WindowKind, Windows,
    findings,
};

/// The ranks of a job, their clocks, and what the clocks leave open. Lists are by rank, in one order.
#[derive(Clone, Copy, Debug)]
pub struct JobInput<'a> {
    /// Each rank by itself.
    pub reports: &'a [&'a RankReport],
    /// From each rank's clock to the job's.
    pub maps: &'a [&'a Map],
    /// Their collectives.
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
    pub ranks: Vec<PlacedRank>,
    /// The windows they are accounted over.
    pub windows: Windows,
    /// Their collectives.
    pub collectives: CollectiveTable,
    /// Who is late.
    pub verdict: Verdict,
    /// The other answers.
    pub findings: Vec<Finding>,
}

/// Puts the ranks together.
pub fn analyze(input: JobInput<'_>) -> Job {
    let JobInput { reports, maps, .. } = input;
    let placed = || reports.iter().zip(maps);
    let mut ranks: Vec<PlacedRank> = placed().map(|(report, map)| PlacedRank::of(report, map)).collect();
    let windows = if input.comparable { Windows::of(&ranks) } else { Windows::apart() };
    ranks.iter_mut().zip(placed()).for_each(|(rank, (report, map))| rank.account(report, map, &windows));
    let exposed: Vec<&ExposedTimes> = reports.iter().map(|report| &report.exposed_ns).collect();
    let collectives = table(input.collectives, input.matched, maps, &exposed);
    let verdict = verdict(&input, &ranks, &collectives, &windows);
    let findings = findings::findings(&ranks, &collectives);
    Job { ranks, windows, collectives, verdict, findings }
}

/// Who is late, by what lies in the windows; of recordings that have none in common nobody can be.
fn verdict(input: &JobInput<'_>, ranks: &[PlacedRank], table: &CollectiveTable, windows: &Windows) -> Verdict {
    let cover = windows.cover();
    let inside = |arrival: &&Arrival| windows.kind != WindowKind::Apart && cover.holds(arrival.start_ns);
    let arrivals: Vec<&Arrival> = table.arrivals.iter().filter(inside).collect();
    let outside = (table.arrivals.len() - arrivals.len()) as u64;
    let scene = Scene {
        arrivals: &arrivals,
        unmatched: table.lacking.len() as u64 + outside,
        ranks: ranks.len(),
        recorded_ns: windows.length_ns(),
        open_ns: input.open_ns,
        side: input.reports.iter().map(|report| report.side).min().unwrap_or_default(),
    };
    let exposed_ns = |row: &CollectiveRow| row.exposed_ns;
    let accounts: Vec<&Accounting> = input.reports.iter().map(|report| &report.accounting).collect();
    let messages: Vec<Vec<i64>> = input.collectives.iter().map(messages).collect();
    let own_windows: Vec<&[(i64, i64)]> = ranks.iter().map(|rank| rank.own_windows_ns.as_slice()).collect();
    let stages = Stages {
        accounts: &accounts,
        messages: &messages,
        windows_ns: &own_windows,
        recorded_ns: windows.length_ns(),
        messages_ns: table.rows.iter().filter(|row| row.is_message()).map(exposed_ns).sum(),
        all_ns: table.rows.iter().map(exposed_ns).sum(),
    };
    judge(&scene).with_stages(&stages)
}

/// When `rank` sent or received, on its own clock, in order.
fn messages(rank: &RankCollectives) -> Vec<i64> {
    let all = if rank.collectives.may_have(Kind::is_message) { 0..rank.collectives.len() } else { 0..0 };
    let messages = all.filter(|at| rank.collectives.operation(*at).kind.is_message());
    messages.map(|at| rank.collectives.start_ns(at)).collect()
}
