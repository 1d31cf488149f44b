//! The plane `/rankscope:clock`: the host's raw clock beside the trace's own, out of a file and back into one.
//!
//! A line `Clock Anchors`, an event `Anchor` a reading, with what the raw clock showed as the statistic `raw_ns`, how wide the reading
//! was as `width_ns`, and the wall clock as `wall_ns`. Where an event lies is the trace's own time, whatever the file counts from. The
//! plane's own statistics say which rank of which run the process was: JAX knows that only where it started its processes itself.

use std::mem;

use rankscope_time::Rank;
use rankscope_trace::{ArgValue, ClockReading, HostClock, ProblemKind, Problems, Provenance, Strings, Trace};

use super::plane::{RawPlane, RawStat, When};
use super::schema::{self, event, line, plane, space};
use super::settle::Findings;
use super::snapshots::named;
use super::stats::{StatTable, sort_entry};
use crate::wire::Encoder;

/// Files the readings of the plane `raw`, and which process it is of; events that are no reading are among the problems.
pub(super) fn file(raw: &RawPlane, names: &Strings, to: &mut Provenance, findings: &mut Findings, problems: &mut Problems) {
    let own = |name| named(&raw.stats, name, raw, names).and_then(|number| u32::try_from(number).ok());
    findings.launched = own(schema::LAUNCHED_RANK).map(Rank);
    findings.launched_size = own(schema::LAUNCHED_SIZE);
    let (mut event, mut stat) = (0, 0);
    for line in &raw.lines {
        for event in &raw.events[mem::replace(&mut event, line.events_end)..line.events_end] {
            let stats = &raw.event_stats[mem::replace(&mut stat, event.stats_end)..event.stats_end];
            let of = |name| named(stats, name, raw, names);
            let (When::Offset(offset_ps), Some(raw_ns), Some(width_ns)) =
                (event.when, of(schema::RAW_NS), of(schema::WIDTH_NS).and_then(|ns| u64::try_from(ns).ok()))
            else {
                problems.add(ProblemKind::MalformedEvent, event.at);
                continue;
            };
            let trace_ns = line.timestamp_ns.saturating_add(offset_ps.div_euclid(PS_PER_NS));
            to.clock_readings.push(ClockReading { clock: HostClock::MonotonicRaw, trace_ns, ns: raw_ns, width_ns });
            if let Some(wall_ns) = of(schema::WALL_NS) {
                to.clock_readings.push(ClockReading { clock: HostClock::Realtime, trace_ns, ns: wall_ns, width_ns: 0 });
            }
        }
    }
}

/// Statistics of the plane that say which run a process is of; kept in the header under these names.
pub(super) const IDENTITIES: [&str; 2] = ["run_id", "boot_id"];

/// Files them.
pub(super) fn file_identities(raw: &RawPlane, names: &Strings, values: &Strings, to: &mut Provenance) {
    for RawStat { key, value } in &raw.stats {
        let name = names.text(raw.stat_names[*key as usize].name);
        if let (ArgValue::Text(text), true) = (*value, IDENTITIES.contains(&name)) {
            to.header.push((name.to_owned(), serde_json::Value::from(values.text(text)).to_string()));
        }
    }
}

/// Puts the readings of a trace that is otherwise complete on the trace's own base. The wall clock is left out where the trace is on
/// it, as there is nothing to learn.
pub(super) fn settle(trace: &mut Trace) {
    let about = &mut trace.provenance;
    let base_ns = about.clock_base_ns.unwrap_or(0);
    // As with lines: a stamp that lies behind the start was not subtracted from.
    if about.clock_readings.iter().all(|reading| reading.trace_ns < base_ns) {
        about.clock_readings.iter_mut().for_each(|reading| reading.trace_ns = reading.trace_ns.saturating_add(base_ns));
    }
    about.clock_readings.retain(|reading| reading.clock != HostClock::Realtime || reading.ns != reading.trace_ns);
}

/// The plane, where `trace` came with one; its stamps count from `base_ns`.
pub(super) fn encode(trace: &Trace, base_ns: i64, out: &mut Encoder) {
    let about = &trace.provenance;
    let of = |clock: HostClock| about.clock_readings.iter().filter(move |reading| reading.clock == clock);
    let Some(first) = of(HostClock::MonotonicRaw).next().filter(|_| about.format == rankscope_trace::SourceFormat::XSpace)
    else {
        return;
    };
    let mut stats = StatTable::new(trace);
    let [raw, width, wall] = [schema::RAW_NS, schema::WIDTH_NS, schema::WALL_NS].map(|key| stats.key(key));
    out.message(space::PLANES, |out| {
        out.string(plane::NAME, schema::CLOCK_PLANE);
        out.message(plane::LINES, |out| {
            out.varint(line::ID, 1).string(line::NAME, schema::CLOCK_LINE);
            out.varint(line::TIMESTAMP_NS, first.trace_ns.saturating_sub(base_ns) as u64);
            for reading in of(HostClock::MonotonicRaw) {
                let offset_ps = reading.trace_ns.checked_sub(first.trace_ns).and_then(|ns| ns.checked_mul(PS_PER_NS));
                let Some(offset_ps) = offset_ps else { continue };
                out.message(line::EVENTS, |out| {
                    out.varint(event::METADATA_ID, EVENT_ID as u64).varint(event::OFFSET_PS, offset_ps as u64);
                    stats.stat(out, event::STATS, raw, ArgValue::I64(reading.ns));
                    stats.stat(out, event::STATS, width, ArgValue::U64(reading.width_ns));
                    if let Some(beside) = of(HostClock::Realtime).find(|other| other.trace_ns == reading.trace_ns) {
                        stats.stat(out, event::STATS, wall, ArgValue::I64(beside.ns));
                    }
                });
            }
        });
        encode_process(about, &mut stats, out);
        sort_entry(out, EVENT_ID, schema::CLOCK_EVENT, |_| {});
        stats.encode(out, |_| None);
    });
}

fn encode_process(about: &Provenance, stats: &mut StatTable<'_>, out: &mut Encoder) {
    for (key, value) in [(schema::LAUNCHED_RANK, about.rank.map(|(rank, _)| rank.0)), (schema::LAUNCHED_SIZE, about.world_size)]
    {
        if let Some(value) = value {
            let key = stats.key(key);
            stats.stat(out, plane::STATS, key, ArgValue::U64(value.into()));
        }
    }
    for key in IDENTITIES {
        let told = about.header.iter().find(|(known, _)| known == key);
        if let Some(text) = told.and_then(|(_, json)| serde_json::from_str::<String>(json).ok()) {
            let key = stats.key(key);
            stats.text_stat(out, plane::STATS, key, &text);
        }
    }
}

/// The only entry of the plane's table of events.
const EVENT_ID: i64 = 1;

const PS_PER_NS: i64 = 1000;
