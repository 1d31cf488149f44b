//! What the script of a report's page is given: of the document what it draws, long lists packed, and what is computed for it here.
//!
//! The page has nothing that it does not draw, and says of each list how much of it there is; `report.json` has all. Times on the job's clock
//! are after `origin_ns`, so that they are exact in a browser, too.

mod collectives;
mod paths;
mod ranks;

use rankscope_document::{
    Advice, Blame, BlameGroup, Budget, Clock, ClockMethod, ClockOffset, ClockPair, Document, GpuClock, GpuClockCount,
    GpuNotPlacedCount, GpuTimesCount, Kernel, Reason, Verdict,
};
use serde::Serialize;

use self::collectives::ShownCollectives;
use self::paths::Paths;
use self::ranks::Ranks;
use super::alike::{RanksAlike, ranks_alike};
use super::budget::{Cuts, keep};
use super::mean_step::{MeanStep, mean_step};
use super::packed::{Names, Rows};
use super::step_map::{StepMap, step_map};
use super::tables::PageTable;

/// Everything in the order in which the page shows it.
#[derive(Debug, Serialize)]
pub(super) struct Shown<'a> {
    world_size: Option<u32>,
    missing_ranks: &'a [u32],
    device_activity: bool,
    /// What all times on the job's clock are after: the first begin of a step or a collective.
    origin_ns: i64,
    advice: &'a [Advice],
    verdict: &'a Verdict,
    unanswered: &'a [String],
    mean_step: Option<MeanStep>,
    step_map: Option<StepMap>,
    ranks: Ranks<'a>,
    alike: RanksAlike,
    blame: Rows<ShownBlame<'a>>,
    blame_groups: Vec<&'a str>,
    budgets: Rows<&'a Budget>,
    critical_path: Paths,
    collectives: ShownCollectives<'a>,
    kernels: Rows<&'a Kernel>,
    page_tables: Vec<PageTable>,
    clock: ShownClock<'a>,
    /// Names that lists have by their place.
    names: Vec<&'a str>,
}

/// How one rank made others wait, with as many reasons as are shown.
#[derive(Debug, Serialize)]
struct ShownBlame<'a> {
    rank: u32,
    lateness_ns: i64,
    caused_ns: i64,
    inherited_ns: i64,
    uncertain_ns: i64,
    last: u64,
    of: u64,
    pattern: &'a str,
    every_steps: Option<u64>,
    reasons: &'a [Reason],
    reason_count: usize,
}

#[derive(Debug, Serialize)]
struct ShownClock<'a> {
    method: &'a ClockMethod,
    offsets: Rows<ShownOffset>,
    pairs: Rows<&'a ClockPair>,
    gpus: Rows<ShownGpuClock<'a>>,
}

/// The clock of a rank's GPU.
#[derive(Debug, Serialize)]
struct ShownGpuClock<'a> {
    rank: u32,
    operations: u64,
    windows: u64,
    unproven: u64,
    offset_ns: Option<i64>,
    drift_ppb: Option<i64>,
    lo_ns: Option<i64>,
    hi_ns: Option<i64>,
    proven: bool,
    lineless: &'a [GpuClockCount],
    unusable: &'a [GpuTimesCount],
    placed: Option<u64>,
    not_placed: &'a [GpuNotPlacedCount],
}

#[derive(Debug, Serialize)]
struct ShownOffset {
    rank: u32,
    offset_ns: i64,
    drift_ppb: i64,
    lo_ns: Option<i64>,
    hi_ns: Option<i64>,
}

/// Reasons of one rank.
const REASONS: usize = 3;

/// Pairs of clocks.
const PAIRS: usize = 1_000;

/// What the page of `document` is given beside its tables, and what was left out.
pub(super) fn shown<'a>(document: &'a Document, page_tables: Vec<PageTable>) -> (Shown<'a>, Cuts) {
    let mut cuts = Cuts::default();
    let mut names = Names::default();
    let origin_ns = origin(document);
    let shown = Shown {
        world_size: document.world_size,
        missing_ranks: &document.missing_ranks,
        device_activity: document.device_activity,
        origin_ns,
        advice: &document.advice,
        verdict: &document.verdict,
        unanswered: &document.unanswered,
        mean_step: mean_step(document),
        step_map: step_map(document, origin_ns),
        ranks: Ranks::of(document, &mut names, &mut cuts),
        alike: ranks_alike(document),
        blame: document.blame.iter().map(blame).collect(),
        blame_groups: document.blame_groups.iter().map(|BlameGroup { sentence, .. }| sentence.as_str()).collect(),
        budgets: document.budgets.iter().collect(),
        critical_path: Paths::of(document, &mut names, &mut cuts),
        collectives: ShownCollectives::of(document, origin_ns, &mut cuts),
        kernels: document.kernels.iter().collect(),
        page_tables,
        clock: clock(&document.clock, &mut cuts),
        names: names.into_texts(),
    };
    (shown, cuts)
}

fn origin(document: &Document) -> i64 {
    let steps = document.ranks.iter().flat_map(|rank| &rank.steps).map(|step| step.window_ns[0]).min();
    let collectives = || document.collectives.instances.iter().map(|instance| instance.start_ns).min();
    steps.or_else(collectives).unwrap_or(0)
}

fn blame(of: &Blame) -> ShownBlame<'_> {
    ShownBlame {
        rank: of.rank,
        lateness_ns: of.lateness_ns,
        caused_ns: of.caused_ns,
        inherited_ns: of.inherited_ns,
        uncertain_ns: of.uncertain_ns,
        last: of.last,
        of: of.of,
        pattern: of.pattern.as_str(),
        every_steps: of.every_steps,
        reasons: &of.reasons[..of.reasons.len().min(REASONS)],
        reason_count: of.reasons.len(),
    }
}

fn clock<'a>(clock: &'a Clock, cuts: &mut Cuts) -> ShownClock<'a> {
    let pairs = keep(&clock.pairs, PAIRS, |_| 1, |pair| (pair.zero_inside, pair.hi_ns.saturating_sub(pair.lo_ns)));
    cuts.pairs = pairs.full;
    let offset = |of: &ClockOffset| ShownOffset {
        rank: of.rank,
        offset_ns: of.offset_ns,
        drift_ppb: of.drift_ppb,
        lo_ns: of.lo_ns,
        hi_ns: of.hi_ns,
    };
    ShownClock {
        method: &clock.method,
        offsets: clock.offsets.iter().map(offset).collect(),
        pairs: Rows(pairs.items),
        gpus: clock.gpus.iter().map(gpu_clock).collect(),
    }
}

fn gpu_clock(of: &GpuClock) -> ShownGpuClock<'_> {
    let window = of.narrowest.as_ref();
    ShownGpuClock {
        rank: of.rank,
        operations: of.operations,
        windows: of.windows,
        unproven: of.unproven,
        offset_ns: window.map(|window| window.offset_ns),
        drift_ppb: window.map(|window| window.drift_ppb),
        lo_ns: window.map(|window| window.lo_ns),
        hi_ns: window.map(|window| window.hi_ns),
        proven: window.is_some_and(|window| window.proven),
        lineless: &of.lineless,
        unusable: &of.unusable,
        placed: of.placed,
        not_placed: &of.not_placed,
    }
}
