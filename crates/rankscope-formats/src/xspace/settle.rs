//! A plane's raw columns become tracks, spans and what analysis asks for, once the plane's tables are known.

use rankscope_time::Rank;
use rankscope_trace::{
    ArgValue, CategoryKind, CollectiveArgs, CounterSample, Description, DeviceInfo, InstantMark, InstantScope, ProblemKind,
    Problems, SpanId, SpanRow, StepMark, StrId, Strings, Trace, Track, TrackId, TrackKey, TrackKind,
};

use super::classify::{LineKind, NameKind, PlaneKind, Role, category_name};
use super::flow::Ends;
use super::hlo;
use super::plane::{RawEvent, RawLine, RawPlane, RawStat, When};
use super::schema;
use super::verdict::{Judge, Sort, Tables, Verdict, named_collective, number};
use crate::Scope;

/// What planes said about the file as a whole.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) rank: Option<Rank>,
    pub(super) world_size: Option<u32>,
    /// What the launcher said of the process, which JAX need not know.
    pub(super) launched: Option<Rank>,
    pub(super) launched_size: Option<u32>,
    pub(super) profile_start_ns: Option<i64>,
    /// Events that were not asked for.
    pub(super) passed_over: u64,
    pub(super) flows: Ends,
    /// Arguments of tracks, in the order of the tracks.
    pub(super) track_args: Vec<(TrackId, StrId, ArgValue)>,
    categories: [Option<u16>; CATEGORY_KINDS],
}

const CATEGORY_KINDS: usize = CategoryKind::Other as usize + 1;

impl Findings {
    /// Which process this was, of how many. Without `jax.distributed` every process is the only one to JAX, and its launcher knows better.
    pub(super) fn process(&self) -> (Option<Rank>, Option<u32>) {
        match (self.rank, self.world_size, self.launched) {
            (Some(rank), Some(2..), _) | (Some(rank), _, None) => (Some(rank), self.world_size),
            (_, _, Some(launched)) => (Some(launched), self.launched_size),
            (None, _, None) => (None, self.world_size),
        }
    }
}

/// A plane on its way into the trace.
pub(super) struct Settling<'a> {
    pub(super) trace: &'a mut Trace,
    pub(super) problems: &'a mut Problems,
    pub(super) findings: &'a mut Findings,
    /// Values of statistics, where the trace does not keep them.
    pub(super) scratch: &'a Strings,
    pub(super) keep_all: bool,
    pub(super) scope: Scope,
}

impl Settling<'_> {
    pub(super) fn settle(mut self, mut raw: RawPlane) {
        let roles = raw.stat_names.iter().map(|stat| Role::of(self.trace.strings.text(stat.name))).collect();
        let kind = PlaneKind::of(self.trace.strings.text(raw.name));
        let plane = self.add_plane(&raw, kind);
        let mut tables = Tables {
            kind,
            roles,
            stat_names: std::mem::take(&mut raw.stat_names),
            sorts: Vec::new(),
            descriptions: self.trace.descriptions.len() as u32,
        };
        self.note_plane_stats(plane, &raw.stats, &tables);
        self.add_descriptions(plane, &raw, &tables);
        self.note_stat_descriptions(&tables);
        tables.sorts = self.sorts(&mut raw, &tables.roles);
        let (mut event, mut stat) = (0, 0);
        for line in &raw.lines {
            if line.id == schema::COUNTER_LINE_ID && self.trace.strings.text(line.name).ends_with(schema::COUNTER_LINE) {
                for event in &raw.events[event..line.events_end] {
                    self.add_samples(plane, line, event, &raw.event_stats[stat..event.stats_end], &tables);
                    stat = event.stats_end;
                }
                event = line.events_end;
                continue;
            }
            let track = self.add_line(plane, line, kind);
            let line_kind = LineKind::of(kind, self.trace.strings.text(line.name));
            for event in &raw.events[event..line.events_end] {
                self.add_event(track, line, line_kind, event, &raw.event_stats[stat..event.stats_end], &tables);
                stat = event.stats_end;
            }
            event = line.events_end;
        }
    }

    fn add_plane(&mut self, raw: &RawPlane, kind: PlaneKind) -> TrackId {
        let key = kind.device().unwrap_or(raw.id);
        self.trace.tracks.add(Track {
            kind: if kind == PlaneKind::Host { TrackKind::Process } else { TrackKind::Device },
            parent: None,
            key: TrackKey::Number(key),
            name: raw.name,
            label: StrId::EMPTY,
            sort_index: Some(raw.id).filter(|id| *id != key),
            origin_ns: 0,
        })
    }

    fn add_line(&mut self, plane: TrackId, line: &RawLine, kind: PlaneKind) -> TrackId {
        let track = self.trace.tracks.add(Track {
            kind: if kind == PlaneKind::Host { TrackKind::Thread } else { TrackKind::Stream },
            parent: Some(plane),
            key: TrackKey::Number(line.id),
            name: line.name,
            label: line.label,
            sort_index: Some(line.display_id).filter(|id| *id != 0),
            origin_ns: line.timestamp_ns,
        });
        if self.keep_all && line.duration_ps != 0 {
            let key = self.trace.strings.intern(schema::LINE_DURATION);
            self.findings.track_args.push((track, key, ArgValue::I64(line.duration_ps)));
        }
        track
    }

    fn note_plane_stats(&mut self, plane: TrackId, stats: &[RawStat], tables: &Tables) {
        let (mut device_type, mut vendor) = (None, None);
        for stat in stats {
            let key = tables.stat_names[stat.key as usize].name;
            let value = tables.value(stat.value);
            let number = number(value);
            match self.trace.strings.text(key) {
                schema::PROFILE_START => self.findings.profile_start_ns = number,
                schema::PROCESS_INDEX => self.findings.rank = number.and_then(|rank| u32::try_from(rank).ok()).map(Rank),
                schema::PROCESS_COUNT => self.findings.world_size = number.and_then(|count| u32::try_from(count).ok()),
                schema::DEVICE_TYPE => device_type = self.judge(tables).text(stat.value).map(str::to_owned),
                "device_vendor" => vendor = self.judge(tables).text(stat.value).map(str::to_owned),
                _ => {}
            }
            if self.keep_all {
                self.findings.track_args.push((plane, key, value));
            }
        }
        if let (Some(index), Some(name)) = (tables.kind.device(), device_type.or(vendor)) {
            self.trace.provenance.devices.push(DeviceInfo { index, name });
        }
    }

    fn add_descriptions(&mut self, owner: TrackId, raw: &RawPlane, tables: &Tables) {
        if !self.keep_all {
            return;
        }
        for sort in &raw.sorts {
            let children = sort.children.clone().into_boxed_slice();
            let (id, name, label, blob) = (sort.id, sort.name, sort.label, sort.blob);
            self.trace.descriptions.push(Description { owner, id, name, label, blob, children });
            for stat in &sort.stats {
                self.trace.description_args.push(tables.stat_names[stat.key as usize].name, tables.value(stat.value));
            }
            self.trace.description_args.end_row();
        }
    }

    fn note_stat_descriptions(&mut self, tables: &Tables) {
        for stat in tables.stat_names.iter().filter(|stat| !stat.description.is_empty()) {
            let header = format!("{}{}", schema::STAT_DESCRIPTION, self.trace.strings.text(stat.name));
            let text = serde_json::Value::from(self.trace.strings.text(stat.description)).to_string();
            if self.keep_all && !self.trace.provenance.header.iter().any(|(key, _)| *key == header) {
                self.trace.provenance.header.push((header, text));
            }
        }
    }

    fn sorts(&self, raw: &mut RawPlane, roles: &[Role]) -> Vec<Sort> {
        let sorts = raw.sorts.iter_mut().map(|sort| {
            let mut stats = std::mem::take(&mut sort.stats);
            stats.retain(|stat| roles[stat.key as usize] != Role::None);
            let (name, label) = (self.trace.strings.text(sort.name), self.trace.strings.text(sort.label));
            let is_collective = named_collective(name, label).is_some();
            Sort { known: sort.known, name: sort.name, label: sort.label, kind: NameKind::of(name), is_collective, stats }
        });
        sorts.collect()
    }

    fn add_event(
        &mut self,
        track: TrackId,
        line: &RawLine,
        line_kind: LineKind,
        event: &RawEvent,
        stats: &[RawStat],
        tables: &Tables,
    ) {
        let sort = &tables.sorts[event.sort as usize];
        let verdict = self.judge(tables).verdict(line_kind, sort, stats);
        if self.scope == Scope::Device && line_kind == LineKind::Thread && !verdict.matters_to_device() {
            self.findings.passed_over += 1;
            return;
        }
        if !sort.known {
            self.problems.add(ProblemKind::MissingInterned, event.at);
        }
        let (start_ns, start_ps) = self.start(line, event);
        if let Some(scope) = verdict.instant {
            return self.add_instant((start_ns, track, scope), sort.name, verdict.category, stats, tables);
        }
        let duration_ps = self.duration(event);
        let category = match (event.when, verdict.category) {
            (When::Occurrences(_), _) => self.trace.category(schema::AGGREGATE, CategoryKind::Other),
            (_, Some(name)) => self.named_category(name, verdict.kind, tables),
            (_, None) => self.category(verdict.kind),
        };
        let dur_ns = duration_ps / PS_PER_NS;
        let row = SpanRow { start_ns, dur_ns, name: sort.name, track, category, offset: event.at };
        let span = self.trace.spans.push(row);
        self.trace.spans.picos.push((start_ps, (duration_ps % PS_PER_NS) as u16));
        if self.keep_all {
            self.keep_args(event, stats, tables);
        }
        if verdict.has_parameters {
            self.note_parameters(span, stats, tables);
        }
        if verdict.has_flows {
            let end = |stat: &RawStat| match tables.roles[stat.key as usize] {
                Role::Flow(end) => Some((end, bits(stat.value)?)),
                _ => None,
            };
            self.findings.flows.tell(span, stats.iter().filter_map(end));
        }
        self.note(span, verdict);
    }

    /// An instant of ours: XLA has events without length only.
    fn add_instant(
        &mut self,
        (time_ns, track, scope): (i64, TrackId, InstantScope),
        name: StrId,
        category: Option<ArgValue>,
        stats: &[RawStat],
        tables: &Tables,
    ) {
        if self.scope == Scope::Device {
            self.findings.passed_over += 1;
            return;
        }
        let category = match category {
            Some(named) => self.named_category(named, CategoryKind::Other, tables),
            None => self.category(CategoryKind::Other),
        };
        self.trace.instants.push(InstantMark { time_ns, name, track, category, scope });
        if !self.keep_all {
            return;
        }
        for stat in stats.iter().filter(|stat| !matches!(tables.roles[stat.key as usize], Role::Instant | Role::Category)) {
            self.trace.instant_args.push(tables.stat_names[stat.key as usize].name, tables.value(stat.value));
        }
        self.trace.instant_args.end_row();
    }

    /// Counter samples of ours: the statistics of an event are its series.
    fn add_samples(&mut self, plane: TrackId, line: &RawLine, event: &RawEvent, stats: &[RawStat], tables: &Tables) {
        if self.scope == Scope::Device {
            self.findings.passed_over += 1;
            return;
        }
        let (time_ns, _) = self.start(line, event);
        let name = tables.sorts[event.sort as usize].name;
        for stat in stats {
            let ArgValue::F64(value) = stat.value else { continue };
            let series = tables.stat_names[stat.key as usize].name;
            self.trace.counters.push(CounterSample { time_ns, name, series, track: plane, value });
        }
    }

    fn note_parameters(&mut self, span: SpanId, stats: &[RawStat], tables: &Tables) {
        let mut args = CollectiveArgs::of(span);
        for stat in stats {
            if let Role::Collective(parameter) = tables.roles[stat.key as usize] {
                let text = self.judge(tables).text(stat.value).unwrap_or_default().to_owned();
                let text = self.trace.strings.intern(&text);
                let number = number(stat.value).and_then(|number| u64::try_from(number).ok());
                parameter.put(&mut args, number, text);
            }
        }
        self.trace.collectives.push(args);
    }

    fn start(&mut self, line: &RawLine, event: &RawEvent) -> (i64, u16) {
        let When::Offset(offset_ps) = event.when else { return (line.timestamp_ns, 0) };
        let offset_ns = offset_ps.div_euclid(PS_PER_NS);
        let start_ns = line.timestamp_ns.checked_add(offset_ns).unwrap_or_else(|| {
            self.problems.add(ProblemKind::BadNumber, event.at);
            line.timestamp_ns.saturating_add(offset_ns)
        });
        (start_ns, offset_ps.rem_euclid(PS_PER_NS) as u16)
    }

    fn duration(&mut self, event: &RawEvent) -> i64 {
        let problem = match event.duration_ps {
            ..0 => ProblemKind::NegativeDuration,
            LONGEST_PS.. => ProblemKind::OverflowedDuration,
            measured => return measured,
        };
        self.problems.add(problem, event.at);
        0
    }

    fn category(&mut self, kind: CategoryKind) -> u16 {
        let known = self.findings.categories[kind as usize];
        known.unwrap_or_else(|| {
            let category = self.trace.category(category_name(kind), kind);
            self.findings.categories[kind as usize] = Some(category);
            category
        })
    }

    fn named_category(&mut self, name: ArgValue, kind: CategoryKind, tables: &Tables) -> u16 {
        let known = match name {
            ArgValue::Ref(to) => Some(tables.stat_names[to.0 as usize].name),
            ArgValue::Text(id) if self.keep_all => Some(id),
            _ => None,
        };
        let known = self.trace.categories.iter().position(|category| Some(category.name) == known && category.kind == kind);
        known.map(|at| at as u16).unwrap_or_else(|| {
            let name = self.judge(tables).text(name).unwrap_or_default().to_owned();
            self.trace.category(&name, kind)
        })
    }

    fn keep_args(&mut self, event: &RawEvent, stats: &[RawStat], tables: &Tables) {
        self.trace.spans.description.push(tables.descriptions + event.sort);
        if let When::Occurrences(times) = event.when {
            let key = self.trace.strings.intern(schema::OCCURRENCES);
            self.trace.spans.args.push(key, ArgValue::I64(times));
        }
        for stat in stats {
            let name = tables.stat_names[stat.key as usize];
            let refers_to_nothing = |value| matches!(value, ArgValue::Ref(to) if !tables.stat_names[to.0 as usize].known);
            if !name.known || refers_to_nothing(stat.value) {
                self.problems.add(ProblemKind::MissingInterned, event.at);
            }
            self.trace.spans.args.push(name.name, tables.value(stat.value));
        }
        self.trace.spans.args.end_row();
    }

    fn note(&mut self, span: SpanId, verdict: Verdict) {
        if let Some(id) = verdict.correlation {
            self.trace.correlations.push(span, id);
            // Traces of other formats have flows of their own.
            if verdict.category.is_none() {
                self.findings.flows.correlate(span, verdict.kind, id);
            }
        }
        if let Some(id) = verdict.external_id {
            self.trace.external_ids.push(span, id);
        }
        if let Some(bytes) = verdict.bytes {
            self.trace.bytes.push(span, bytes);
        }
        if let Some(direction) = verdict.direction {
            self.trace.directions.push(span, direction);
        }
        if !verdict.awaited.is_empty() {
            self.trace.awaited.push(span, verdict.awaited);
        }
        if let Some(number) = verdict.step {
            self.trace.steps.push(StepMark { number, span });
        }
        if let Some(collective) = verdict.collective {
            let mut args = CollectiveArgs::of(span);
            args.name = self.trace.strings.intern(&collective.name);
            if let Some((dtype, elements)) = collective.shape {
                args.dtype = self.trace.strings.intern(&dtype);
                args.out_elements = Some(elements);
            }
            // Replica groups list device ids of the program, not ranks of the job, so they stay out of `group_ranks`.
            if let Some(groups) = collective.groups {
                args.group_size = hlo::group_size(&groups);
                args.group_description = self.trace.strings.intern(&groups);
            }
            self.trace.collectives.push(args);
        }
    }

    fn judge<'s>(&'s self, tables: &'s Tables) -> Judge<'s> {
        let names = &self.trace.strings;
        Judge { tables, names, values: if self.keep_all { names } else { self.scratch } }
    }
}

/// An id, whatever its sign.
fn bits(value: ArgValue) -> Option<u64> {
    match value {
        ArgValue::I64(number) => Some(number as u64),
        ArgValue::U64(number) => Some(number),
        _ => None,
    }
}

const PS_PER_NS: i64 = 1000;

/// Fifty-three days: longer than any profile, shorter than a difference that wrapped.
const LONGEST_PS: i64 = 1 << 62;
