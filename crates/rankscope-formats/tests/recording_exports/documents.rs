//! A recording streamed into the formats of others, read back.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};

use rankscope_formats::recording::export::{About, Written, kineto_json, perfetto};
use rankscope_formats::recording::{ArgView, Category, Chunks, Cut, Recording};
use rankscope_formats::wire::Fields;
use rankscope_formats::{ArgsPolicy, Encoding, ReadOptions, json};
use rankscope_trace::Trace;
use serde_json::Value;

use crate::scene;

fn to_json<C: Chunks>(recording: &Recording<C>, cut: &Cut) -> (Written, Vec<u8>) {
    let mut bytes = Vec::new();
    let written = kineto_json(recording, cut, &About::of(recording), &mut bytes).unwrap();
    (written, bytes)
}

fn to_perfetto<C: Chunks>(recording: &Recording<C>, cut: &Cut) -> (Written, Vec<u8>) {
    let mut bytes = Vec::new();
    let written = perfetto(recording, cut, &About::of(recording), &mut bytes).unwrap();
    (written, bytes)
}

fn events(document: &Value) -> &[Value] {
    document["traceEvents"].as_array().unwrap()
}

fn count(document: &Value, phase: &str) -> u64 {
    events(document).iter().filter(|event| event["ph"] == phase && event["cat"] != "Trace" && event["s"] != "g").count() as u64
}

fn named<'a>(document: &'a Value, name: &str) -> Vec<&'a Value> {
    events(document).iter().filter(|event| event["name"] == name).collect()
}

fn options() -> ReadOptions {
    ReadOptions::default().with_args(ArgsPolicy::All)
}

fn read_perfetto(bytes: &[u8]) -> Trace {
    rankscope_formats::perfetto::read(Cursor::new(bytes), &options()).unwrap()
}

#[test]
fn the_header_says_what_kineto_says() {
    let (_, bytes) = to_json(&scene::recording(), &Cut::everything());
    let document: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(document["schemaVersion"], 1);
    assert_eq!(document["deviceProperties"], Value::Array(Vec::new()));
    assert_eq!(document["distributedInfo"], serde_json::json!({"rank": 1, "world_size": 4}));
    assert_eq!(document["host_name"], "node-a");
    assert_eq!(document["learning rate"]["base"], 0.1);
    assert_eq!(document["displayTimeUnit"], "ms");
    let base = document["baseTimeNanoseconds"].as_i64().unwrap();
    assert_eq!(base % (7_889_238 * 1_000_000_000), 0);
    assert!((0..7_889_238 * 1_000_000_000).contains(&(scene::EPOCH_NS - base)));
    assert_eq!(named(&document, "Iteration Start: PyTorch Profiler")[0]["s"], "g");
    assert_eq!(named(&document, "Record Window End")[0]["s"], "g");
    assert_eq!(named(&document, "PyTorch Profiler (0)")[0]["pid"], "Spans");
    assert_eq!(named(&document, "thread_name")[1]["args"]["name"], "thread 4712 (pt_autograd_0)");
}

#[test]
fn every_event_is_there_once() {
    let (written, bytes) = to_json(&scene::recording(), &Cut::everything());
    let document: Value = serde_json::from_slice(&bytes).unwrap();
    let spans = count(&document, "X") + count(&document, "b");
    assert_eq!((spans, count(&document, "b")), (scene::SPANS, count(&document, "e")));
    assert_eq!((count(&document, "i"), count(&document, "C")), (scene::INSTANTS, scene::STEPS as u64));
    assert_eq!([count(&document, "s"), count(&document, "f")], [scene::ARROWS; 2]);
    let halves = count(&document, "e");
    assert_eq!(written.events, spans + halves + scene::INSTANTS + scene::STEPS as u64 + 2 * scene::ARROWS);
    assert_eq!(written.bytes, bytes.len() as u64);
    assert_eq!(written.threads.iter().map(|thread| thread.open_spans).collect::<Vec<_>>(), [1, 1, 0]);
}

#[test]
fn arguments_keep_their_types_and_their_links() {
    let (_, bytes) = to_json(&scene::recording(), &Cut::everything());
    let document: Value = serde_json::from_slice(&bytes).unwrap();
    let odd = &named(&document, "odd \u{e4} \"quoted\"\n\\")[0]["args"];
    assert_eq!(odd["i64"].as_i64(), Some(i64::MIN));
    assert_eq!(odd["u64"].as_u64(), Some(u64::MAX));
    assert_eq!((odd["f64"].as_f64(), odd["nan"].as_str()), (Some(0.25), Some("NaN")));
    assert_eq!((&odd["bool"], odd["name"].as_str()), (&Value::Bool(true), Some("a known text")));
    assert_eq!((odd["text"].as_str(), odd["bytes"].as_str()), (Some("tab\t"), Some("00ff")));
    assert_eq!((&odd["json"]["a"], odd["no json"].as_str()), (&Value::Null, Some("{")));
    assert_eq!(odd["said twice"], 2, "what the end says wins");
    assert_eq!(named(&document, "aten::mm")[0]["args"]["Input Dims"], serde_json::json!([[2, 3], []]));

    let operator = &named(&document, "aten::mm")[3]["args"]["External id"];
    assert_eq!(&named(&document, "sgemm")[3]["args"]["External id"], operator, "a link that is given stays");
    assert_eq!(named(&document, "ProfilerStep#7").len(), 1);
    let open = named(&document, "outer");
    assert_eq!(open.iter().filter(|span| span["args"]["finished"] == false).count(), 2);
    let memory = &named(&document, "[memory]")[0]["args"];
    let expected = serde_json::json!({"Addr": 0x7000_0000_0000_u64, "Bytes": 512, "Device Type": 1, "Device Id": 0});
    assert_eq!(memory, &expected);
    assert_eq!(named(&document, "[OutOfMemory]")[0]["args"]["Bytes"], 1_i64 << 40);
}

/// Stamps have three decimals, and give the recording's own nanoseconds back.
#[test]
fn stamps_are_exact() {
    let (_, bytes) = to_json(&scene::recording(), &Cut::everything());
    let text = String::from_utf8(bytes.clone()).unwrap();
    let stamps = text.match_indices("\"ts\": ").chain(text.match_indices("\"dur\": "));
    for (at, key) in stamps {
        let number: &str = text[at + key.len()..].split([',', '\n']).next().unwrap();
        assert_eq!(number.split_once('.').unwrap().1.len(), 3, "{number}");
    }
    let trace = json::read(Cursor::new(bytes), &options()).unwrap();
    let step = trace.spans.ids().find(|span| trace.name(*span) == "ProfilerStep#3").unwrap();
    let row = trace.spans.row(step);
    assert_eq!((row.start_ns, row.dur_ns), (scene::EPOCH_NS + 3_001_000, 900_000));
}

/// Everything analysis asks of a trace, as text that can be compared: spans by name, category and time.
fn spans_of(trace: &Trace) -> BTreeMap<(i64, i64, String, String), usize> {
    let mut spans = BTreeMap::new();
    for span in trace.spans.ids() {
        let row = trace.spans.row(span);
        let category = trace.strings.text(trace.categories[usize::from(row.category)].name);
        if category != "Trace" {
            let key = (row.start_ns, row.dur_ns, trace.name(span).to_owned(), category.to_owned());
            *spans.entry(key).or_default() += 1;
        }
    }
    spans
}

#[test]
fn both_formats_read_back_as_the_same() {
    let recording = scene::recording();
    let from_json = json::read(Cursor::new(to_json(&recording, &Cut::everything()).1), &options()).unwrap();
    let from_perfetto = read_perfetto(&to_perfetto(&recording, &Cut::everything()).1);
    assert!(from_json.provenance.problems.is_empty(), "{:?}", from_json.provenance.problems);
    assert!(from_perfetto.provenance.problems.is_empty(), "{:?}", from_perfetto.provenance.problems);
    assert_eq!(spans_of(&from_perfetto), spans_of(&from_json));
    let sums = |trace: &Trace| (trace.counters.len(), trace.counters.iter().map(|sample| sample.value).sum::<f64>());
    assert_eq!(sums(&from_perfetto), sums(&from_json));
    let ranks = [&from_json, &from_perfetto].map(|trace| trace.provenance.rank.map(|(rank, _)| rank.0));
    assert_eq!(ranks, [Some(1); 2]);
    assert_eq!(from_perfetto.steps.len(), scene::STEPS as usize);
    assert_eq!(from_perfetto.flows.len(), from_json.flows.len());
}

#[test]
fn a_cut_holds_what_meets_it() {
    let recording = scene::recording();
    let annotations = Category::USER_ANNOTATION.alone().0;
    let cut = Cut { from_tick: 2_500_000, to_tick: 4_500_000, changes: vec![(0, annotations)], streams: Some(vec![1]) };
    let (written, bytes) = to_json(&recording, &cut);
    let document: Value = serde_json::from_slice(&bytes).unwrap();
    let mut steps: Vec<&str> =
        events(&document).iter().filter(|event| event["ph"] == "X").filter_map(|event| event["name"].as_str()).collect();
    steps.sort_unstable();
    assert_eq!(steps, ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4", "PyTorch Profiler (0)"]);
    assert_eq!(written.threads[0].open_spans, 1);
    assert_eq!(to_perfetto(&recording, &cut).0.threads, written.threads);
}

#[test]
fn the_same_recording_gives_the_same_bytes() {
    let (first, again) = (scene::recording(), scene::recording());
    assert_eq!(to_json(&first, &Cut::everything()).1, to_json(&again, &Cut::everything()).1);
    assert_eq!(to_perfetto(&first, &Cut::everything()).1, to_perfetto(&first, &Cut::everything()).1);
}

#[test]
fn compressed_or_not_it_is_the_same() {
    let recording = scene::recording();
    let (_, plain) = to_json(&recording, &Cut::everything());
    for name in ["trace.json", "trace.json.gz", "trace.json.zst"] {
        let mut bytes = Vec::new();
        let mut encoder = Encoding::of_name(name).encoder(&mut bytes).unwrap();
        let written = kineto_json(&recording, &Cut::everything(), &About::of(&recording), &mut encoder).unwrap();
        encoder.finish().unwrap();
        assert_eq!(written.bytes, plain.len() as u64);
        let mut back = Vec::new();
        match Encoding::of_name(name) {
            Encoding::Plain => back.write_all(&bytes).unwrap(),
            Encoding::Gzip => drop(flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut back).unwrap()),
            Encoding::Zstd => back = zstd::decode_all(&bytes[..]).unwrap(),
        }
        assert!(back == plain, "{name}");
    }
}

/// Cut off behind any packet, the file still reads, and never as more than it was.
#[test]
fn every_prefix_of_packets_reads() {
    let (_, bytes) = to_perfetto(&scene::recording(), &Cut::everything());
    let whole = read_perfetto(&bytes).spans.len();
    let mut last = 0;
    for end in packet_ends(&bytes) {
        let spans = match rankscope_formats::perfetto::read(Cursor::new(&bytes[..end]), &options()) {
            Ok(trace) => trace.spans.len(),
            Err(rankscope_formats::Error::NoEvents { .. }) => 0,
            Err(error) => panic!("{end}: {error}"),
        };
        assert!(spans >= last && spans <= whole, "{end}: {spans}");
        last = spans;
    }
    assert_eq!(last, whole);
}

fn packet_ends(bytes: &[u8]) -> Vec<usize> {
    let mut end = 0;
    let ends = Fields::of(bytes).map(|field| {
        let len = field.unwrap().1.bytes().len();
        end += 1 + (usize::BITS - len.max(1).leading_zeros()).div_ceil(7) as usize + len;
        end
    });
    ends.collect()
}

/// Threads, ticks of beginning and end, sequence numbers, forward threads; and the arrows that belong to them.
#[test]
fn operators_are_tied_to_their_gradients() {
    let spans = [
        // An operator and the one it calls share a number: the later start is meant.
        (1, (0, 100), 5, 0),
        (1, (10, 90), 5, 0),
        // The autograd engine's wrapper and its operator: the earlier end is meant.
        (2, (200, 300), 5, 10),
        (2, (210, 290), 5, 10),
        // The same number of another thread, and numbers that have one side only.
        (2, (400, 410), 5, 0),
        (1, (500, 510), 6, 0),
        (2, (600, 610), 7, 10),
    ];
    let mut author = scene::process();
    author.thread(1, 10, "");
    author.thread(2, 20, "");
    let [operator, sequence, thread] = ["mm", "Sequence number", "Fwd thread id"].map(|text| author.name(text, 0, 0));
    let mut edges: Vec<_> = spans.iter().flat_map(|span| [(span.1.0, true, *span), (span.1.1, false, *span)]).collect();
    edges.sort_unstable_by_key(|(tick, begins, _)| (*tick, *begins));
    for (tick, begins, (stream, _, number, forward)) in edges {
        if begins {
            author.begin(stream, tick, operator);
            author.args(stream, &[(sequence, ArgView::I64(number)), (thread, ArgView::I64(forward))]);
        } else {
            author.end(stream, tick);
        }
    }
    let (_, bytes) = to_json(&scene::open(author.finish()), &Cut::everything());
    let document: Value = serde_json::from_slice(&bytes).unwrap();
    let arrows = events(&document).iter().filter(|event| event["cat"] == "fwdbwd");
    let arrows: Vec<_> = arrows.map(|arrow| (arrow["ph"].as_str(), arrow["id"].as_u64(), arrow["tid"].as_u64())).collect();
    assert_eq!(arrows, [(Some("s"), Some(0), Some(10)), (Some("f"), Some(0), Some(20))]);
    let trace = json::read(Cursor::new(bytes), &options()).unwrap();
    let times: Vec<_> = trace.flows.iter().map(|point| point.time_ns - scene::EPOCH_NS).collect();
    assert_eq!(times, [10, 210]);
}
