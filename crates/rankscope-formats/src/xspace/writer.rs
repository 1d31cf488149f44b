//! From a trace to an `XSpace`, one plane in memory at a time.
//!
//! A trace read with all its arguments gives back what was read. Any other gives what its columns hold: correlation, step,
//! category and bytes as statistics under XLA's names where it has one, instants as events without length, counters on the line
//! `_counters_`, flows as the statistic `flow`.

use std::io::Write;

use rankscope_trace::{ArgValue, CategoryKind, SpanId, StepMark, StrId, Trace, TrackKey, TrackKind};
use rustc_hash::FxHashMap;

use super::collective::Parameter;
use super::flow::{self, FlowEnds};
use super::host_clocks;
use super::layout::{Item, Layout, Line, Plane, times};
use super::schema::{self, event, line, plane, space};
use super::snapshots;
use super::stats::{SortTable, StatTable};
use crate::Error;
use crate::wire::Encoder;

/// Writes `trace` as an `XSpace`.
///
/// # Errors
/// [`Error::Io`] where `output` fails.
pub fn write(trace: &Trace, output: &mut impl Write) -> Result<(), Error> {
    let layout = Layout::of(trace);
    planes(trace, &layout, 0, output)?;
    let mut out = Encoder::default();
    snapshots::encode(trace, layout.base_ns, &mut out);
    host_clocks::encode(trace, layout.base_ns, &mut out);
    if !layout.complete {
        environment(trace, &layout, &mut out);
    }
    for (field, text) in notices(trace) {
        out.string(field, &text);
    }
    output.write_all(out.bytes())?;
    Ok(())
}

/// Writes the planes of `trace`; its flows are numbered behind the `flow_base` of others. Returns how many it has.
pub(super) fn planes(trace: &Trace, layout: &Layout, flow_base: u64, output: &mut impl Write) -> Result<u64, Error> {
    let flows = FlowEnds::of(trace, layout, flow_base);
    let steps = trace.steps.iter().map(|StepMark { number, span }| (*span, *number)).collect();
    let mut out = Encoder::default();
    for plane in &layout.planes {
        let mut writer = PlaneWriter {
            trace,
            layout,
            flows: &flows,
            steps: &steps,
            stats: StatTable::new(trace),
            sorts: SortTable::new(trace, plane.track),
            derived: Vec::new(),
        };
        out.message(space::PLANES, |out| writer.plane(out, plane));
        output.write_all(out.bytes())?;
        out.clear();
    }
    Ok(flows.count())
}

struct PlaneWriter<'t> {
    trace: &'t Trace,
    layout: &'t Layout,
    flows: &'t FlowEnds,
    steps: &'t FxHashMap<SpanId, i64>,
    stats: StatTable<'t>,
    sorts: SortTable<'t>,
    /// Keys the event under construction has got from columns; an argument of that name would repeat them.
    derived: Vec<StrId>,
}

impl PlaneWriter<'_> {
    fn plane(&mut self, out: &mut Encoder, plane: &Plane) {
        number(out, plane::ID, plane.id);
        out.string(plane::NAME, &plane.name);
        for line in &plane.lines {
            self.line(out, plane, line);
        }
        for (key, value) in self.trace.tracks.args.row(plane.track.0 as usize) {
            self.stats.stat(out, plane::STATS, key, value);
        }
        if !self.layout.native {
            self.plane_stats(out, plane);
        }
        self.sorts.encode(out, &mut self.stats);
        let descriptions = stat_descriptions(self.trace);
        self.stats.encode(out, |name| descriptions.get(name).map(String::as_str));
    }

    fn plane_stats(&mut self, out: &mut Encoder, plane: &Plane) {
        let track = self.trace.tracks.get(plane.track);
        let number = if let TrackKey::Number(number) = track.key { number } else { plane.id };
        if track.kind == TrackKind::Process {
            let key = self.stats.key(schema::PROCESS_ID);
            return self.stats.stat(out, plane::STATS, key, ArgValue::I64(number));
        }
        let device = self.trace.provenance.devices.iter().find(|device| device.index == number);
        if let Some(device) = device.filter(|_| track.kind == TrackKind::Device) {
            let key = self.stats.key(schema::DEVICE_TYPE);
            self.stats.text_stat(out, plane::STATS, key, &device.name);
        }
    }

    /// Offsets reach 106 days. Where an event lies farther out, the line goes on in another of the same id, as of that event.
    fn line(&mut self, out: &mut Encoder, plane: &Plane, line: &Line) {
        let (mut origin_ns, mut items) = (line.origin_ns, &line.items[..]);
        loop {
            let fitting = items.iter().take_while(|item| self.offset_ps(**item, origin_ns).is_some()).count();
            let (here, rest) = items.split_at(fitting);
            out.message(plane::LINES, |out| self.line_part(out, plane, line, origin_ns, here));
            let Some(next) = rest.first() else { break };
            (origin_ns, items) = (times(self.trace, *next).0, rest);
        }
    }

    fn line_part(&mut self, out: &mut Encoder, plane: &Plane, line: &Line, origin_ns: i64, items: &[Item]) {
        number(out, line::ID, line.id);
        out.string(line::NAME, &line.name);
        number(out, line::TIMESTAMP_NS, origin_ns.saturating_sub(self.layout.base_ns));
        for item in items {
            out.message(line::EVENTS, |out| self.event(out, plane, *item, origin_ns));
        }
        if self.layout.native {
            let duration = self.trace.strings.find(schema::LINE_DURATION);
            let duration = duration.and_then(|key| self.trace.tracks.args.value(line.track.0 as usize, key));
            if let Some(ArgValue::I64(ps)) = duration.filter(|_| line.track != plane.track) {
                number(out, line::DURATION_PS, ps);
            }
        }
        number(out, line::DISPLAY_ID, line.display_id);
        if !line.label.is_empty() {
            out.string(line::DISPLAY_NAME, &line.label);
        }
    }

    fn event(&mut self, out: &mut Encoder, plane: &Plane, item: Item, origin_ns: i64) {
        let id = self.sort_id(plane, item);
        out.varint(event::METADATA_ID, id as u64);
        match self.occurrences(item) {
            Some(times) => out.varint(event::NUM_OCCURRENCES, times as u64),
            None => out.varint(event::OFFSET_PS, self.offset_ps(item, origin_ns).unwrap_or(0) as u64),
        };
        let trace = self.trace;
        let (_, _, dur_ns, dur_ps) = times(trace, item);
        number(out, event::DURATION_PS, dur_ns.saturating_mul(PS_PER_NS).saturating_add(dur_ps.into()));
        match item {
            Item::Span(span) => {
                self.derived.clear();
                if !self.layout.complete {
                    self.derive(out, span);
                }
                self.args(out, span);
            }
            Item::Instant(index) => {
                let mark = trace.instants[index as usize];
                if let Some(category) = trace.categories.get(usize::from(mark.category)) {
                    self.derived_stat(out, schema::EVENT_CATEGORY, ArgValue::Ref(category.name));
                }
                self.derived_stat(out, schema::INSTANT_SCOPE, ArgValue::U64(flow::scope_number(mark.scope)));
                for (key, value) in trace.instant_args.row(index as usize) {
                    self.stats.stat(out, event::STATS, key, value);
                }
            }
            Item::Counter(index) => {
                let sample = trace.counters[index as usize];
                let key = if sample.series.is_empty() { self.stats.key("value") } else { sample.series };
                self.stats.stat(out, event::STATS, key, ArgValue::F64(sample.value));
            }
        }
    }

    fn sort_id(&mut self, plane: &Plane, item: Item) -> i64 {
        let name = match item {
            Item::Span(span) => {
                let described = self.trace.spans.description.get(span.0 as usize);
                if let Some(id) = described.and_then(|at| self.sorts.described(*at, plane.track)) {
                    return id;
                }
                self.trace.spans.name[span.0 as usize]
            }
            Item::Instant(index) => self.trace.instants[index as usize].name,
            Item::Counter(index) => self.trace.counters[index as usize].name,
        };
        self.sorts.named(name)
    }

    fn occurrences(&self, item: Item) -> Option<i64> {
        let Item::Span(span) = item else { return None };
        let category = self.trace.categories[usize::from(self.trace.spans.category[span.0 as usize])];
        if !self.layout.native || self.trace.strings.text(category.name) != schema::AGGREGATE {
            return None;
        }
        let key = self.trace.strings.find(schema::OCCURRENCES)?;
        match self.trace.spans.args.row(span.0 as usize).next() {
            Some((first, ArgValue::I64(times))) if first == key => Some(times),
            _ => None,
        }
    }

    fn offset_ps(&self, item: Item, origin_ns: i64) -> Option<i64> {
        let (start_ns, start_ps, ..) = times(self.trace, item);
        start_ns.checked_sub(origin_ns)?.checked_mul(PS_PER_NS)?.checked_add(start_ps.into())
    }

    /// What the trace's columns know about `span`, as statistics.
    fn derive(&mut self, out: &mut Encoder, span: SpanId) {
        let trace = self.trace;
        let category = trace.categories[usize::from(trace.spans.category[span.0 as usize])];
        self.derived_stat(out, schema::EVENT_CATEGORY, ArgValue::Ref(category.name));
        if let Some(id) = trace.correlations.get(span) {
            self.derived_stat(out, schema::CORRELATION_ID, ArgValue::U64(id));
        }
        if let Some(id) = trace.external_ids.get(span) {
            self.derived_stat(out, schema::EXTERNAL_ID, ArgValue::U64(id));
        }
        if let Some(number) = self.steps.get(&span) {
            self.derived_stat(out, schema::STEP_NUM, ArgValue::I64(*number));
        }
        if let Some(bytes) = trace.bytes.get(span) {
            let fill = category.kind == CategoryKind::Memset;
            let key = self.stats.key(if fill { schema::MEMSET_DETAILS } else { schema::MEMCPY_DETAILS });
            self.stats.text_stat(out, event::STATS, key, &format!("size:{bytes}"));
            self.derived.push(key);
        }
        if let Ok(at) = trace.collectives.binary_search_by_key(&span, |args| args.span) {
            for (key, parameter) in Parameter::ALL {
                if let Some(value) = parameter.value(&trace.collectives[at]) {
                    self.derived_stat(out, key, value);
                }
            }
        }
        for end in self.flows.on(span) {
            self.derived_stat(out, schema::FLOW, ArgValue::U64(end));
        }
    }

    fn derived_stat(&mut self, out: &mut Encoder, key: &'static str, value: ArgValue) {
        let key = self.stats.key(key);
        self.stats.stat(out, event::STATS, key, value);
        self.derived.push(key);
    }

    fn args(&mut self, out: &mut Encoder, span: SpanId) {
        let counted = usize::from(self.occurrences(Item::Span(span)).is_some());
        for (key, value) in self.trace.spans.args.row(span.0 as usize).skip(counted) {
            if !self.derived.contains(&key) {
                self.stats.stat(out, event::STATS, key, value);
            }
        }
    }
}

/// The plane that says what the stamps of all others are relative to, and which process this was.
fn environment(trace: &Trace, layout: &Layout, out: &mut Encoder) {
    let provenance = &trace.provenance;
    let mut entries = profile_times(layout.base_ns, layout.bounds_ns.1);
    entries.extend(provenance.rank.map(|(rank, _)| (schema::PROCESS_INDEX, ArgValue::U64(rank.0.into()))));
    entries.extend(provenance.world_size.map(|size| (schema::PROCESS_COUNT, ArgValue::U64(size.into()))));
    if !entries.is_empty() {
        facts(0, schema::ENVIRONMENT_PLANE, &entries, out);
    }
}

/// What stamps are relative to and when the last event was, unless stamps are absolute.
pub(super) fn profile_times(base_ns: i64, last_ns: i64) -> Vec<(&'static str, ArgValue)> {
    if base_ns <= 0 {
        return Vec::new();
    }
    let stamp = |ns: i64| ArgValue::U64(ns as u64);
    vec![(schema::PROFILE_START, stamp(base_ns)), (schema::PROFILE_STOP, stamp(last_ns.max(base_ns)))]
}

/// A plane that has no lines and says something by its statistics.
pub(super) fn facts(id: i64, name: &str, entries: &[(&'static str, ArgValue)], out: &mut Encoder) {
    let nothing = Trace::default();
    let mut stats = StatTable::new(&nothing);
    out.message(space::PLANES, |out| {
        number(out, plane::ID, id);
        out.string(plane::NAME, name);
        for (key, value) in entries {
            let key = stats.key(key);
            stats.stat(out, plane::STATS, key, *value);
        }
        stats.encode(out, |_| None);
    });
}

/// Errors, warnings and host names, as the header keeps them, with the fields they go to.
pub(super) fn notices(trace: &Trace) -> Vec<(u32, String)> {
    let header = &trace.provenance.header;
    let mut notices = Vec::new();
    for (field, name) in schema::NOTICES {
        let told = header.iter().filter(|(key, _)| key == name);
        notices.extend(told.filter_map(|(_, json)| Some((field, serde_json::from_str(json).ok()?))));
    }
    let told = header.iter().any(|(key, _)| key == schema::NOTICES[2].1);
    let host = trace.provenance.host.as_ref().filter(|_| !told);
    notices.extend(host.map(|host| (space::HOSTNAMES, host.clone())));
    notices
}

fn stat_descriptions(trace: &Trace) -> FxHashMap<&str, String> {
    let header = trace.provenance.header.iter();
    let told = header.filter_map(|(key, json)| {
        let name = key.strip_prefix(schema::STAT_DESCRIPTION)?;
        Some((name, serde_json::from_str(json).ok()?))
    });
    told.collect()
}

/// A number, unless it is zero: that is what a reader takes an absent one for.
fn number(out: &mut Encoder, field: u32, value: i64) {
    if value != 0 {
        out.varint(field, value as u64);
    }
}

const PS_PER_NS: i64 = 1000;
