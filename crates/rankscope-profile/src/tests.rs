//! What each format's own reader would make of what is written.

use proptest::prelude::*;
use rankscope_analyze::spans::{By, Nesting, Selection, SpansOf, Stacks};
use rankscope_formats::wire::{self, Fields, packed_varints};
use rankscope_trace::{ArgValue, CategoryKind, SpanRow, StrId, Trace, TrackKey, TrackKind};
use serde_json::Value;

use super::*;

/// Spans `(thread, start, length, name)`; thread 9 holds asynchronous ones.
fn trace_of(spans: &[(i64, i64, i64, &str)]) -> Trace {
    let mut trace = Trace::default();
    let category = trace.category("user_annotation", CategoryKind::UserAnnotation);
    let process = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(77));
    for (thread, start_ns, dur_ns, name) in spans.iter().copied() {
        let name = trace.strings.intern(name);
        let key = if thread == 9 { TrackKey::Text(name) } else { TrackKey::Number(thread) };
        let track = trace.tracks.find_or_add(TrackKind::Thread, Some(process), key);
        if thread == 9 {
            trace.tracks.get_mut(track).name = name;
        }
        trace.spans.push(SpanRow { start_ns, dur_ns, name, track, category, offset: 0 });
    }
    trace
}

fn written(trace: &Trace, write: impl Fn(&SpansOf<'_>, &mut Vec<u8>)) -> Vec<u8> {
    let nesting = Nesting::of(trace);
    let mut out = Vec::new();
    write(&SpansOf { process: "p", trace, nesting: &nesting }, &mut out);
    out
}

fn stacks_of(of: &SpansOf<'_>) -> Stacks {
    Stacks::of(&[*of], By::Name, Selection::ALL)
}

fn folded_text(trace: &Trace) -> String {
    String::from_utf8(written(trace, |of, out| folded(&stacks_of(of), out).unwrap())).unwrap()
}

fn speedscope_json(trace: &Trace) -> Value {
    let bytes = written(trace, |of, out| speedscope(&[*of], Selection::ALL, ("t", "e"), out).unwrap());
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn a_folded_line_is_a_stack_and_its_self_time() {
    let trace = trace_of(&[(1, 0, 100, "a;b\n"), (1, 10, 20, "c"), (2, 0, 5, "c"), (9, 0, 900, "request")]);
    assert_eq!(folded_text(&trace), "a:b  80\na:b ;c 20\nc 5\n");
}

#[test]
fn spans_that_overlap_are_drawn_in_full_in_a_further_profile() {
    let trace = trace_of(&[(1, 1_000, 10_000, "a"), (1, 6_000, 10_000, "b"), (1, 7_000, 1_000, "c"), (9, 0, 1, "request")]);
    let file = speedscope_json(&trace);
    let profiles = file["profiles"].as_array().unwrap();
    let names: Vec<_> = profiles.iter().map(|profile| profile["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["p: thread 1", "p: thread 1, overlapping 1"]);
    let at: Vec<_> = profiles[1]["events"].as_array().unwrap().iter().map(|event| event["at"].as_i64().unwrap()).collect();
    // The asynchronous span begins the recording.
    assert_eq!(at, [6_000, 7_000, 8_000, 16_000]);
}

#[test]
fn an_otlp_root_is_a_trace_and_its_descendants_are_of_it() {
    let mut trace = trace_of(&[(1, 10, 100, "a"), (1, 20, 20, "b"), (9, 0, 900, "request")]);
    let (rows, ratio) = (trace.strings.intern("rows"), trace.strings.intern("ratio"));
    trace.spans.args.push(rows, ArgValue::I64(-3));
    trace.spans.args.push(ratio, ArgValue::F64(f64::NAN));
    trace.spans.args.end_row();
    trace.unfinished.push(rankscope_trace::SpanId(1));
    let bytes = written(&trace, |of, out| otlp(&[*of], Selection::ALL, "0", out).unwrap());
    let file: Value = serde_json::from_slice(&bytes).unwrap();
    let spans = file["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let [a, b, request] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((&b["traceId"], &b["parentSpanId"]), (&a["traceId"], &a["spanId"]));
    assert_ne!(request["traceId"], a["traceId"]);
    assert_eq!((a.get("parentSpanId"), request.get("parentSpanId")), (None, None));
    assert_eq!((a["traceId"].as_str().unwrap().len(), a["spanId"].as_str().unwrap().len()), (32, 16));
    assert_eq!((&a["startTimeUnixNano"], &a["endTimeUnixNano"]), (&"10".into(), &"110".into()));
    let of = |span: &Value, key: &str| {
        span["attributes"].as_array().unwrap().iter().find(|one| one["key"] == key).map(|one| one["value"].clone())
    };
    assert_eq!(of(a, "rows"), Some(serde_json::json!({ "intValue": "-3" })));
    assert_eq!(of(a, "ratio"), Some(serde_json::json!({ "doubleValue": "NaN" })));
    assert_eq!(of(b, "rankscope.unfinished"), Some(serde_json::json!({ "boolValue": true })));
    assert_eq!((of(request, "thread.id"), of(a, "thread.id").is_some()), (None, true));
    let resource: Vec<_> =
        file["resourceSpans"][0]["resource"]["attributes"].as_array().unwrap().iter().map(|one| &one["key"]).collect();
    assert_eq!(resource, ["service.name", "service.instance.id", "process.pid"]);
}

/// A sample of a pprof file: its frames, the innermost first, and its values.
type Sample = (Vec<String>, Vec<u64>);

fn first(message: &[u8], number: u32) -> wire::Value<'_> {
    Fields::of(message).map(Result::unwrap).find(|(field, _)| *field == number).unwrap().1
}

/// Reads a pprof file with nothing but the numbers of its fields.
fn pprof_samples(bytes: &[u8]) -> Vec<Sample> {
    let fields: Vec<_> = Fields::of(bytes).map(Result::unwrap).collect();
    let of = |number: u32| fields.iter().filter(move |(field, _)| *field == number).map(|(_, value)| value.bytes());
    let strings: Vec<String> = of(6).map(|text| String::from_utf8(text.to_vec()).unwrap()).collect();
    let function = |id: u64| {
        let function = of(5).find(|function| first(function, 1).u64() == id).unwrap();
        strings[first(function, 2).u64() as usize].clone()
    };
    let location = |id: u64| {
        let location = of(4).find(|location| first(location, 1).u64() == id).unwrap();
        function(first(first(location, 4).bytes(), 1).u64())
    };
    let sample = |sample: &[u8]| {
        let locations = packed_varints(first(sample, 1).bytes()).map(location).collect();
        (locations, packed_varints(first(sample, 2).bytes()).collect())
    };
    of(2).map(sample).collect()
}

#[test]
fn a_pprof_sample_has_its_innermost_frame_first_and_two_values() {
    let trace = trace_of(&[(1, 0, 100, "a"), (1, 10, 20, "b"), (1, 40, 10, "b"), (9, 0, 900, "request")]);
    let bytes = written(&trace, |of, out| pprof(&stacks_of(of), (0, 900), out).unwrap());
    let frames = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(pprof_samples(&bytes), [(frames(&["a"]), vec![1, 70]), (frames(&["b", "a"]), vec![2, 30])]);
}

#[test]
fn a_span_without_a_name_is_a_frame_that_says_so() {
    let trace = trace_of(&[(1, 0, 100, "")]);
    assert_eq!(trace.spans.name, [StrId::EMPTY]);
    assert_eq!(folded_text(&trace), "(no name) 100\n");
    assert_eq!(speedscope_json(&trace)["shared"]["frames"][0]["name"], "(no name)");
}

fn any_spans() -> impl Strategy<Value = Vec<(i64, i64, i64, &'static str)>> {
    let name = prop::sample::select(vec!["a", "b", "c"]);
    // Microseconds apart, so that nothing passes for rounding.
    let span = (0..3_i64, 0..40_i64, 0..30_i64, name)
        .prop_map(|(thread, start, dur, name)| (thread, start * 2_000, dur * 2_000, name));
    prop::collection::vec(span, 0..30)
}

proptest! {
    #[test]
    fn every_format_adds_up_to_the_self_times(spans in any_spans()) {
        let trace = trace_of(&spans);
        let nesting = Nesting::of(&trace);
        let all: i64 = trace.spans.ids().map(|span| nesting.self_ns(span)).sum();
        let weight = |line: &str| line.rsplit(' ').next().unwrap().parse::<i64>().unwrap();
        prop_assert_eq!(folded_text(&trace).lines().map(weight).sum::<i64>(), all);
        let bytes = written(&trace, |of, out| pprof(&stacks_of(of), (0, 1), out).unwrap());
        let samples = pprof_samples(&bytes);
        prop_assert_eq!(samples.iter().map(|sample| sample.1[1] as i64).sum::<i64>(), all);
        prop_assert_eq!(samples.iter().map(|sample| sample.1[0] as usize).sum::<usize>(), spans.len());
    }

    #[test]
    fn frames_of_a_speedscope_profile_nest_and_keep_their_lengths(spans in any_spans()) {
        let file = speedscope_json(&trace_of(&spans));
        let mut lengths = Vec::new();
        for profile in file["profiles"].as_array().unwrap() {
            let mut open = Vec::new();
            let mut last = profile["startValue"].as_i64().unwrap();
            for event in profile["events"].as_array().unwrap() {
                let at = event["at"].as_i64().unwrap();
                prop_assert!(at >= last);
                last = at;
                if event["type"] == "O" {
                    open.push((event["frame"].clone(), at));
                } else {
                    let (frame, from) = open.pop().unwrap();
                    prop_assert_eq!(&frame, &event["frame"]);
                    lengths.push(at - from);
                }
            }
            prop_assert!(open.is_empty() && last == profile["endValue"].as_i64().unwrap());
        }
        let mut expected: Vec<i64> = spans.iter().map(|span| span.2).collect();
        lengths.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(lengths, expected);
    }
}
