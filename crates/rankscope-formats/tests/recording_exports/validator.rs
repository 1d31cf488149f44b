//! The six rules of the validator that ships with torch, held against what we export: of a recording with device work, and of
//! one in which each rule is broken once.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rankscope_formats::recording::export::{About, kineto_json};
use rankscope_formats::recording::{ArgView, Category, Cut, LiveAuthor};
use serde_json::Value;

use crate::scene;

/// Whether a rule holds.
type Rule = fn(&Spans) -> bool;

const RULES: [(&str, Rule); 6] = [
    ("a kernel starts after its launch", kernels_follow_launches),
    ("a wait names what it waits for", waits_are_known),
    ("what is waited for was recorded before", waits_follow_records),
    ("no kernel runs when its stream is synchronised", synchronised_streams_are_idle),
    ("a collective has its five fields", collectives_are_whole),
    ("a sequence number has one backward operator", backward_is_unambiguous),
];

#[test]
fn a_recording_of_a_job_is_valid() {
    let recording = scene::recording();
    let mut bytes = Vec::new();
    kineto_json(&recording, &Cut::everything(), &About::of(&recording), &mut bytes).unwrap();
    let spans = Spans::of(&bytes);
    assert_eq!(spans.of_category("kernel").count(), scene::STEPS as usize);
    RULES.iter().for_each(|(rule, holds)| assert!(holds(&spans), "{rule}"));
}

#[test]
fn every_rule_holds_and_can_be_broken() {
    let sound = Spans::of(&device_work(&Work::default()));
    assert_eq!(sound.list.len(), 10, "nine events and the mark of the whole recording");
    RULES.iter().for_each(|(rule, holds)| assert!(holds(&sound), "{rule}"));
    let broken = [
        Work { kernel_at: 50, ..Work::default() },
        Work { waits_for: -1, ..Work::default() },
        Work { waits_for: 99, ..Work::default() },
        Work { kernel_ns: 900, ..Work::default() },
        Work { dtype: "", ..Work::default() },
        Work { second_backward: "AddBackward0", ..Work::default() },
    ];
    for (at, work) in broken.iter().enumerate() {
        let spans = Spans::of(&device_work(work));
        let fails: Vec<_> = RULES.iter().filter(|(_, holds)| !holds(&spans)).map(|(rule, _)| *rule).collect();
        assert!(fails.contains(&RULES[at].0), "{work:?} breaks {fails:?}");
    }
}

/// Device work with something for each rule to look at.
#[derive(Debug)]
struct Work {
    kernel_at: u64,
    kernel_ns: u64,
    waits_for: i64,
    dtype: &'static str,
    second_backward: &'static str,
}

impl Default for Work {
    fn default() -> Self {
        Self { kernel_at: 200, kernel_ns: 100, waits_for: 3, dtype: "Float", second_backward: "MmBackward0" }
    }
}

fn device_work(work: &Work) -> Vec<u8> {
    let mut author = scene::process();
    author.thread(1, 10, "main");
    author.thread(2, 7, "stream 7");
    let mut span = |stream: u32, category: Category, name: &str, (start, ns): (u64, u64), args: &[(&str, ArgView<'_>)]| {
        let args: Vec<_> = args.iter().map(|(key, value)| (key_of(&mut author, key), value.clone())).collect();
        let name = author.name(name, category.number(), 0);
        author.begin(stream, start, name);
        author.args(stream, &args);
        author.end(stream, start + ns);
    };
    let (i64, text) = (ArgView::I64, |text: &'static str| ArgView::Text(Cow::Borrowed(text)));
    let on = [("External id", i64(5)), ("stream", i64(7)), ("correlation", i64(1))];
    span(1, Category::CUDA_RUNTIME, "cudaLaunchKernel", (100, 20), &on);
    span(1, Category::CUDA_RUNTIME, "cudaEventRecord", (130, 10), &[("correlation", i64(3))]);
    let waits = [("stream", i64(7)), ("wait_on_cuda_event_record_corr_id", i64(work.waits_for))];
    span(1, Category::CUDA_SYNC, "Event Sync", (150, 10), &waits);
    let comms: Vec<(&str, ArgView<'_>)> = [("Collective name", text("allreduce")), ("dtype", text(work.dtype))]
        .into_iter()
        .chain(["In msg nelems", "Out msg nelems", "Group size"].map(|key| (key, i64(4))))
        .collect();
    span(1, Category::CPU_OP, "record_param_comms", (170, 10), &comms);
    let forward = [("Sequence number", i64(8)), ("Fwd thread id", i64(0))];
    span(1, Category::CPU_OP, "aten::mm", (190, 10), &forward);
    let backward = [("Sequence number", i64(8)), ("Fwd thread id", i64(10))];
    span(1, Category::CPU_OP, "MmBackward0", (300, 10), &backward);
    span(1, Category::CPU_OP, work.second_backward, (320, 10), &backward);
    span(1, Category::CUDA_SYNC, "Stream Sync", (500, 10), &[("stream", i64(7))]);
    span(2, Category::KERNEL, "sgemm", (work.kernel_at, work.kernel_ns), &on);
    let recording = scene::open(author.finish());
    let mut bytes = Vec::new();
    kineto_json(&recording, &Cut::everything(), &About::of(&recording), &mut bytes).unwrap();
    bytes
}

fn key_of(author: &mut LiveAuthor, key: &str) -> rankscope_formats::recording::NameId {
    author.name(key, 0, 0)
}

/// The spans of an exported document.
struct Spans {
    list: Vec<Value>,
}

impl Spans {
    fn of(bytes: &[u8]) -> Self {
        let document: Value = serde_json::from_slice(bytes).unwrap();
        let events = document["traceEvents"].as_array().unwrap();
        Self { list: events.iter().filter(|event| event["ph"] == "X").cloned().collect() }
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Value> {
        self.list.iter().filter(move |span| span["name"] == name)
    }

    fn of_category(&self, category: &str) -> impl Iterator<Item = &Value> {
        self.list.iter().filter(move |span| span["cat"] == category)
    }

    /// Synchronisations that wait for an event.
    fn waits(&self) -> impl Iterator<Item = &Value> {
        self.named("Stream Wait Event").chain(self.named("Event Sync"))
    }
}

fn start(span: &Value) -> f64 {
    span["ts"].as_f64().unwrap()
}

fn kernels_follow_launches(spans: &Spans) -> bool {
    let launches: BTreeMap<u64, f64> = spans
        .named("cudaLaunchKernel")
        .map(|launch| (launch["args"]["External id"].as_u64().unwrap(), start(launch)))
        .collect();
    spans.of_category("kernel").all(|kernel| {
        let launch = kernel["args"]["External id"].as_u64().and_then(|id| launches.get(&id));
        launch.is_none_or(|launch| start(kernel) >= *launch)
    })
}

fn waited_for(wait: &Value) -> i64 {
    wait["args"]["wait_on_cuda_event_record_corr_id"].as_i64().unwrap_or(-1)
}

fn waits_are_known(spans: &Spans) -> bool {
    spans.waits().all(|wait| waited_for(wait) >= 0)
}

fn waits_follow_records(spans: &Spans) -> bool {
    let is_record = |span: &&Value| span["name"].as_str().unwrap().starts_with("cudaEventRecord");
    let records: BTreeMap<i64, f64> = spans
        .list
        .iter()
        .filter(is_record)
        .filter_map(|span| Some((span["args"]["correlation"].as_i64()?, start(span))))
        .collect();
    spans.waits().all(|wait| records.get(&waited_for(wait)).is_some_and(|record| *record <= start(wait)))
}

fn synchronised_streams_are_idle(spans: &Spans) -> bool {
    spans.named("Stream Sync").all(|sync| {
        let mut kernels = spans.of_category("kernel").filter(|kernel| kernel["args"]["stream"] == sync["args"]["stream"]);
        kernels.all(|kernel| {
            let end = start(kernel) + kernel["dur"].as_f64().unwrap();
            !(start(kernel) < start(sync) && start(sync) < end)
        })
    })
}

fn collectives_are_whole(spans: &Spans) -> bool {
    let fields = ["Collective name", "dtype", "In msg nelems", "Out msg nelems", "Group size"];
    let is_there = |value: &Value| !value.is_null() && value != "";
    spans.named("record_param_comms").all(|comms| fields.iter().all(|field| is_there(&comms["args"][field])))
}

fn backward_is_unambiguous(spans: &Spans) -> bool {
    let mut names: BTreeMap<i64, BTreeSet<&str>> = BTreeMap::new();
    for span in &spans.list {
        let args = &span["args"];
        if let (Some(sequence), Some(1..)) = (args["Sequence number"].as_i64(), args["Fwd thread id"].as_i64()) {
            names.entry(sequence).or_default().insert(span["name"].as_str().unwrap());
        }
    }
    names.values().all(|names| names.len() <= 1)
}
