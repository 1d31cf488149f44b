//! Moving the events of a trace to another clock, in place.
//!
//! Start and end of a span are mapped each by itself: a span that lasts a second on a clock that runs 10 ppm fast lasts 10 us
//! less. The map is monotone, so order and nesting need no repair, and nothing is ever pushed after its neighbour. Stamps are
//! integers throughout; picoseconds below them are carried along as they are. The way back is the map's inverse, to 1 ns a
//! stage.

use rankscope_time::{ClockCursor, ClockMap, Instant};
use rankscope_trace::{Spans, Trace, TrackId, TrackKind};
use rayon::prelude::*;

/// What moving did to the events of one trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Spans, instants, counter samples and points of flows.
    pub events: u64,
    /// Those that lie outside the knots of some stage of the map, at their start or end.
    pub extrapolated: u64,
    /// The same by stage, in the order of the map.
    pub extrapolated_by_stage: Vec<u64>,
    /// Least of what was added to a stamp; 0 where there is no event.
    pub correction_min_ns: i64,
    /// Greatest of what was added to a stamp.
    pub correction_max_ns: i64,
    /// The worst that the map claims over the time of the events.
    pub uncertainty_max_ns: u64,
}

/// Moves every event of `trace` through `map`.
pub fn apply<A: Sync, B: Sync>(trace: &mut Trace, map: &ClockMap<A, B>) -> Moved {
    move_events(trace, map, None)
}

/// What moving so many `events` through `map` does to them, of which only the first and last stamp are known: corrections are the
/// least and greatest of that time, and events are taken to be spread evenly over it.
pub fn measure<A, B>(map: &ClockMap<A, B>, events: u64, bounds_ns: Option<(i64, i64)>) -> Moved {
    let known = known_ns(map);
    let nothing = Moved { events, extrapolated_by_stage: vec![0; known.len()], ..Moved::default() };
    let Some((first_ns, last_ns)) = bounds_ns else { return nothing };
    let [first, last] = [first_ns, last_ns].map(Instant::from_nanos_since_epoch);
    let correction = |at: Instant<A>| map.map(at).nanos_since_epoch().saturating_sub(at.nanos_since_epoch());
    let corrections = || map.knots_within(first, last).into_iter().chain([first, last]).map(correction);
    let outside = |(from, until): (i64, i64)| share_outside(events, (first_ns, last_ns), (from, until));
    Moved {
        extrapolated: outside(all_known_ns(&known)),
        extrapolated_by_stage: known.iter().map(|known| outside(*known)).collect(),
        correction_min_ns: corrections().min().unwrap_or(0),
        correction_max_ns: corrections().max().unwrap_or(0),
        uncertainty_max_ns: map.uncertainty_max_ns(first, last),
        ..nothing
    }
}

/// How many of `events`, spread evenly from the first to the last of `bounds`, lie outside of `known`; none only if all of that time
/// is inside.
fn share_outside(events: u64, bounds: (i64, i64), known: (i64, i64)) -> u64 {
    let length = |(from, until): (i64, i64)| i128::from(until) - i128::from(from);
    let inside = length((bounds.0.max(known.0), bounds.1.min(known.1)));
    match length(bounds) {
        all if inside >= all => 0,
        all if inside <= 0 || all <= 0 => events,
        all => {
            let (outside, all) = ((all - inside).unsigned_abs(), all.unsigned_abs());
            u64::try_from((u128::from(events) * outside).div_ceil(all)).unwrap_or(events)
        }
    }
}

/// From and until which stamp each stage of `map` has knots.
fn known_ns<A, B>(map: &ClockMap<A, B>) -> Vec<(i64, i64)> {
    let range = |range: Option<(Instant<A>, Instant<A>)>| {
        range.map_or((i64::MIN, i64::MAX), |(from, until)| (from.nanos_since_epoch(), until.nanos_since_epoch()))
    };
    map.known().into_iter().map(range).collect()
}

/// From and until which stamp all stages have.
fn all_known_ns(known: &[(i64, i64)]) -> (i64, i64) {
    known.iter().fold((i64::MIN, i64::MAX), |all, own| (all.0.max(own.0), all.1.min(own.1)))
}

/// Moves the events of devices alone, as for a tracer whose clock stamps those and nothing else.
pub fn apply_to_devices<A: Sync, B: Sync>(trace: &mut Trace, map: &ClockMap<A, B>) -> Moved {
    let of_device = |kind: TrackKind| matches!(kind, TrackKind::Device | TrackKind::Stream);
    let chosen: Vec<bool> = trace.tracks.iter().map(|(_, track)| of_device(track.kind)).collect();
    move_events(trace, map, Some(&chosen))
}

/// `chosen` says of each track whether its events move; none moves all.
fn move_events<A: Sync, B: Sync>(trace: &mut Trace, map: &ClockMap<A, B>, chosen: Option<&[bool]>) -> Moved {
    let is_chosen = |track: TrackId| chosen.is_none_or(|chosen| chosen[track.0 as usize]);
    let spans = move_spans(&mut trace.spans, map, &is_chosen);
    let mut mover = Mover::new(map);
    let instants = trace.instants.iter_mut().map(|mark| (mark.track, &mut mark.time_ns));
    let samples = trace.counters.iter_mut().map(|sample| (sample.track, &mut sample.time_ns));
    let points = trace.flows.iter_mut().map(|point| (point.track, &mut point.time_ns));
    for (_, time_ns) in instants.chain(samples).chain(points).filter(|(track, _)| is_chosen(*track)) {
        mover.moment(time_ns);
    }
    let mut cursor = map.cursor();
    let mut moved = |ns: i64| cursor.map(Instant::from_nanos_since_epoch(ns)).nanos_since_epoch();
    // What a track counts from stays before all of its events.
    for (_, track) in trace.tracks.iter_mut().filter(|(id, track)| track.origin_ns != 0 && is_chosen(*id)) {
        track.origin_ns = moved(track.origin_ns);
    }
    if chosen.is_none() {
        // Readings tell where the trace's own clock stood, which is another one now.
        trace.provenance.clock_readings.iter_mut().for_each(|reading| reading.trace_ns = moved(reading.trace_ns));
        trace.gpu_times.move_host_stamps(moved);
    }
    spans.and(mover.tally).moved(map)
}

/// Spans moved by one task.
const CHUNK: usize = 1 << 15;

fn move_spans<A: Sync, B: Sync>(spans: &mut Spans, map: &ClockMap<A, B>, chosen: &(impl Fn(TrackId) -> bool + Sync)) -> Tally {
    let (starts, lengths) = (spans.start_ns.par_chunks_mut(CHUNK), spans.dur_ns.par_chunks_mut(CHUNK));
    let columns = starts.zip(lengths).zip(spans.track.par_chunks(CHUNK));
    let coarse = |((starts, lengths), tracks): Columns<'_>| {
        let mut mover = Mover::new(map);
        let stamps = starts.iter_mut().zip(lengths).zip(tracks).filter(|(_, track)| chosen(**track));
        stamps.for_each(|((start_ns, dur_ns), _)| mover.span(start_ns, dur_ns));
        mover.tally
    };
    if spans.picos.is_empty() {
        return columns.map(coarse).reduce(Tally::default, Tally::and);
    }
    let fine = |(((starts, lengths), tracks), picos): (Columns<'_>, &mut [(u16, u16)])| {
        let mut mover = Mover::new(map);
        let stamps = starts.iter_mut().zip(lengths).zip(tracks).zip(picos).filter(|((_, track), _)| chosen(**track));
        stamps.for_each(|(((start_ns, dur_ns), _), picos)| mover.fine_span(start_ns, dur_ns, picos));
        mover.tally
    };
    columns.zip(spans.picos.par_chunks_mut(CHUNK)).map(fine).reduce(Tally::default, Tally::and)
}

/// A stretch of starts, lengths and tracks.
type Columns<'a> = ((&'a mut [i64], &'a mut [i64]), &'a [TrackId]);

/// What was moved, as it adds up.
#[derive(Clone, Debug)]
struct Tally {
    events: u64,
    extrapolated: u64,
    by_stage: Vec<u64>,
    correction_ns: (i64, i64),
    range_ns: (i64, i64),
}

impl Default for Tally {
    fn default() -> Self {
        let nothing = (i64::MAX, i64::MIN);
        Self { events: 0, extrapolated: 0, by_stage: Vec::new(), correction_ns: nothing, range_ns: nothing }
    }
}

impl Tally {
    fn and(mut self, other: Self) -> Self {
        self.events += other.events;
        self.extrapolated += other.extrapolated;
        self.by_stage.resize(self.by_stage.len().max(other.by_stage.len()), 0);
        self.by_stage.iter_mut().zip(&other.by_stage).for_each(|(own, other)| *own += other);
        let wider = |a: (i64, i64), b: (i64, i64)| (a.0.min(b.0), a.1.max(b.1));
        self.correction_ns = wider(self.correction_ns, other.correction_ns);
        self.range_ns = wider(self.range_ns, other.range_ns);
        self
    }

    fn moved<A, B>(self, map: &ClockMap<A, B>) -> Moved {
        if self.events == 0 {
            return Moved { extrapolated_by_stage: self.by_stage, ..Moved::default() };
        }
        let (first, last) = self.range_ns;
        Moved {
            events: self.events,
            extrapolated: self.extrapolated,
            extrapolated_by_stage: self.by_stage,
            correction_min_ns: self.correction_ns.0,
            correction_max_ns: self.correction_ns.1,
            uncertainty_max_ns: map
                .uncertainty_max_ns(Instant::from_nanos_since_epoch(first), Instant::from_nanos_since_epoch(last)),
        }
    }
}

/// Moves stamps and counts them.
struct Mover<'a, A, B> {
    starts: ClockCursor<'a, A, B>,
    ends: ClockCursor<'a, A, B>,
    /// Where each stage has knots.
    known: Vec<(i64, i64)>,
    /// Where all have.
    all_known: (i64, i64),
    tally: Tally,
}

impl<'a, A, B> Mover<'a, A, B> {
    fn new(map: &'a ClockMap<A, B>) -> Self {
        let known = known_ns(map);
        let all_known = all_known_ns(&known);
        let tally = Tally { by_stage: vec![0; known.len()], ..Tally::default() };
        Self { starts: map.cursor(), ends: map.cursor(), known, all_known, tally }
    }

    fn span(&mut self, start_ns: &mut i64, dur_ns: &mut i64) {
        let end_ns = start_ns.saturating_add(*dur_ns);
        let start = self.starts.map(Instant::from_nanos_since_epoch(*start_ns)).nanos_since_epoch();
        let end = self.ends.map(Instant::from_nanos_since_epoch(end_ns)).nanos_since_epoch();
        self.count(*start_ns, end_ns, start.saturating_sub(*start_ns), end.saturating_sub(end_ns));
        *start_ns = start;
        *dur_ns = end.saturating_sub(start);
    }

    fn fine_span(&mut self, start_ns: &mut i64, dur_ns: &mut i64, picos: &mut (u16, u16)) {
        // Where the span ends: whole nanoseconds, and picoseconds beyond them.
        let beyond = picos.0 + picos.1;
        let mut whole_ns = dur_ns.saturating_add(i64::from(beyond / 1_000));
        self.span(start_ns, &mut whole_ns);
        let fine = i128::from(whole_ns) * 1_000 + i128::from(beyond % 1_000) - i128::from(picos.0);
        // Two nanoseconds may have become one.
        let fine = fine.max(0);
        *dur_ns = (fine / 1_000) as i64;
        picos.1 = (fine % 1_000) as u16;
    }

    fn moment(&mut self, time_ns: &mut i64) {
        let time = self.starts.map(Instant::from_nanos_since_epoch(*time_ns)).nanos_since_epoch();
        let correction = time.saturating_sub(*time_ns);
        self.count(*time_ns, *time_ns, correction, correction);
        *time_ns = time;
    }

    fn count(&mut self, from_ns: i64, until_ns: i64, at_start_ns: i64, at_end_ns: i64) {
        let tally = &mut self.tally;
        tally.events += 1;
        tally.correction_ns.0 = tally.correction_ns.0.min(at_start_ns.min(at_end_ns));
        tally.correction_ns.1 = tally.correction_ns.1.max(at_start_ns.max(at_end_ns));
        tally.range_ns = (tally.range_ns.0.min(from_ns), tally.range_ns.1.max(until_ns));
        if from_ns >= self.all_known.0 && until_ns <= self.all_known.1 {
            return;
        }
        tally.extrapolated += 1;
        for ((first, last), count) in self.known.iter().zip(&mut tally.by_stage) {
            *count += u64::from(from_ns < *first || until_ns > *last);
        }
    }
}

#[cfg(test)]
mod tests;
