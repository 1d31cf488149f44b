//! [`Report`]: how a session went. Every stop returns one, and an empty recording says why it is empty.

use std::collections::HashMap;
use std::time::Instant;

use rankscope_recording::{Anchor, ClockId, DropReason, Thread, TickMap, What};

use crate::empty::Empty;
use crate::lane::tally::{REASONS, REMARKS, SORTS, Sort, Tally, grown};
use crate::recorded::Recorded;
use crate::remarks::Remarks;
use crate::ticks::tick_source;

/// What one thread recorded in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ThreadReport {
    /// Its number in the recording.
    pub stream: u32,
    /// Its number in the operating system.
    pub tid: u64,
    /// Its name.
    pub name: String,
    /// Spans that began in the session, or were open when it began.
    pub spans: u64,
    /// Moments.
    pub instants: u64,
    /// Values.
    pub counters: u64,
    /// Points of arrows.
    pub flows: u64,
    /// Begins and ends of asynchronous spans.
    pub async_ends: u64,
    /// Memory events.
    pub memory: u64,
}

impl ThreadReport {
    /// All of them.
    pub fn events(&self) -> u64 {
        self.spans + self.instants + self.counters + self.flows + self.async_ends + self.memory
    }
}

/// How well ticks are known as time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ClockReport {
    /// Where ticks come from: `tsc`, `cntvct`, `monotonic_raw`.
    pub tick_source: &'static str,
    /// Readings of ticks against the recording's clock.
    pub anchors: usize,
    /// Width of the narrowest bracket, in nanoseconds: no anchor is surer than that.
    pub bracket_min_ns: u64,
    /// Median distance of an anchor from the line through its neighbours.
    pub residual_median_ns: u64,
    /// The largest.
    pub residual_max_ns: u64,
}

/// A plugin that was switched off, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PluginFailure {
    /// Which one.
    pub plugin: String,
    /// The hook it failed in.
    pub hook: &'static str,
    /// What it said, or that it panicked.
    pub reason: String,
}

/// Time spent by the recorder itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Phases {
    /// Stopping.
    pub stop_ns: u64,
}

/// How a session went.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Report {
    /// What each thread recorded of the session's categories; threads that recorded nothing are left out. It is what
    /// [`Recorded`] holds: spans that were open when the session began count, and what a ring has let go of does not.
    pub threads: Vec<ThreadReport>,
    /// What was lost, by reason, on the session's threads; `overwritten` is what a ring let go of, on all.
    pub drops: Vec<(&'static str, u64)>,
    /// How many times since this process began a name made up at run time found no room in the table of names
    /// ([`intern`](crate::intern)). Events of such a name are recorded, but share one that says so.
    pub names_full: u64,
    /// What was recorded otherwise than the program may think, on the session's threads.
    pub remarks: Remarks,
    /// The clock.
    pub clock: ClockReport,
    /// Bytes of memory or file that the recording holds.
    pub bytes: u64,
    /// Where the recorder's own time went.
    pub phases: Phases,
    /// Plugins that failed and were switched off.
    pub plugins: Vec<PluginFailure>,
    /// Why nothing was recorded; none if something was.
    pub empty: Option<Empty>,
}

/// What a report is made of.
pub(crate) struct Facts<'a> {
    pub(crate) before: &'a [Tally],
    pub(crate) after: &'a [Tally],
    pub(crate) streams: Option<&'a [u32]>,
    /// What was counted in the recording itself, by stream; none where the threads' own counts are right.
    pub(crate) counted: Option<HashMap<u32, [u64; SORTS]>>,
    pub(crate) overwritten: u64,
    pub(crate) names_full: u64,
    pub(crate) names_cut: u64,
    pub(crate) exhausted: Option<DropReason>,
    pub(crate) anchors: &'a [Anchor],
    pub(crate) bytes: u64,
    pub(crate) began: Instant,
}

impl Report {
    pub(crate) fn of(facts: &Facts<'_>) -> Self {
        let is_wanted = |tally: &Tally| facts.streams.is_none_or(|streams| streams.contains(&tally.stream));
        let (own, others): (Vec<Tally>, Vec<Tally>) =
            grown(facts.before, facts.after.to_vec()).into_iter().partition(is_wanted);
        let counts = |tally: &Tally| match &facts.counted {
            Some(counted) => counted.get(&tally.stream).copied().unwrap_or_default(),
            None => tally.counts,
        };
        let threads: Vec<ThreadReport> =
            own.iter().map(|tally| thread(tally, &counts(tally))).filter(|thread| thread.events() > 0).collect();
        let drops = drops(&own, facts.overwritten);
        let empty = threads.is_empty().then(|| why_empty(facts, &own, &others, &drops));
        Self {
            threads,
            drops,
            names_full: facts.names_full,
            remarks: remarks(facts.names_cut, &own),
            clock: clock(facts.anchors),
            bytes: facts.bytes,
            phases: Phases { stop_ns: facts.began.elapsed().as_nanos() as u64 },
            plugins: Vec::new(),
            empty,
        }
    }

    /// Events of all threads.
    pub fn events(&self) -> u64 {
        self.threads.iter().map(ThreadReport::events).sum()
    }

    /// Events that were lost. What a ring has overwritten is not among them.
    pub fn dropped(&self) -> u64 {
        self.drops.iter().filter(|(reason, _)| *reason != OVERWRITTEN).map(|(_, count)| count).sum()
    }

    /// Events that a ring has overwritten, as it was asked to.
    pub fn overwritten(&self) -> u64 {
        self.drops.iter().filter(|(reason, _)| *reason == OVERWRITTEN).map(|(_, count)| count).sum()
    }
}

const OVERWRITTEN: &str = DropReason::Overwritten.name();

/// Reasons with something lost.
pub(crate) fn reasons(drops: &[u64; REASONS]) -> impl Iterator<Item = (DropReason, u64)> + '_ {
    DropReason::ALL.into_iter().map(|reason| (reason, drops[reason as usize])).filter(|(_, count)| *count > 0)
}

/// Counts what `recorded` holds, by stream; none if it cannot be read.
pub(crate) fn counted(recorded: &Recorded) -> Option<HashMap<u32, [u64; SORTS]>> {
    let recording = recorded.open().ok()?;
    let count = |thread: &Thread| {
        let mut counts = [0; SORTS];
        let mut replay = recording.replay(thread, recorded.cut());
        while let Some((event, _)) = replay.next() {
            let sort = match event.what {
                What::Begin { .. } => Sort::Span,
                What::Instant => Sort::Instant,
                What::Counter(_) => Sort::Counter,
                What::Flow { .. } => Sort::Flow,
                What::AsyncBegin { .. } | What::AsyncEnd { .. } => Sort::Async,
                What::Memory { .. } => Sort::Memory,
                What::End { .. } => continue,
            };
            counts[sort as usize] += 1;
        }
        (thread.stream, counts)
    };
    Some(recording.threads().iter().map(count).collect())
}

fn thread(tally: &Tally, counts: &[u64; SORTS]) -> ThreadReport {
    ThreadReport {
        stream: tally.stream,
        tid: tally.tid,
        name: tally.name.clone(),
        spans: counts[Sort::Span as usize],
        instants: counts[Sort::Instant as usize],
        counters: counts[Sort::Counter as usize],
        flows: counts[Sort::Flow as usize],
        async_ends: counts[Sort::Async as usize],
        memory: counts[Sort::Memory as usize],
    }
}

fn drops(grown: &[Tally], overwritten: u64) -> Vec<(&'static str, u64)> {
    let of = |reason: DropReason| {
        let dropped: u64 = grown.iter().map(|tally| tally.drops[reason as usize]).sum();
        if reason == DropReason::Overwritten { dropped + overwritten } else { dropped }
    };
    DropReason::ALL.into_iter().map(|reason| (reason.name(), of(reason))).filter(|(_, count)| *count > 0).collect()
}

fn remarks(names_cut: u64, grown: &[Tally]) -> Remarks {
    let counts: [u64; REMARKS] = std::array::from_fn(|at| grown.iter().map(|tally| tally.remarks[at]).sum());
    Remarks { names_cut, ..Remarks::of(counts) }
}

fn why_empty(facts: &Facts<'_>, own: &[Tally], others: &[Tally], drops: &[(&'static str, u64)]) -> Empty {
    let recorded = |tallies: &[Tally]| -> u64 { tallies.iter().flat_map(|tally| tally.counts).sum() };
    match (recorded(own), recorded(others)) {
        (events @ 1.., _) if facts.overwritten > 0 => Empty::Overwritten { events },
        _ if !drops.is_empty() => Empty::Dropped { storage_full: facts.exhausted.is_some() },
        (events @ 1.., _) => Empty::OtherCategories { events },
        (0, events @ 1..) => Empty::OtherThreads { events },
        (0, 0) => Empty::NothingBegan,
    }
}

fn clock(anchors: &[Anchor]) -> ClockReport {
    let raw: Vec<&Anchor> = anchors.iter().filter(|anchor| anchor.clock == ClockId::MONOTONIC_RAW).collect();
    let map = TickMap::new(anchors);
    let (residual_median_ns, residual_max_ns) = map.residuals_ns();
    let narrowest = raw.iter().min_by_key(|anchor| anchor.width_ticks);
    let bracket_min_ns =
        narrowest.map_or(0, |anchor| (map.ns(anchor.tick + anchor.width_ticks) - map.ns(anchor.tick)).unsigned_abs());
    ClockReport { tick_source: tick_source().name(), anchors: raw.len(), bracket_min_ns, residual_median_ns, residual_max_ns }
}
