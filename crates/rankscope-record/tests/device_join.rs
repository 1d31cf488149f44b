//! The join of device work on real traces: what a library would have handed over is taken from the calls and the work of a
//! Kineto trace, without its links, and the links found are those Kineto wrote.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use rankscope_record::Category;
use rankscope_record::recording::device::{
    CorrelationKind, DeviceItem, DeviceRecord, ExternalCorrelation, HostOp, Joined, join,
};
use serde_json::Value;

const WORK: [&str; 3] = ["kernel", "gpu_memcpy", "gpu_memset"];
const CALLS: [&str; 2] = ["cuda_runtime", "cuda_driver"];
const TRACES: [&str; 5] = ["a100_nccl_data", "h100_qwen1.5", "mi300x_resnet_act_checkpoint", "b200_eager", "mi250_minitoy"];
/// A microsecond at the start in older traces, one nanosecond in newer; and what is lost when microseconds are read from a double.
const WIDER_NS: i64 = 1_002;

struct Trace(Vec<Value>);

impl Trace {
    fn read(path: &Path) -> Self {
        let mut text = String::new();
        flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
        let mut document: Value = serde_json::from_str(&text).unwrap();
        let Value::Array(events) = document["traceEvents"].take() else { panic!("no events in {}", path.display()) };
        Self(events)
    }

    fn spans<'a>(&'a self, categories: &'a [&str]) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(|e| e["ph"] == "X" && e["cat"].as_str().is_some_and(|cat| categories.contains(&cat)))
    }

    fn ops(&self) -> HashMap<u64, HostOp> {
        let spans = self.spans(&["cpu_op", "user_annotation"]);
        let op = |span: &Value| HostOp { name: name(span), is_user_annotation: span["cat"] == "user_annotation" };
        spans.map(|span| (number(span, "External id"), op(span))).collect()
    }

    /// Work first and ties last, so that nothing is known when it is needed.
    fn buffers(&self, ops: &HashMap<u64, HostOp>) -> Vec<Vec<DeviceItem>> {
        let records = |categories| self.spans(categories).map(|span| DeviceItem::Record(record(span))).collect();
        let annotations: Vec<&Value> = self.spans(&["user_annotation"]).collect();
        let ties = self.spans(&CALLS).flat_map(|call| {
            let correlation = number(call, "correlation");
            let tie = |kind, external_id| DeviceItem::Tie(ExternalCorrelation { kind, external_id, correlation });
            let op = Some(number(call, "External id")).filter(|id| ops.contains_key(id));
            let annotation = innermost_around(call, &annotations);
            [op.map(|id| tie(CorrelationKind::Default, id)), annotation.map(|id| tie(CorrelationKind::UserAnnotation, id))]
        });
        vec![records(&WORK), records(&CALLS), ties.flatten().collect()]
    }

    /// The arrows' numbers that start at a call and end on a stream with work.
    fn arrows(&self) -> BTreeSet<u64> {
        let ends = |ph: &'static str| self.0.iter().filter(move |e| e["cat"] == "ac2g" && e["ph"] == ph);
        let starts: BTreeSet<u64> = ends("s").filter_map(|e| e["id"].as_u64()).collect();
        let streams: BTreeSet<_> = self.spans(&WORK).map(lane).collect();
        ends("f")
            .filter(|end| streams.contains(&lane(end)))
            .filter_map(|e| e["id"].as_u64())
            .filter(|id| starts.contains(id))
            .collect()
    }
}

/// The annotation that was open on the call's thread and began last.
fn innermost_around(call: &Value, annotations: &[&Value]) -> Option<u64> {
    let (at_ns, _) = interval_ns(call);
    let open = annotations.iter().filter(|span| {
        let (start_ns, end_ns) = interval_ns(span);
        span["tid"] == call["tid"] && (start_ns..=end_ns).contains(&at_ns)
    });
    open.max_by_key(|span| interval_ns(span).0).map(|span| number(span, "External id"))
}

fn lane(event: &Value) -> (u64, i64) {
    // Host threads may have negative numbers, processes have not; what is neither has words.
    (event["pid"].as_u64().unwrap_or(u64::MAX), event["tid"].as_i64().unwrap_or(i64::MIN))
}

fn name(span: &Value) -> Arc<str> {
    span["name"].as_str().unwrap().into()
}

fn number(span: &Value, key: &str) -> u64 {
    span["args"][key].as_u64().unwrap_or(0)
}

fn interval_ns(span: &Value) -> (i64, i64) {
    let ns = |key: &str| (span[key].as_f64().unwrap() * 1_000.0).round() as i64;
    (ns("ts"), ns("ts") + ns("dur"))
}

fn record(span: &Value) -> DeviceRecord {
    let (start_ns, end_ns) = interval_ns(span);
    DeviceRecord {
        kind: Category::of_name(span["cat"].as_str().unwrap()).unwrap(),
        name: name(span),
        start_ns,
        end_ns,
        device: lane(span).0 as u32,
        stream: lane(span).1 as u64,
        correlation: number(span, "correlation"),
        graph: None,
    }
}

/// Every piece of work belongs to the op Kineto says, or to none where Kineto names none.
fn check_ops(file: &str, trace: &Trace, ops: &HashMap<u64, HostOp>, joined: &Joined) {
    let place = |r: &DeviceRecord| (r.correlation, r.start_ns, r.device, r.stream);
    let found: HashMap<_, _> = joined.activities.iter().map(|activity| (place(&activity.record), activity.op)).collect();
    for span in trace.spans(&WORK) {
        let wrote = Some(number(span, "External id")).filter(|id| ops.contains_key(id));
        assert_eq!(found[&place(&record(span))], wrote, "{file}: {span}");
    }
}

/// All of Kineto's arrows; more only for fills, to which it has none on ROCm.
fn check_arrows(file: &str, trace: &Trace, joined: &Joined) {
    let theirs = trace.arrows();
    let mut ours = BTreeSet::new();
    for (call, pairs) in joined.launches() {
        let fills = pairs.iter().all(|pair| joined.activities[pair.1].record.kind == Category::GPU_MEMSET);
        if !fills || theirs.contains(&call.record.correlation) {
            ours.insert(call.record.correlation);
        }
    }
    assert_eq!(ours, theirs, "{file}");
    assert_eq!(joined.oddities.early_starts, 0, "{file}");
}

/// The same ranges; Kineto draws them a little wider.
fn check_annotations(file: &str, trace: &Trace, joined: &Joined) {
    let theirs = trace.spans(&["gpu_user_annotation"]).map(|span| {
        let (device, stream) = lane(span);
        ((number(span, "External id"), device as u32, stream as u64), interval_ns(span))
    });
    let theirs: BTreeMap<_, _> = theirs.collect();
    let ours: BTreeMap<_, _> =
        joined.annotations.iter().map(|s| ((s.op, s.device, s.stream), (s.start_ns, s.end_ns))).collect();
    assert!(ours.keys().eq(theirs.keys()), "{file}: {ours:?}, Kineto {theirs:?}");
    for ((start_ns, end_ns), wrote) in ours.values().zip(theirs.values()) {
        assert!(
            (start_ns - wrote.0).abs() <= WIDER_NS && (end_ns - wrote.1).abs() <= WIDER_NS,
            "{file}: {start_ns} {end_ns} {wrote:?}"
        );
    }
}

#[test]
fn links_are_those_kineto_wrote() {
    let Some(corpus) = rankscope_testkit::given(rankscope_testkit::Need::Corpus) else { return };
    for file in TRACES {
        let trace = Trace::read(&corpus.join(format!("traces/kineto/{file}.json.gz")));
        let ops = trace.ops();
        let joined = join(trace.buffers(&ops), &ops, &(i64::MIN..=i64::MAX));
        assert!(!joined.pairs.is_empty() && !joined.annotations.is_empty(), "{file}");
        check_ops(file, &trace, &ops, &joined);
        check_arrows(file, &trace, &joined);
        check_annotations(file, &trace, &joined);
    }
}
