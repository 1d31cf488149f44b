//! The table `events`: the spans of one rank, on the job's clock and on their own.
//!
//! Rows stand by track and then by time, so that neighbours differ little. What is not known of a span is null; instants and counters
//! are no rows.
//!
//! What a GPU did for an operation, where the bounds of its clock place that, is a row as well, which the account of time does not count:
//! the operation is there already, as the host saw it.

use std::cmp::Reverse;

use rankscope_align::{GpuEvent, RankMap};
use rankscope_analyze::{Class, Classes, Direction, StepWindow};
use rankscope_time::Instant;
use rankscope_trace::{ArgValue, SpanId, Trace, TrackId, TrackKey, TrackKind};
use serde::de::IgnoredAny;

use crate::clock::within_ns;
use crate::{Frame, GROUP_ROWS, Table, Texts, Values};

/// One rank's events, and what only a judged job knows of them.
#[derive(Clone, Copy, Debug)]
pub struct EventsOf<'a> {
    /// The rank.
    pub rank: rankscope_time::Rank,
    /// The way from its clock to the job's.
    pub map: &'a RankMap,
    /// Whether anything bounds how far that is off.
    pub is_bounded: bool,
    /// Its steps, on its own clock.
    pub steps: &'a [StepWindow],
    /// Its parts in the job's collectives, by [`Numbered::of_rank`](crate::Numbered::of_rank).
    pub collectives: &'a [(SpanId, i64)],
    /// Its trace, on its own clock.
    pub trace: &'a Trace,
    /// What its GPU did, as far as that was added to the trace.
    pub gpu: &'a [GpuEvent],
    /// What the job's work is classed by.
    pub classes: &'a Classes,
    /// Whether arguments are wanted, which the trace has to hold.
    pub arguments: bool,
}

/// The rows of a rank, in frames of [`GROUP_ROWS`].
pub fn events(of: EventsOf<'_>) -> impl Iterator<Item = Frame> {
    let rank = Rank::of(of);
    let mut order: Vec<SpanId> = of.trace.spans.ids().collect();
    let spans = &of.trace.spans;
    order.sort_by_key(|span| {
        let at = span.0 as usize;
        (spans.track[at], spans.start_ns[at], Reverse(spans.dur_ns[at]))
    });
    let groups = order.len().div_ceil(GROUP_ROWS);
    (0..groups).map(move |group| {
        let rows = &order[group * GROUP_ROWS..order.len().min((group + 1) * GROUP_ROWS)];
        rank.frame(rows)
    })
}

/// What is worked out once a rank.
struct Rank<'a> {
    of: EventsOf<'a>,
    /// By span.
    classes: Vec<Option<Class>>,
    /// By track.
    tracks: Vec<Place<'a>>,
}

/// Where a track is.
#[derive(Clone, Copy, Default)]
struct Place<'a> {
    pid: Option<i64>,
    tid: Option<i64>,
    device: Option<i64>,
    stream: Option<i64>,
    name: &'a str,
}

impl<'a> Rank<'a> {
    fn of(of: EventsOf<'a>) -> Self {
        let mut classes = vec![None; of.trace.spans.len()];
        for work in of.classes.work(of.trace).1 {
            classes[work.span.0 as usize] = Some(work.class);
        }
        // Where there are no operators whatever ran is work; these ran as their operations.
        of.gpu.iter().for_each(|event| classes[event.span.0 as usize] = None);
        let tracks = of.trace.tracks.iter().map(|(id, _)| Place::of(of.trace, id)).collect();
        Self { of, classes, tracks }
    }

    fn frame(&self, rows: &[SpanId]) -> Frame {
        let EventsOf { map, steps, trace, .. } = self.of;
        let spans = &trace.spans;
        let mut cursor = map.cursor();
        let mut mapped = |ns: i64| cursor.map(Instant::from_nanos_since_epoch(ns)).nanos_since_epoch();
        let place = |span: &SpanId| &self.tracks[spans.track[span.0 as usize].0 as usize];
        let places = |of: fn(&Place<'_>) -> Option<i64>| rows.iter().map(move |span| of(place(span)));
        let class = |span: &SpanId| self.classes[span.0 as usize];
        let rank = i64::from(self.of.rank.0);
        let category = |span: &SpanId| trace.categories[usize::from(spans.category[span.0 as usize])].name;
        let bits = |id: u64| id.cast_signed();
        Frame::of(Table::Events)
            .numbers("rank", rows.iter().map(|_| rank))
            .numbers("ts_ns", rows.iter().map(|span| mapped(spans.start_ns(*span))))
            .numbers("ts_local_ns", rows.iter().map(|span| spans.start_ns(*span)))
            .numbers("dur_ns", rows.iter().map(|span| spans.dur_ns[span.0 as usize]))
            .maybe_numbers("err_ns", rows.iter().map(|span| self.within_ns(*span)))
            .texts("name", rows.iter().map(|span| trace.name(*span)))
            .texts("category", rows.iter().map(|span| trace.strings.text(category(span))))
            .maybe_texts("class", rows.iter().map(|span| class(span).map(Class::name)))
            .maybe_numbers("pid", places(|place| place.pid))
            .maybe_numbers("tid", places(|place| place.tid))
            .maybe_numbers("device", places(|place| place.device))
            .maybe_numbers("stream", places(|place| place.stream))
            .texts("track", rows.iter().map(|span| place(span).name))
            .maybe_numbers("step", rows.iter().map(|span| step_at(steps, spans.start_ns(*span))))
            .maybe_numbers("collective", rows.iter().map(|span| self.collective(*span)))
            .maybe_numbers("correlation", rows.iter().map(|span| trace.correlations.get(*span).map(bits)))
            .maybe_numbers("external_id", rows.iter().map(|span| trace.external_ids.get(*span).map(bits)))
            .maybe_numbers("copy_bytes", rows.iter().map(|span| bytes(trace, *span)))
            .maybe_texts("direction", rows.iter().map(|span| class(span).and_then(direction)))
            .with("args_json", self.arguments(rows))
    }

    /// How far the start of `span` may be off on the job's clock: by its rank's clock, and by what places it on that.
    fn within_ns(&self, span: SpanId) -> Option<i64> {
        let EventsOf { map, is_bounded, trace, .. } = self.of;
        let own_ns = self.on_gpu(span).map_or(0, |event| event.start_error_ns);
        within_ns(map, is_bounded, trace.spans.start_ns(span), own_ns)
    }

    /// What `span` is, if it was added.
    fn on_gpu(&self, span: SpanId) -> Option<&GpuEvent> {
        let gpu = self.of.gpu;
        gpu.binary_search_by_key(&span, |event| event.span).ok().map(|at| &gpu[at])
    }

    /// The number of the collective that `span` is a part in, or what the GPU did for one.
    fn collective(&self, span: SpanId) -> Option<i64> {
        let own = self.of.collectives;
        let span = self.on_gpu(span).map_or(span, |event| event.of);
        own.binary_search_by_key(&span, |(span, _)| *span).ok().map(|at| own[at].1)
    }

    fn arguments(&self, rows: &[SpanId]) -> Values {
        let mut texts = Texts { distinct: Vec::new(), rows: vec![None; rows.len()] };
        if self.of.arguments {
            for (row, span) in rows.iter().enumerate() {
                texts.rows[row] = Some(texts.distinct.len() as u32);
                texts.distinct.push(arguments(self.of.trace, *span));
            }
        }
        Values::Texts(texts)
    }
}

impl<'a> Place<'a> {
    fn of(trace: &'a Trace, id: TrackId) -> Self {
        let track = trace.tracks.get(id);
        let number = |key: TrackKey| match key {
            TrackKey::Number(number) => Some(number),
            TrackKey::Text(_) => None,
        };
        let own = number(track.key);
        let parent = track.parent.and_then(|parent| number(trace.tracks.get(parent).key));
        let text = match track.key {
            TrackKey::Text(key) if track.name.is_empty() => key,
            _ => track.name,
        };
        let place = Self { name: trace.strings.text(text), ..Self::default() };
        match track.kind {
            TrackKind::Process => Self { pid: own, ..place },
            TrackKind::Thread => Self { pid: parent, tid: own, ..place },
            TrackKind::Device => Self { device: own, ..place },
            TrackKind::Stream => Self { device: parent, stream: own, ..place },
        }
    }
}

/// The step whose window the moment lies in.
pub(crate) fn step_at(steps: &[StepWindow], ns: i64) -> Option<i64> {
    let after = steps.partition_point(|step| step.start_ns <= ns);
    steps[..after].last().filter(|step| ns < step.end_ns).map(|step| step.number)
}

fn bytes(trace: &Trace, span: SpanId) -> Option<i64> {
    trace.bytes.get(span).map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX))
}

fn direction(class: Class) -> Option<&'static str> {
    match class {
        Class::Memcpy(Direction::HostToDevice) => Some("h2d"),
        Class::Memcpy(Direction::DeviceToHost) => Some("d2h"),
        Class::Memcpy(Direction::DeviceToDevice) => Some("d2d"),
        Class::Memcpy(Direction::PeerToPeer) => Some("p2p"),
        _ => None,
    }
}

/// The arguments of `span` as a JSON object.
fn arguments(trace: &Trace, span: SpanId) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut json = String::from("{");
    for (key, value) in trace.spans.args.row(span.0 as usize) {
        let value = match value {
            // Bytes that only a profiler understands.
            ArgValue::Blob(_) => continue,
            ArgValue::Null => "null".to_owned(),
            ArgValue::Bool(value) => value.to_string(),
            ArgValue::I64(value) => value.to_string(),
            ArgValue::U64(value) => value.to_string(),
            // JSON has no word for infinity.
            ArgValue::F64(value) => serde_json::Value::from(value).to_string(),
            ArgValue::Text(text) | ArgValue::Ref(text) => quoted(trace.strings.text(text)),
            ArgValue::Json(text) => {
                let text = trace.strings.text(text);
                if serde_json::from_str::<IgnoredAny>(text).is_ok() { text.to_owned() } else { quoted(text) }
            }
        };
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&quoted(trace.strings.text(key)));
        json.push(':');
        json.push_str(&value);
    }
    json.push('}');
    json
}

#[cfg(test)]
mod tests {
    use rankscope_time::Span;
    use rankscope_trace::{CategoryKind, CollectiveArgs, SpanRow};

    use super::*;
    use crate::Column;

    #[test]
    fn what_the_gpu_did_is_a_row_of_its_collective_and_no_work() {
        let mut trace = Trace::default();
        let track = trace.tracks.find_or_add(TrackKind::Thread, None, TrackKey::Number(1));
        let rows = trace.tracks.find_or_add(TrackKind::Stream, None, TrackKey::Number(2));
        let [recorded, placed] = [("collective_comm", CategoryKind::Other), ("gpu_placed", CategoryKind::Other)]
            .map(|(name, kind)| trace.category(name, kind));
        let name = trace.strings.intern("nccl:all_reduce");
        let mut push = |track, category, start_ns, dur_ns| {
            trace.spans.push(SpanRow { start_ns, dur_ns, name, track, category, offset: 0 })
        };
        let (of, span) = (push(track, recorded, 100, 50), push(rows, placed, 120, 20));
        trace.collectives.push(CollectiveArgs::of(of));
        let map = RankMap::from_offset(Span::from_nanos(1_000), 7);
        let gpu = [GpuEvent { span, of, start_error_ns: 5 }];
        let of = EventsOf {
            rank: rankscope_time::Rank(3),
            map: &map,
            is_bounded: true,
            steps: &[],
            collectives: &[(of, 42)],
            trace: &trace,
            gpu: &gpu,
            classes: &Classes::default(),
            arguments: false,
        };
        let frames: Vec<Frame> = events(of).collect();
        let values = |name: &str| {
            let column: &Column = Table::Events.columns().iter().find(|column| column.name == name).expect("a column");
            frames[0].values(column).expect("it fits").clone()
        };
        let numbers = |name: &str| match values(name) {
            Values::Integers(numbers) => numbers,
            other => panic!("{other:?}"),
        };
        assert_eq!(numbers("ts_ns"), [Some(1_100), Some(1_120)]);
        assert_eq!(numbers("err_ns"), [Some(7), Some(12)], "what is open about both clocks");
        assert_eq!(numbers("collective"), [Some(42), Some(42)]);
        let Values::Texts(classes) = values("class") else { panic!("texts") };
        assert_eq!((classes.text(0), classes.text(1)), (Some("communication"), None), "one operation, and not two");
    }
}
