//! `rankscope align --from-traces`: what the collectives alone say about the clocks, and which answers hang on it.
//!
//! This is the weakest of all ways to know a clock, and every form of the answer says so: the interval is the result, and where
//! it is wide enough to change who is late, that is in the answer too.

use std::fmt::Write;

use rankscope_align::{ClockEstimate, DRIFT_MAX, IntervalEnd, RankMap, Side};
use rankscope_analyze::{Flip, Ranking};
use rankscope_collectives::RankCollectives;
use rankscope_time::Instant;
use serde::Serialize;

use crate::Job;
use crate::words::list;

/// The clocks as the traces tell them.
#[derive(Debug, Serialize)]
pub struct FromTraces {
    ranks: Vec<RankRow>,
    matched: usize,
    unmatched: usize,
    method: &'static str,
    /// Where offsets and bounds hold, on the lowest rank's clock: the start of the earliest trace.
    at_ns: i64,
    /// How far the ends of one collective lie apart once corrected. No bound.
    agreement_ns: Option<i64>,
    hosts_known: bool,
    /// What two clocks may drift apart by, which the bounds assume.
    drift_max_ppb: i64,
    /// Ranks that are taken to have one clock.
    shared_clocks: Vec<Vec<u32>>,
    /// Answers that are others elsewhere inside the bounds.
    flips: Vec<FlipRow>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct RankRow {
    rank: u32,
    offset_ns: i64,
    drift_ppb: i64,
    bound_lo_ns: Option<i64>,
    bound_hi_ns: Option<i64>,
    applied: bool,
}

#[derive(Debug, Serialize)]
struct FlipRow {
    /// Whose clocks are at an end of their bounds.
    moved: Vec<u32>,
    end: &'static str,
    conclusion: &'static str,
    /// What it says, with the clocks as estimated and at the end.
    from: Option<u64>,
    to: Option<u64>,
    /// Whom a count is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
}

/// The answer about `job`, whatever else was measured of its clocks.
pub fn from_traces(job: &Job) -> FromTraces {
    let estimate = &job.clocks.estimate;
    let ranks = &job.collectives;
    let number = |index: usize| ranks[index].rank.0;
    let rows = estimate.clocks.iter().enumerate().map(|(index, clock)| RankRow {
        rank: number(index),
        offset_ns: clock.offset_ns,
        drift_ppb: clock.drift_ppb,
        bound_lo_ns: clock.bound.lo_ns,
        bound_hi_ns: clock.bound.hi_ns,
        applied: clock.applied,
    });
    let matched = job.matched.instances.iter().filter(|instance| instance.complete).count();
    let flips = flips(estimate, job);
    FromTraces {
        ranks: rows.collect(),
        matched,
        unmatched: job.matched.instances.len() - matched,
        method: if estimate.corrected { "collectives" } else { "as_recorded" },
        at_ns: estimate.at_ns,
        agreement_ns: estimate.agreement_ns,
        hosts_known: estimate.hosts_known,
        drift_max_ppb: DRIFT_MAX.as_ppb(),
        shared_clocks: estimate.shared.iter().map(|clock| clock.iter().map(|index| number(*index)).collect()).collect(),
        notes: notes(estimate, ranks, &flips),
        flips,
    }
}

/// From the first start to the last end of any rank, on the reference clock.
fn recorded_ns(job: &Job) -> i64 {
    let bounds = || {
        let ranks = job.ranks.iter().zip(&job.clocks.ranks);
        ranks.filter_map(|(rank, clock)| {
            let mapped = |ns| clock.map.map(Instant::from_nanos_since_epoch(ns)).nanos_since_epoch();
            rank.about.bounds_ns.map(|(from, to)| (mapped(from), mapped(to)))
        })
    };
    let (from, to) = (bounds().map(|own| own.0).min(), bounds().map(|own| own.1).max());
    to.unwrap_or(0).saturating_sub(from.unwrap_or(0))
}

/// What changes about who is late when clocks are at the ends of their bounds.
fn flips(estimate: &ClockEstimate, job: &Job) -> Vec<FlipRow> {
    let (ranks, recorded_ns) = (&job.collectives, recorded_ns(job));
    let number = |index: usize| ranks[index].rank.0;
    let ranking = |clocks: &[rankscope_align::RankClocks]| {
        let maps: Vec<RankMap> = clocks.iter().map(|clock| clock.map(estimate.at_ns)).collect();
        Ranking::of(ranks, &job.matched, &maps.iter().collect::<Vec<_>>(), recorded_ns, job.side())
    };
    let here = ranking(&estimate.clocks);
    let rows = |end: IntervalEnd| {
        let moved: Vec<u32> = end.moved.iter().map(|index| number(*index)).collect();
        let side = if end.side == Side::Lo { "lo" } else { "hi" };
        let row = |flip: Flip| {
            let index = |index: usize| u64::from(number(index));
            let (conclusion, from, to, rank) = match flip {
                Flip::Late { from, to } => ("late", from.map(index), to.map(index), None),
                Flip::MostOftenLast { from, to } => ("most_often_last", Some(index(from)), Some(index(to)), None),
                Flip::Last { rank, from, to } => ("times_last", Some(from), Some(to), Some(number(rank))),
            };
            FlipRow { moved: moved.clone(), end: side, conclusion, from, to, rank }
        };
        here.flips(&ranking(&end.clocks)).into_iter().map(row).collect::<Vec<_>>()
    };
    estimate.interval_ends().into_iter().flat_map(rows).collect()
}

fn notes(estimate: &ClockEstimate, ranks: &[RankCollectives], flips: &[FlipRow]) -> Vec<String> {
    let mut notes = vec!["Estimated from the collectives alone; measured clocks would be more certain.".to_owned()];
    let mut note = |text: String| notes.push(text);
    let unbounded: Vec<_> = ranks.iter().zip(&estimate.clocks).filter(|(_, clock)| clock.bound.width_ns().is_none()).collect();
    if let Some(rank) = estimate.bounds.contradiction() {
        let rank = ranks[rank].rank;
        note(format!("The timestamps of rank {rank} contradict causality with any clock offset; nothing was corrected."));
    } else if !unbounded.is_empty() {
        let unbounded: Vec<_> = unbounded.into_iter().map(|(rank, _)| rank.rank).collect();
        note(format!("No collective bounds the clock of rank {} on both sides.", list(&unbounded)));
    }
    if !estimate.corrected && !estimate.hosts_known && ranks.len() > 1 && estimate.bounds.contradiction().is_none() {
        note("The clocks may well be equal and no two hosts are known to differ, so no timestamp was corrected.".to_owned());
    }
    if flips.iter().any(|flip| flip.conclusion == "late") {
        note("Which rank is late depends on where the clocks lie within their bounds.".to_owned());
    }
    notes
}

impl FromTraces {
    /// The answer for people.
    pub fn table(&self) -> String {
        let known = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), microseconds);
        let mut text = format!(
            "clocks from traces alone ({}), {} of {} collectives matched\n\n{:>6} {:>16} {:>11} {:>16} {:>16}  applied\n",
            self.method,
            self.matched,
            self.matched + self.unmatched,
            "rank",
            "offset us",
            "drift ppm",
            "at least us",
            "at most us"
        );
        for row in &self.ranks {
            let ppm = row.drift_ppb as f64 / 1e3;
            let (offset, lo, hi) = (microseconds(row.offset_ns), known(row.bound_lo_ns), known(row.bound_hi_ns));
            let applied = if row.applied { "yes" } else { "no" };
            let _ = writeln!(text, "{:>6} {offset:>16} {ppm:>11.3} {lo:>16} {hi:>16}  {applied}", row.rank);
        }
        let flips = || self.flips.iter().filter(|flip| flip.conclusion != "times_last");
        if flips().next().is_some() {
            text.push('\n');
        }
        for flip in flips() {
            let _ = writeln!(text, "{}", flip.sentence());
        }
        for note in &self.notes {
            let _ = write!(text, "\n{note}");
        }
        text
    }
}

impl FlipRow {
    fn sentence(&self) -> String {
        let rank = |rank: Option<u64>| rank.map_or_else(|| "nobody".to_owned(), |rank| format!("rank {rank}"));
        let what = if self.conclusion == "late" { "late" } else { "last most often" };
        let moved = self.moved.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let whose = if self.moved.len() == 1 { "clock of rank" } else { "clocks of ranks" };
        let end = if self.end == "lo" { "least" } else { "most" };
        let they = if self.moved.len() == 1 { "it" } else { "they" };
        let (from, to) = (rank(self.from), rank(self.to));
        format!("With the {whose} {moved} at the {end} {they} can be ahead, {what} would be {to} instead of {from}.")
    }
}

fn microseconds(ns: i64) -> String {
    format!("{:.3}", ns as f64 / 1e3)
}
