//! What a program that uses the recorder's own API exports: nothing of PyTorch's profiler, and work that waits as one piece.

use std::io::Cursor;

use rankscope_formats::recording::export::{About, kineto_json, perfetto};
use rankscope_formats::recording::{
    ArgView, Category, Cut, FlowStage, I64s, LiveAuthor, LiveFile, RESUMED, Recording, to_trace,
};
use rankscope_formats::{ArgsPolicy, ReadOptions, json, xspace};
use rankscope_trace::{FlowPhase, Trace};
use serde_json::Value;

use crate::scene;

const ASYNC: u64 = 1 << 40;

/// A request of three polls on two threads: created at 1,000, polled at 2,000, 40,000 and 70,000, over at 80,000.
fn recording() -> Recording<LiveFile<Cursor<Vec<u8>>>> {
    let mut author = scene::plain_process();
    let request = author.name("request", Category::USER_ANNOTATION.number(), 7);
    let key = author.name(RESUMED, 0, 0);
    author.thread(1, 10, "main");
    author.thread(2, 11, "worker");
    let poll = |author: &mut LiveAuthor, stream: u32, at: u64| author.begin(stream, at, request);
    let first = poll(&mut author, 1, 2_000);
    author.end(1, 3_000);
    poll(&mut author, 2, 40_000);
    author.flow(2, 40_100, request, ASYNC, FlowStage::Step);
    author.async_begin(2, 40_200, request, ASYNC);
    let since = I64s::pack(&[1_000, 2_000, first as i64, 1]);
    author.args(2, &[(key, ArgView::I64s(I64s::of(&since)))]);
    author.end(2, 41_000);
    poll(&mut author, 1, 70_000);
    author.flow(1, 70_100, request, ASYNC, FlowStage::Step);
    author.end(1, 71_000);
    author.async_end(2, 80_000, request, ASYNC);
    scene::open(author.finish())
}

fn options() -> ReadOptions {
    ReadOptions::default().with_args(ArgsPolicy::All)
}

/// The three exports: JSON, Perfetto, XSpace.
fn exports() -> [Vec<u8>; 3] {
    let (recording, everything) = (recording(), Cut::everything());
    let about = About::of(&recording);
    let mut files = [Vec::new(), Vec::new(), Vec::new()];
    kineto_json(&recording, &everything, &about, &mut files[0]).unwrap();
    perfetto(&recording, &everything, &about, &mut files[1]).unwrap();
    xspace::write(&to_trace(&recording, &everything, &options()), &mut files[2]).unwrap();
    files
}

#[test]
fn nothing_in_it_is_of_pytorch() {
    let words = [
        "External id",
        "PyTorch",
        "Op count",
        "Record Window End",
        "Iteration Start",
        "deviceProperties",
        "process_labels",
        "sort_index",
        "thread 10",
        RESUMED,
    ];
    for (file, format) in exports().iter().zip(["JSON", "Perfetto", "XSpace"]) {
        let holds = |word: &str| file.windows(word.len()).any(|part| part == word.as_bytes());
        assert!(holds("request") && holds("worker"), "{format}");
        words.iter().for_each(|word| assert!(!holds(word), "{format} holds {word}"));
    }
}

#[test]
fn readers_still_know_whose_it_is() {
    let [json, proto, _] = exports();
    let document: Value = serde_json::from_slice(&json).unwrap();
    let names = document["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "M");
    let names: Vec<_> = names.map(|event| (event["name"].as_str().unwrap(), event["args"]["name"].as_str().unwrap())).collect();
    assert_eq!(names, [("process_name", "python3"), ("thread_name", "main"), ("thread_name", "worker")]);
    let traces = [json::read(Cursor::new(json), &options()), rankscope_formats::perfetto::read(Cursor::new(proto), &options())];
    for trace in traces.map(Result::unwrap) {
        let about = &trace.provenance;
        assert_eq!(
            (about.rank.map(|(rank, _)| rank.0), about.world_size, about.host.as_deref()),
            (Some(1), Some(4), Some("node-a"))
        );
    }
}

/// A flow's point: phase, time and thread.
type Point = (FlowPhase, i64, String);

/// Start and length of the whole request; then the flow's points.
fn request(trace: &Trace) -> ((i64, i64), Vec<Point>) {
    let longest = trace.spans.ids().max_by_key(|span| trace.spans.row(*span).dur_ns).unwrap();
    let row = trace.spans.row(longest);
    let name = |track| trace.strings.text(trace.tracks.get(track).name).to_owned();
    let mut points: Vec<_> =
        trace.flows.iter().map(|point| (point.phase, point.time_ns - scene::EPOCH_NS, name(point.track))).collect();
    points.sort_by_key(|point| point.1);
    ((row.start_ns - scene::EPOCH_NS, row.dur_ns), points)
}

#[test]
fn work_that_waits_begins_where_it_was_created_and_its_polls_are_one_flow() {
    let [json, proto, _] = exports();
    let (main, worker) = ("main".to_owned(), "worker".to_owned());
    let points =
        vec![(FlowPhase::Start, 2_000, main.clone()), (FlowPhase::Step, 40_100, worker), (FlowPhase::Step, 70_100, main)];
    let expected = ((1_000, 79_000), points);
    assert_eq!(request(&to_trace(&recording(), &Cut::everything(), &options())), expected);
    assert_eq!(request(&json::read(Cursor::new(json), &options()).unwrap()), expected);
    // Perfetto hangs the points on slices: on the request itself, then on its polls.
    let trace = rankscope_formats::perfetto::read(Cursor::new(proto), &options()).unwrap();
    let (whole, points) = request(&trace);
    assert_eq!(whole, expected.0);
    assert_eq!(points.iter().map(|point| point.1).collect::<Vec<_>>(), [1_000, 2_000, 40_000, 70_000]);
}
