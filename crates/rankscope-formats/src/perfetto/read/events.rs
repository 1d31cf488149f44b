//! Events into the trace they belong to.

use rankscope_trace::{ArgValue, CategoryKind, CounterSample, InstantMark, InstantScope, ProblemKind, StrId, TrackId};

use super::args::{self, Lost};
use super::builder::{Incoming, has_columns};
use super::event::{Event, Sample};
use super::reader::{Place, Reader};
use super::rows::RowId;
use super::sequence;
use super::stage::{self, Stage};
use super::tracks::What;
use crate::perfetto::schema::{event as kinds, legacy};
use crate::{ArgsPolicy, Scope};

/// torch's newer profiler gives these no category, unlike all others it writes.
const SYNCHRONISATIONS: [&str; 4] = ["Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"];

impl Reader<'_> {
    pub(super) fn track_event(&mut self, event: &Event<'_>, place: Place) {
        let sequence = &self.sequences[place.sequence];
        let row = match (event.track.or(sequence.track), sequence.thread, event.legacy.pid, event.legacy.tid) {
            (_, _, Some(pid), Some(tid)) => RowId::Thread { pid, tid },
            (Some(uuid), ..) => RowId::Track(uuid),
            (None, Some((pid, tid)), ..) => RowId::Thread { pid, tid },
            (None, None, ..) => RowId::Track(0),
        };
        match (event.kind, event.legacy.phase) {
            (kinds::SLICE_BEGIN, _) | (0, b'B') => self.begin(event, place, row, None),
            (kinds::SLICE_END, _) | (0, b'E') => self.end(event, place, row),
            (kinds::INSTANT, _) | (0, b'i' | b'I' | b'R') => self.instant(event, place, row),
            (0, b'X') => self.begin(event, place, row, Some(event.legacy.duration_us)),
            (kinds::COUNTER, _) => match event.value {
                Some(sample) => self.sample(row, sample, place),
                None => self.problems.add(ProblemKind::MalformedEvent, place.offset),
            },
            _ => self.problems.add(ProblemKind::Unsupported, place.offset),
        }
        if event.has_extra {
            self.extra_samples(event, place);
        }
    }

    /// A begin, or a whole span of `duration_us`.
    fn begin(&mut self, event: &Event<'_>, place: Place, row: RowId, duration_us: Option<i64>) {
        let (name, mut category) = self.texts(event, place);
        let (number, ours) = self.row(row, place.builder);
        let builder = &mut self.builders[place.builder];
        if category.is_empty() && !ours && SYNCHRONISATIONS.contains(&builder.trace.strings.text(name)) {
            category = builder.trace.strings.intern("cuda_sync");
        }
        let of = builder.category(category, &self.tracks.kinds);
        let wanted = self.options.args == ArgsPolicy::All || has_columns(of.1, builder.trace.strings.text(name));
        if wanted {
            self.arguments(event, place, ours);
        }
        let dur_ns = duration_us.unwrap_or(0).saturating_mul(1_000);
        if dur_ns < 0 {
            self.problems.add(ProblemKind::NegativeDuration, place.offset);
        }
        let Place { time_ns, offset, .. } = place;
        let span = Incoming { row: number, time_ns, dur_ns: dur_ns.max(0), name, offset };
        let builder = &mut self.builders[place.builder];
        let id = builder.span(span, of, self.options);
        builder.args.clear();
        self.passed_over += u64::from(id.is_none());
        if let Some(id) = id {
            event.flows().for_each(|(flow, ends)| builder.touch(flow, number, time_ns, ends, ours));
            event.submissions().for_each(|stage| builder.submits(stage, id));
        }
        if duration_us.is_none() {
            self.rows.at(number).begin(time_ns, id);
        }
    }

    /// An end, which may be where an arrow arrives.
    fn end(&mut self, event: &Event<'_>, place: Place, row: RowId) {
        let (number, ours) = self.row(row, place.builder);
        let builder = &mut self.builders[place.builder];
        event.flows().for_each(|(flow, ends)| builder.touch(flow, number, place.time_ns, ends, ours));
        let spans = &mut builder.trace.spans;
        if !self.rows.at(number).end(place.time_ns, spans) {
            self.problems.add_detailed(ProblemKind::UnbalancedSpan, place.offset, 1, "an end without a begin".to_owned());
        }
    }

    fn instant(&mut self, event: &Event<'_>, place: Place, row: RowId) {
        if self.options.scope == Scope::Device {
            self.passed_over += 1;
            return;
        }
        let (name, category) = self.texts(event, place);
        let (number, ours) = self.row(row, place.builder);
        if self.options.args == ArgsPolicy::All {
            self.arguments(event, place, ours);
        }
        let builder = &mut self.builders[place.builder];
        let (category, _) = builder.category(category, &self.tracks.kinds);
        let scope = match event.legacy.scope {
            legacy::SCOPE_GLOBAL => InstantScope::Global,
            legacy::SCOPE_PROCESS => InstantScope::Process,
            _ => InstantScope::Thread,
        };
        event.flows().for_each(|(flow, ends)| builder.touch(flow, number, place.time_ns, ends, ours));
        let mark = InstantMark { time_ns: place.time_ns, name, track: TrackId(number), category, scope };
        builder.trace.instants.push(mark);
        if self.options.args == ArgsPolicy::All {
            let column = &mut builder.trace.instant_args;
            builder.args.drain(..).for_each(|(key, value)| column.push(key, value));
            column.end_row();
        }
    }

    fn sample(&mut self, row: RowId, sample: Sample, place: Place) {
        if self.options.scope == Scope::Device {
            self.passed_over += 1;
            return;
        }
        // A recorder draws what follows from events of a sequence in that sequence.
        if matches!(row, RowId::Track(uuid) if self.tracks.is_derived(uuid)) {
            return;
        }
        let described = if let RowId::Track(uuid) = row { self.tracks.get(uuid) } else { None };
        let (incremental, multiplier) = match described.map(|described| described.what) {
            Some(What::Counter { incremental, multiplier }) => (incremental, multiplier),
            _ => (false, 1.0),
        };
        let mut value = match sample {
            Sample::Int(value) => value as f64 * multiplier,
            Sample::Double(value) => value * multiplier,
        };
        let ours = described.is_some_and(|described| described.note.is_some());
        let (number, row) = self.rows.row(place.builder, row, || ours);
        if incremental {
            row.total += value;
            value = row.total;
        }
        let (name, series, track) = (StrId::EMPTY, StrId::EMPTY, TrackId(number));
        let sample = CounterSample { time_ns: place.time_ns, name, series, track, value };
        self.builders[place.builder].trace.counters.push(sample);
    }

    fn extra_samples(&mut self, event: &Event<'_>, place: Place) {
        for doubles in [false, true] {
            let mut tracks: Vec<u64> = event.extra_tracks(doubles).collect();
            if tracks.is_empty() {
                let sequence = &self.sequences[place.sequence];
                tracks.clone_from(if doubles { &sequence.extra_double_tracks } else { &sequence.extra_tracks });
            }
            for (uuid, sample) in tracks.into_iter().zip(event.extra(doubles)) {
                self.sample(RowId::Track(uuid), sample, place);
            }
        }
    }

    pub(super) fn stage(&mut self, message: &[u8], place: Place) {
        let Ok(stage) = Stage::parse(message) else {
            self.problems.add(ProblemKind::MalformedEvent, place.offset);
            return;
        };
        if let Some(names) = stage.specifications {
            self.old_names.learn(names);
        }
        if !stage.is_work() {
            return;
        }
        let sequence = &self.sequences[place.sequence];
        let builder = &mut self.builders[place.builder];
        let strings = &mut builder.trace.strings;
        let queue = stage.queue(sequence, &self.old_names, strings);
        let sort = stage.stage(sequence, &self.old_names, strings);
        if queue.is_none() || sort.is_none() {
            self.problems.add(ProblemKind::MissingInterned, place.offset);
        }
        let (queue, sort) = (queue.unwrap_or_default(), sort.unwrap_or_default());
        let name = stage.name(sequence, strings).unwrap_or(sort);
        let text = stage::category_of(strings.text(sort)).to_owned();
        let category = strings.intern(&text);
        stage.args(sequence, strings, &mut builder.args);
        let of = match builder.category(category, &self.tracks.kinds) {
            // Render stages are work of a device, whatever the driver calls them.
            (_, CategoryKind::Other) => (builder.trace.category(&text, CategoryKind::Kernel), CategoryKind::Kernel),
            known => known,
        };
        let (row, _) = self.rows.row(place.builder, RowId::Queue { gpu: stage.gpu, queue }, || false);
        let dur_ns = i64::try_from(stage.duration).unwrap_or(i64::MAX);
        let Place { time_ns, offset, .. } = place;
        let id = builder.span(Incoming { row, time_ns, dur_ns, name, offset }, of, self.options);
        builder.args.clear();
        self.passed_over += u64::from(id.is_none());
        if let Some(id) = id {
            builder.stage(stage.event_id, id);
            stage.waits().for_each(|event| builder.waits(event, id));
        }
    }

    pub(super) fn gpu_counters(&mut self, message: &[u8], place: Place) {
        let sequence = &mut self.sequences[place.sequence];
        let strings = &mut self.builders[place.builder].trace.strings;
        let Some((gpu, values)) = stage::counters(message, sequence, strings) else {
            self.problems.add(ProblemKind::MalformedEvent, place.offset);
            return;
        };
        for (name, value) in values {
            self.sample(RowId::GpuCounter { gpu, name }, Sample::Double(value), place);
        }
    }

    /// Name and category of an event.
    fn texts(&mut self, event: &Event<'_>, place: Place) -> (StrId, StrId) {
        let sequence = &self.sequences[place.sequence];
        let strings = &mut self.builders[place.builder].trace.strings;
        let mut missing = false;
        let mut text = |plain: Option<&[u8]>, table: &sequence::Table, iid: u64| match plain {
            Some(text) => strings.intern(&String::from_utf8_lossy(text)),
            None if iid == 0 => StrId::EMPTY,
            None => table.get(iid).unwrap_or_else(|| {
                missing = true;
                StrId::EMPTY
            }),
        };
        let iid = if event.name_iid == 0 { event.legacy.name_iid } else { event.name_iid };
        let name = text(event.name, &sequence.names, iid);
        let category = text(event.category, &sequence.categories, event.category_iid);
        if missing {
            self.problems.add(ProblemKind::MissingInterned, place.offset);
        }
        (name, category)
    }

    /// Decodes an event's arguments into its builder.
    fn arguments(&mut self, event: &Event<'_>, place: Place, ours: bool) {
        let sequence = &self.sequences[place.sequence];
        let builder = &mut self.builders[place.builder];
        for message in event.annotations() {
            let read: Result<(StrId, ArgValue), Lost> = args::argument(message, sequence, &mut builder.trace.strings, ours);
            match read {
                Ok(argument) => builder.args.push(argument),
                Err(Lost::Missing) => self.problems.add(ProblemKind::MissingInterned, place.offset),
                Err(Lost::Malformed) => self.problems.add(ProblemKind::MalformedEvent, place.offset),
            }
        }
    }

    /// The number of a row, and whether we wrote it.
    fn row(&mut self, row: RowId, builder: usize) -> (u32, bool) {
        let tracks = &self.tracks;
        let (number, row) = self.rows.row(builder, row, || match row {
            RowId::Track(uuid) => tracks.get(uuid).is_some_and(|described| described.note.is_some()),
            _ => false,
        });
        (number, row.ours)
    }
}
