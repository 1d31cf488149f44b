//! The plane `/host:snapshots`: readings of a tracer's clock beside the host's, out of a file and back into one.
//!
//! A line `Clock Snapshots`, an event `Snapshot` a pair at the host's time, with the tracer's time as the statistic `rocm_ns`.
//! Ours adds the statistic `half_width_ns`, how far the pair may be off, and tells several clocks apart by the label of their
//! line. Which events a clock stamped the plane does not say: all of them where the host's events lie nearer to the tracer's
//! readings than to the host's, those of devices otherwise.

use std::mem;

use rankscope_trace::{
    ArgValue, ClockScope, ProblemKind, Problems, SnapshotPair, StrId, Strings, Trace, TracerClock, TrackKind,
};

use super::plane::{RawPlane, RawStat, When};
use super::schema::{self, event, line, plane, space};
use super::stats::{StatTable, sort_entry};
use super::verdict::number;
use crate::snapshot_pairs::HALF_WIDTH_UNSAID_NS;
use crate::wire::Encoder;

/// The clocks of the plane `raw`, a line each; events that are no pair are among the problems.
pub(super) fn clocks(raw: &RawPlane, names: &Strings, problems: &mut Problems) -> Vec<TracerClock> {
    let (mut event, mut stat) = (0, 0);
    let mut clocks = Vec::new();
    for line in &raw.lines {
        let mut pairs = Vec::new();
        for event in &raw.events[mem::replace(&mut event, line.events_end)..line.events_end] {
            let stats = &raw.event_stats[mem::replace(&mut stat, event.stats_end)..event.stats_end];
            let (When::Offset(offset_ps), Some(tracer_ns)) = (event.when, named(stats, schema::TRACER_NS, raw, names)) else {
                problems.add(ProblemKind::MalformedEvent, event.at);
                continue;
            };
            let half_width_ns = named(stats, schema::HALF_WIDTH_NS, raw, names).and_then(|ns| u64::try_from(ns).ok());
            let host_ns = line.timestamp_ns.saturating_add(offset_ps.div_euclid(PS_PER_NS));
            pairs.push(SnapshotPair { tracer_ns, host_ns, half_width_ns: half_width_ns.unwrap_or(HALF_WIDTH_UNSAID_NS) });
        }
        let label = if line.label == StrId::EMPTY { schema::TRACER_DEFAULT } else { names.text(line.label) };
        clocks.push(TracerClock { name: label.to_owned(), scope: ClockScope::Devices, pairs });
    }
    clocks
}

/// The number that the statistic `name` is among `stats`.
pub(super) fn named(stats: &[RawStat], name: &str, raw: &RawPlane, names: &Strings) -> Option<i64> {
    let is = |stat: &&RawStat| names.text(raw.stat_names[stat.key as usize].name) == name;
    stats.iter().find(is).and_then(|stat| number(stat.value))
}

/// Puts the clocks of a trace that is otherwise complete on the trace's own base, and finds out what they stamped.
pub(super) fn settle(trace: &mut Trace) {
    let base_ns = trace.provenance.clock_base_ns.unwrap_or(0);
    let first_on_host = (0..).zip(&trace.spans.track).filter(|(_, track)| trace.tracks.get(**track).kind == TrackKind::Thread);
    let first_on_host = first_on_host.map(|(at, _): (usize, _)| trace.spans.start_ns[at]).min();
    for clock in &mut trace.provenance.tracer_clocks {
        // As with lines: a stamp that lies behind the start was not subtracted from.
        if clock.pairs.iter().all(|pair| pair.host_ns < base_ns) {
            clock.pairs.iter_mut().for_each(|pair| pair.host_ns = pair.host_ns.saturating_add(base_ns));
        }
        let distance = |at: fn(&SnapshotPair) -> i64| {
            let apart = |pair| first_on_host.map(|first| first.abs_diff(at(pair)));
            clock.pairs.iter().filter_map(apart).min()
        };
        if distance(|pair| pair.tracer_ns) < distance(|pair| pair.host_ns) {
            clock.scope = ClockScope::Everything;
        }
    }
}

/// The plane, where `trace` knows clocks of tracers; its stamps count from `base_ns`.
pub(super) fn encode(trace: &Trace, base_ns: i64, out: &mut Encoder) {
    let clocks = &trace.provenance.tracer_clocks;
    if clocks.is_empty() {
        return;
    }
    let mut stats = StatTable::new(trace);
    let (tracer_ns, half_width_ns) = (stats.key(schema::TRACER_NS), stats.key(schema::HALF_WIDTH_NS));
    out.message(space::PLANES, |out| {
        out.string(plane::NAME, schema::SNAPSHOT_PLANE);
        for (index, clock) in (0_u64..).zip(clocks) {
            let origin_ns = clock.pairs.first().map_or(base_ns, |pair| pair.host_ns);
            out.message(plane::LINES, |out| {
                out.varint(line::ID, index).string(line::NAME, schema::SNAPSHOT_LINE);
                out.varint(line::TIMESTAMP_NS, origin_ns.saturating_sub(base_ns) as u64);
                for pair in &clock.pairs {
                    out.message(line::EVENTS, |out| {
                        let offset_ps = pair.host_ns.saturating_sub(origin_ns).saturating_mul(PS_PER_NS);
                        out.varint(event::METADATA_ID, EVENT_ID as u64).varint(event::OFFSET_PS, offset_ps as u64);
                        stats.stat(out, event::STATS, tracer_ns, ArgValue::I64(pair.tracer_ns));
                        if pair.half_width_ns != HALF_WIDTH_UNSAID_NS {
                            stats.stat(out, event::STATS, half_width_ns, ArgValue::U64(pair.half_width_ns));
                        }
                    });
                }
                out.string(line::DISPLAY_NAME, &clock.name);
            });
        }
        sort_entry(out, EVENT_ID, schema::SNAPSHOT_EVENT, |_| {});
        stats.encode(out, |_| None);
    });
}

/// The only entry of the plane's table of events.
const EVENT_ID: i64 = 1;

const PS_PER_NS: i64 = 1000;
