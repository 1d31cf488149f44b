//! From what analysis found to the report's document. Translates; decides nothing.

use rankscope_analyze::{
    Account, Because, ClassMode, CollectiveRow, Confidence, Copied, Job as Analysis, PlacedRank, Side, StepWindow, Unnamed,
};
use rankscope_document::{
    AccountingSide, AcrossRanks, Classes, Clock, ClockOffset, ClockPair, CollectiveGroup, Collectives, Copies, CopyTime,
    Document, LateRank, Problem, Rank, RankArrivals, Step, Time, Verdict, Window,
};
use rankscope_trace::RankSource;

use crate::across::across;
use crate::collective_tables::whom;
use crate::gpu_clocks::gpu_clocks;
use crate::notes::{cautions, notes};
use crate::{Job, JobRank, listed, tabulated};

/// What a document is made of.
pub(crate) struct Source<'a> {
    pub(crate) title: &'a str,
    pub(crate) job: &'a Job,
    pub(crate) analysis: &'a Analysis,
    /// Ranks with messages that do not tell their peer, and how many.
    pub(crate) peerless: &'a [(rankscope_time::Rank, usize)],
}

impl Source<'_> {
    /// The number of the rank at `index`.
    pub(crate) fn rank(&self, index: usize) -> u32 {
        self.job.ranks[index].rank.0
    }

    /// Whether any of the traces is what a training job leaves.
    pub(crate) fn is_training(&self) -> bool {
        self.job.ranks.iter().any(|rank| rank.about.is_training)
    }
}

/// Ranks up to which the intervals of all pairs of clocks are listed.
const PAIRED_RANKS_MAX: usize = 64;

/// Layout version of the document.
const SCHEMA: u32 = 1;

pub(crate) fn document(source: &Source<'_>) -> Document {
    let ranks = &source.job.ranks;
    let placed = ranks.iter().zip(&source.analysis.ranks);
    Document {
        schema: SCHEMA,
        rankscope_version: env!("CARGO_PKG_VERSION").to_owned(),
        title: source.title.to_owned(),
        world_size: source.job.completeness.world_size,
        missing_ranks: source.job.completeness.missing.iter().map(|rank| rank.0).collect(),
        device_activity: source.job.ranks.iter().any(|rank| rank.report.side == Side::Device),
        classes: match source.job.rules.classes {
            ClassMode::Default => Classes::Default,
            ClassMode::Tracelens => Classes::Tracelens,
        },
        notes: notes(source),
        cautions: cautions(source),
        verdict: verdict(source),
        windows: windows(source),
        ranks: placed.map(|(own, placed)| rank(own, placed, ranks.len())).collect(),
        kernels: listed::kernels_of_job(ranks),
        across_ranks: across_ranks(ranks),
        collectives: collectives(source),
        clock: clock(source),
        ..Document::default()
    }
}

/// The tables of `ranks` side by side.
fn across_ranks(ranks: &[JobRank]) -> Option<AcrossRanks> {
    let tabulated = ranks.iter().filter_map(|rank| Some((rank.rank.0, rank.tables.as_deref()?)));
    across(&tabulated.collect::<Vec<_>>())
}

fn windows(source: &Source<'_>) -> Vec<Window> {
    let window = |(number, steps): (usize, &Option<(i64, i64)>)| {
        let own = || source.analysis.ranks.iter().filter_map(move |rank| rank.recorded_ns.get(number));
        let worked = || own().filter(|(from, to)| from < to);
        Window {
            start_ns: worked().map(|(from, _)| *from).min().unwrap_or(0),
            end_ns: worked().map(|(_, to)| *to).max().unwrap_or(0),
            first_step: steps.map(|(first, _)| first),
            last_step: steps.map(|(_, last)| last),
        }
    };
    source.job.compared.windows.iter().enumerate().map(window).collect()
}

/// One rank of `ranks`.
fn rank(rank: &JobRank, placed: &PlacedRank, ranks: usize) -> Rank {
    let JobRank { rank, about, report, tables, .. } = rank;
    let step = |(window, account): &(StepWindow, Account)| Step {
        step: window.number,
        window_ns: [window.start_ns, window.end_ns],
        time_ns: time(account),
    };
    Rank {
        rank: rank.0,
        rank_source: about.rank.map_or(rankscope_document::RankSource::Order, |(_, source)| rank_source(source)),
        world_size: about.world_size,
        file: about.file.clone(),
        format: about.format.name().into(),
        host: about.host.clone(),
        device: about.device.clone(),
        bytes: about.bytes,
        events: about.events,
        problems: about.problems.iter().map(problem).collect(),
        accounting: match report.side {
            Side::Device => AccountingSide::Device,
            Side::Host => AccountingSide::Host,
        },
        window_ns: [placed.window_ns.0, placed.window_ns.1],
        time_ns: time(&placed.whole),
        copies: copies(&report.copies),
        step_source: report.step_source.name().into(),
        steps: placed.steps.iter().map(step).collect(),
        kernels: listed::kernels_of_rank(&report.names, ranks),
        tables: tables.as_deref().map(tabulated::tables),
    }
}

/// What was wrong with a file.
pub fn problem(problem: &rankscope_trace::Problem) -> Problem {
    Problem { offset: problem.offset, kind: problem.kind.name().into(), count: problem.count, detail: problem.detail.clone() }
}

fn rank_source(source: RankSource) -> rankscope_document::RankSource {
    match source {
        RankSource::Header => rankscope_document::RankSource::Header,
        RankSource::Events => rankscope_document::RankSource::Events,
        RankSource::FileName => rankscope_document::RankSource::FileName,
        RankSource::Order => rankscope_document::RankSource::Order,
    }
}

fn time(account: &Account) -> Time {
    Time {
        computation: account.computation_ns,
        exposed_comm: account.exposed_comm_ns,
        exposed_memcpy: account.exposed_memcpy_ns,
        busy: account.busy_ns,
        idle: account.idle_ns,
        total: account.total_ns,
        total_comm: account.total_comm_ns,
        total_memcpy: account.total_memcpy_ns,
    }
}

fn copies(copies: &rankscope_analyze::Copies) -> Copies {
    let one = |copied: &Copied| CopyTime { count: copied.count, total_ns: copied.total_ns, bytes: copied.bytes };
    Copies {
        host_to_device: one(&copies.host_to_device),
        device_to_host: one(&copies.device_to_host),
        device_to_device: one(&copies.device_to_device),
        peer_to_peer: one(&copies.peer_to_peer),
        other: one(&copies.other),
        memset: one(&copies.memset),
    }
}

fn verdict(source: &Source<'_>) -> Verdict {
    let verdict = &source.analysis.verdict;
    let late = |late: &rankscope_analyze::Late| LateRank {
        rank: source.rank(late.rank),
        delay_wall_ns: late.delay_wall_ns,
        lo_ns: late.lo_ns,
        hi_ns: late.hi_ns,
        share: late.share,
        confidence: confidence(late.confidence),
        because: match late.because {
            Because::BusiestStage { .. } => rankscope_document::Because::BusiestStage,
            Because::CameLast { .. } => rankscope_document::Because::CameLast,
        },
    };
    let comparable = source.job.doubts.is_empty();
    Verdict {
        late: verdict.late.iter().map(late).collect(),
        judged: verdict.judged,
        not_judged: verdict.not_judged,
        rounds: verdict.rounds as u64,
        reason: if comparable { verdict.unnamed.map(reason) } else { Some(rankscope_document::Unnamed::NotComparable) },
    }
}

fn confidence(confidence: Confidence) -> rankscope_document::Confidence {
    match confidence {
        Confidence::Low => rankscope_document::Confidence::Low,
        Confidence::Medium => rankscope_document::Confidence::Medium,
        Confidence::High => rankscope_document::Confidence::High,
    }
}

fn reason(unnamed: Unnamed) -> rankscope_document::Unnamed {
    match unnamed {
        Unnamed::NothingToJudge => rankscope_document::Unnamed::NothingToJudge,
        Unnamed::TooFewRounds { .. } => rankscope_document::Unnamed::TooFewRounds,
        Unnamed::Irregular { .. } => rankscope_document::Unnamed::Irregular,
        Unnamed::WithinClocks { .. } => rankscope_document::Unnamed::WithinClocks,
        Unnamed::NobodyStandsOut => rankscope_document::Unnamed::NobodyStandsOut,
    }
}

fn collectives(source: &Source<'_>) -> Collectives {
    let table = &source.analysis.collectives;
    let number = |index: usize| source.rank(index);
    let by_rank = table.by_rank.iter().zip(&table.counts).enumerate();
    Collectives {
        matched: table.arrivals.len() as u64,
        unmatched: table.lacking.len() as u64,
        groups: table.rows.iter().map(group).collect(),
        last_arrivals: table
            .by_rank
            .iter()
            .enumerate()
            .filter(|(_, rank)| rank.last > 0)
            .map(|(index, rank)| (source.rank(index), rank.last))
            .collect(),
        ranks: by_rank
            .map(|(index, (rank, counts))| RankArrivals {
                rank: source.rank(index),
                counts: counts.clone(),
                matched: rank.matched,
                last: rank.last,
                first: rank.first,
                wait_ns: rank.wait_ns,
                delay_ns: rank.delay_ns,
            })
            .collect(),
        unmatched_list: listed::unmatched(&table.lacking, number),
        instances: listed::instances(&table.arrivals, number),
    }
}

fn group(row: &CollectiveRow) -> CollectiveGroup {
    CollectiveGroup {
        name: row.name.clone(),
        kind: row.kind.into(),
        dtype: row.dtype.clone(),
        in_elements: row.in_elements,
        bytes: row.bytes,
        ranks: row.ranks,
        process_group: row.group.clone(),
        count: row.count,
        matched: row.matched,
        transfer_ns_mean: row.transfer_ns_mean,
        wait_ns_mean: row.wait_ns_mean,
        waits_for: whom(row.waiting),
        start_skew_ns_mean: row.start_skew_ns_mean,
        end_skew_ns_max: row.end_skew_ns_max,
        algbw_gbps_mean: row.algbw_gbps_mean,
        busbw_gbps_mean: row.busbw_gbps_mean,
        stay_ns_mean: row.stay_ns_mean,
        exposed_ns: row.exposed_ns,
    }
}

fn clock(source: &Source<'_>) -> Clock {
    let clocks = &source.job.clocks;
    let offsets = clocks.ranks.iter().enumerate().map(|(index, clock)| ClockOffset {
        rank: source.rank(index),
        node: source.job.nodes[index],
        method: clock.method.name().into(),
        offset_ns: clock.offset_ns,
        drift_ppb: clock.drift_ppb,
        lo_ns: clock.bound.lo_ns,
        hi_ns: clock.bound.hi_ns,
    });
    Clock {
        method: clocks.method.name().into(),
        corrected: clocks.moves(),
        offsets: offsets.collect(),
        pairs: pairs(source),
        gpus: gpu_clocks(&source.job.ranks),
    }
}

fn pairs(source: &Source<'_>) -> Vec<ClockPair> {
    let ranks = source.analysis.ranks.len();
    if ranks > PAIRED_RANKS_MAX {
        return Vec::new();
    }
    let all = (0..ranks).flat_map(|a| (a + 1..ranks).map(move |b| (a, b)));
    all.filter_map(|(a, b)| {
        let bound = source.job.clocks.estimate.bounds.between(a, b);
        Some(ClockPair {
            a: source.rank(a),
            b: source.rank(b),
            lo_ns: bound.lo_ns?,
            hi_ns: bound.hi_ns?,
            zero_inside: bound.allows_zero(),
        })
    })
    .collect()
}
