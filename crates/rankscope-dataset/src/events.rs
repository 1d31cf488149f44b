//! The table `events`: the spans of one rank, on the job's clock and on their own.
//!
//! Rows stand by track and then by time, so that neighbours differ little. What is not known of a span is null; instants and counters
//! are no rows.

use std::cmp::Reverse;

use rankscope_align::RankMap;
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
        let tracks = of.trace.tracks.iter().map(|(id, _)| Place::of(of.trace, id)).collect();
        Self { of, classes, tracks }
    }

    fn frame(&self, rows: &[SpanId]) -> Frame {
        let EventsOf { map, is_bounded, steps, trace, .. } = self.of;
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
            .maybe_numbers("err_ns", rows.iter().map(|span| within_ns(map, is_bounded, spans.start_ns(*span))))
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

    /// The number of the collective that `span` is a part in.
    fn collective(&self, span: SpanId) -> Option<i64> {
        let own = self.of.collectives;
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
