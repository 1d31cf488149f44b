//! Every rule of a single trace, on the smallest trace that keeps it and the smallest that breaks it.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use proptest::prelude::*;
use rankscope_align::validate::{Check, Rule, Weight, check_trace};
use rankscope_formats::{ArgsPolicy, ReadOptions, read};
use rankscope_trace::{CategoryKind, FlowPhase, FlowPoint, SpanRow, StrId, Trace, TrackKey, TrackKind};

/// The trace of these events, each the inside of a JSON object.
fn trace(events: &[&str]) -> Trace {
    let events = events.iter().map(|event| format!("{{{event}}}")).collect::<Vec<_>>().join(",\n");
    let text = format!("{{\"schemaVersion\": 1, \"traceEvents\": [\n{events}\n]}}");
    let options = ReadOptions::default().with_label("rank0.json").with_args(ArgsPolicy::All);
    read(std::io::Cursor::new(text.into_bytes()), &options).unwrap().remove(0).trace.unwrap()
}

/// How much `rule` judged in these events, and what it found.
fn ask(rule: Rule, events: &[&str]) -> (u64, u64) {
    let Check { judged, found, findings, .. } =
        check_trace(&trace(events)).into_iter().find(|check| check.rule == rule).unwrap();
    assert_eq!(findings.len() as u64, found);
    (judged, found)
}

const LAUNCH: &str = r#""ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":100,"dur":5,"args":{"External id":7,"correlation":3}"#;

fn kernel(ts: u32, dur: u32) -> String {
    format!(
        r#""ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":{ts},"dur":{dur},"args":{{"External id":7,"correlation":3,"device":0,"stream":7}}"#
    )
}

fn sync(kind: &str, ts: u32, reference: &str) -> String {
    format!(
        r#""ph":"X","cat":"cuda_sync","name":"{kind}","pid":0,"tid":20,"ts":{ts},"dur":2,"args":{{"cuda_sync_kind":"{kind}","device":0,"stream":7{reference}}}"#
    )
}

#[test]
fn every_rule_of_a_trace_is_asked_once_and_in_order() {
    let asked: Vec<Rule> = check_trace(&trace(&[LAUNCH])).iter().map(|check| check.rule).collect();
    assert_eq!(asked, Rule::OF_TRACE);
}

#[test]
fn a_kernel_starts_after_its_launch() {
    assert_eq!(ask(Rule::KernelAfterLaunch, &[LAUNCH, &kernel(100, 9)]), (1, 0));
    assert_eq!(ask(Rule::KernelAfterLaunch, &[LAUNCH, &kernel(99, 9)]), (1, 1));
    // The first kernel of the id counts, wherever it stands.
    assert_eq!(ask(Rule::KernelAfterLaunch, &[&kernel(120, 9), LAUNCH, &kernel(90, 9)]), (1, 1));
    let of_none = [LAUNCH, &kernel(90, 9)].map(|event| event.replace("\"External id\":7", "\"External id\":0"));
    assert_eq!(ask(Rule::KernelAfterLaunch, &of_none.each_ref().map(String::as_str)), (0, 0));
    let copy = kernel(90, 9).replace("\"kernel\"", "\"gpu_memcpy\"");
    assert_eq!(ask(Rule::KernelAfterLaunch, &[LAUNCH, &copy]), (0, 0));
}

#[test]
fn a_wait_names_the_record_of_its_event() {
    let named = r#","wait_on_cuda_event_record_corr_id":5"#;
    let unknown = r#","wait_on_cuda_event_record_corr_id":-1"#;
    for kind in ["Stream Wait Event", "Event Sync"] {
        assert_eq!(ask(Rule::WaitNamesRecord, &[&record(5), &sync(kind, 100, named)]), (1, 0));
        assert_eq!(ask(Rule::WaitNamesRecord, &[&sync(kind, 100, unknown)]), (1, 1));
        assert_eq!(ask(Rule::WaitNamesRecord, &[&sync(kind, 100, "")]), (1, 1));
    }
    assert_eq!(ask(Rule::WaitNamesRecord, &[&sync("Context Sync", 100, "")]), (0, 0));
}

fn record(ts: u32) -> String {
    format!(
        r#""ph":"X","cat":"cuda_runtime","name":"cudaEventRecord","pid":9,"tid":9,"ts":{ts},"dur":1,"args":{{"correlation":5}}"#
    )
}

#[test]
fn what_a_stream_waits_for_was_recorded_before() {
    let wait = sync("Stream Wait Event", 100, r#","wait_on_cuda_event_record_corr_id":5"#);
    assert_eq!(ask(Rule::RecordBeforeWait, &[&record(100), &wait]), (1, 0));
    assert_eq!(ask(Rule::RecordBeforeWait, &[&record(101), &wait]), (1, 1));
    assert_eq!(ask(Rule::RecordBeforeWait, &[&record(101), &wait, &record(50)]), (1, 0));
    // The recording may have begun between the two: what is not there is missing, and no contradiction.
    assert_eq!(ask(Rule::RecordBeforeWait, &[&wait]), (0, 0));
    assert_eq!(ask(Rule::WaitNamesRecord, &[&wait]), (1, 1));
    let host = sync("Event Sync", 100, r#","wait_on_cuda_event_record_corr_id":5"#);
    assert_eq!(ask(Rule::RecordBeforeWait, &[&host]), (0, 0));
}

#[test]
fn a_synchronised_stream_is_idle() {
    let at = |ts| sync("Stream Sync", ts, "");
    assert_eq!(ask(Rule::StreamIdleAtSync, &[&kernel(100, 10), &at(110)]), (1, 0));
    assert_eq!(ask(Rule::StreamIdleAtSync, &[&kernel(100, 10), &at(100)]), (1, 0));
    assert_eq!(ask(Rule::StreamIdleAtSync, &[&kernel(100, 10), &at(105)]), (1, 1));
    let elsewhere = kernel(100, 10).replace("\"stream\":7", "\"stream\":8");
    assert_eq!(ask(Rule::StreamIdleAtSync, &[&elsewhere, &at(105)]), (1, 0));
}

#[test]
fn two_kernels_running_at_a_synchronisation_are_two_violations() {
    let events = [kernel(100, 10), kernel(103, 4), kernel(90, 5), sync("Stream Sync", 105, "")];
    let checks = check_trace(&trace(&events.each_ref().map(String::as_str)));
    let check = checks.iter().find(|check| check.rule == Rule::StreamIdleAtSync).unwrap();
    assert_eq!((check.found, check.findings.len()), (2, 1));
    assert_eq!(check.findings[0].gap_ns, Some(5_000));
}

#[test]
fn only_what_cannot_have_happened_is_a_violation() {
    for rule in [Rule::CollectiveFields, Rule::WaitNamesRecord] {
        assert_eq!(rule.weight(), Weight::Warning, "{}: missing metadata", rule.name());
    }
    assert_eq!(Rule::BackwardName.weight(), Weight::Loss, "an arrow to the wrong place");
    for rule in [Rule::KernelAfterLaunch, Rule::RecordBeforeWait, Rule::StreamIdleAtSync] {
        assert_eq!(rule.weight(), Weight::Violation, "{}", rule.name());
    }
}

#[test]
fn kernels_without_operators_are_tied_to_their_launches_by_correlation() {
    let event = |category: &str, name: &str, ts: u32| {
        format!(r#""ph":"X","cat":"{category}","name":"{name}","pid":9,"tid":9,"ts":{ts},"dur":5,"args":{{"correlation":5}}"#)
    };
    let (launch, again) = (event("cuda_runtime", "launch", 100), event("cuda_runtime", "launch", 200));
    assert_eq!(ask(Rule::KernelAfterLaunch, &[&launch, &event("kernel", "k", 101)]), (1, 0));
    assert_eq!(ask(Rule::KernelAfterLaunch, &[&launch, &event("kernel", "k", 99)]), (1, 1));
    assert_eq!(ask(Rule::KernelAfterLaunch, &[&launch, &again, &event("kernel", "k", 99)]), (0, 0), "whose it is is not known");
}

#[test]
fn asynchronous_spans_need_not_nest() {
    let half =
        |phase: char, id: u32, ts: u32| format!(r#""ph":"{phase}","cat":"a","name":"a","id":{id},"pid":9,"tid":1,"ts":{ts}"#);
    let events = [half('b', 1, 100), half('b', 2, 105), half('e', 1, 110), half('e', 2, 120)];
    assert_eq!(ask(Rule::Nesting, &events.each_ref().map(String::as_str)), (0, 0));
}

#[test]
fn a_collective_tells_its_fields() {
    let operator = |args: &str| {
        format!(r#""ph":"X","cat":"cpu_op","name":"record_param_comms","pid":9,"tid":9,"ts":1,"dur":1,"args":{{{args}}}"#)
    };
    let all = r#""Collective name":"allreduce","dtype":"Float","In msg nelems":4,"Out msg nelems":4,"Group size":2"#;
    assert_eq!(ask(Rule::CollectiveFields, &[&operator(all)]), (1, 0));
    for field in ["Collective name", "dtype", "In msg nelems", "Out msg nelems", "Group size"] {
        assert_eq!(ask(Rule::CollectiveFields, &[&operator(&all.replace(field, "other"))]), (1, 1), "{field}");
    }
}

#[test]
fn a_sequence_number_belongs_to_one_backward_operator() {
    let evaluated = |name: &str, number: u32, ts: u32| {
        format!(
            r#""ph":"X","cat":"cpu_op","name":"autograd::engine::evaluate_function: {name}","pid":9,"tid":9,"ts":{ts},"dur":1,"args":{{"Sequence number":{number}}}"#
        )
    };
    let (add, again) = (evaluated("AddBackward0", 5, 1), evaluated("AddBackward0", 5, 3));
    assert_eq!(ask(Rule::BackwardName, &[&add, &again]), (1, 0));
    assert_eq!(ask(Rule::BackwardName, &[&add, &evaluated("MulBackward0", 6, 3)]), (2, 0));
    assert_eq!(ask(Rule::BackwardName, &[&add, &evaluated("MulBackward0", 5, 3), &again]), (1, 1));
    assert_eq!(ask(Rule::BackwardName, &[&evaluated("A", 0, 1), &evaluated("B", 0, 3)]), (0, 0));
}

fn op(name: &str, tid: u32, ts: &str, dur: &str) -> String {
    format!(r#""ph":"X","cat":"cpu_op","name":"{name}","pid":9,"tid":{tid},"ts":{ts},"dur":{dur}"#)
}

#[test]
fn spans_of_a_thread_nest_or_follow_each_other() {
    let outer = op("outer", 1, "100", "50");
    for (inner, found) in [
        (op("inside", 1, "110", "40"), 0),
        (op("over", 1, "110", "40.001"), 1),
        (op("after", 1, "150", "10"), 0),
        (op("same", 1, "100", "50"), 0),
        (op("around", 1, "100", "90"), 0),
        (op("elsewhere", 2, "110", "90"), 0),
        (op("nothing", 1, "150", "0"), 0),
    ] {
        assert_eq!(ask(Rule::Nesting, &[&outer, &inner]), (2, found), "{inner}");
    }
    // What is left out hides nothing that comes after it.
    let third = op("third", 1, "160", "5");
    assert_eq!(ask(Rule::Nesting, &[&outer, &op("over", 1, "110", "52"), &third]), (3, 1));
}

#[test]
fn arrows_begin_once_and_end_later_within_spans() {
    let point = |phase: char, id: u32, ts: u32| {
        format!(r#""ph":"{phase}","cat":"fwdbwd","name":"fwdbwd","id":{id},"pid":9,"tid":1,"ts":{ts},"bp":"e""#)
    };
    let (a, b) = (op("a", 1, "100", "10"), op("b", 1, "200", "10"));
    for (points, [id, begin, enclosed, forward]) in [
        (vec![point('s', 1, 100), point('f', 1, 200)], [0, 0, 0, 0]),
        (vec![point('s', 1, 100), point('s', 1, 105), point('f', 1, 200)], [1, 0, 0, 0]),
        (vec![point('f', 1, 200)], [0, 1, 0, 0]),
        (vec![point('s', 1, 100), point('f', 2, 200)], [0, 1, 0, 0]),
        (vec![point('s', 1, 111), point('f', 1, 200)], [0, 0, 1, 0]),
        (vec![point('s', 1, 200), point('f', 1, 100)], [0, 0, 0, 1]),
        (vec![point('f', 1, 210), point('s', 1, 110)], [0, 0, 0, 0]),
    ] {
        let events: Vec<&str> = [&a, &b].into_iter().chain(&points).map(String::as_str).collect();
        let rules = [Rule::FlowId, Rule::FlowBegin, Rule::FlowEnclosed, Rule::FlowForward];
        assert_eq!(rules.map(|rule| ask(rule, &events).1), [id, begin, enclosed, forward], "{points:?}");
    }
}

#[test]
fn losses_and_odd_times_are_warnings() {
    let cut = format!(r#"{},"args":{{"finished":false}}"#, op("cut", 1, "100", "10"));
    assert_eq!(ask(Rule::Unfinished, &[&cut, &op("whole", 1, "120", "10")]), (2, 1));
    assert_eq!(ask(Rule::Unfinished, &[r#""ph":"B","name":"open","pid":1,"tid":1,"ts":5"#, LAUNCH]).1, 1);
    assert_eq!(ask(Rule::Duration, &[&op("backward", 1, "100", "-3"), LAUNCH]), (2, 1));
    assert_eq!(ask(Rule::Damage, &[r#""ph":"X","name":"timeless","pid":1,"tid":1,"dur":5"#, LAUNCH]).1, 1);
    assert_eq!(ask(Rule::Damage, &[LAUNCH]), (1, 0));
}

#[test]
fn a_stamp_of_another_epoch_is_outside() {
    let mut events: Vec<String> =
        (0..40).map(|at| op("a", 1, &format!("{}", 1_700_000_000_000_000_u64 + at * 1_000), "9")).collect();
    let as_is: Vec<&str> = events.iter().map(String::as_str).collect();
    assert_eq!(ask(Rule::Outside, &as_is), (40, 0));
    events.push(op("zero", 1, "0", "9"));
    let with_zero: Vec<&str> = events.iter().map(String::as_str).collect();
    assert_eq!(ask(Rule::Outside, &with_zero), (41, 1));
}

fn any_ns() -> impl Strategy<Value = i64> {
    prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0), -50i64..50, any::<i64>()]
}

proptest! {
    /// No stamp is too odd to be judged, and nothing is found more often than it was looked at.
    #[test]
    fn any_stamps_are_judged(
        spans in prop::collection::vec((any_ns(), any_ns(), 0u8..3, 0u64..3), 0..30),
        points in prop::collection::vec((any_ns(), 0u64..3, 0u8..3), 0..10)
    ) {
        let mut trace = Trace::default();
        let process = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(1));
        let track = trace.tracks.find_or_add(TrackKind::Thread, Some(process), TrackKey::Number(1));
        let kinds = [CategoryKind::Kernel, CategoryKind::Runtime, CategoryKind::Sync];
        let categories = kinds.map(|kind| trace.category("any", kind));
        let name = trace.strings.intern("cudaLaunchKernel");
        for (start_ns, dur_ns, category, id) in spans {
            let (category, dur_ns) = (categories[usize::from(category)], dur_ns.max(0));
            let span = trace.spans.push(SpanRow { start_ns, dur_ns, name, track, category, offset: 0 });
            trace.external_ids.push(span, id);
        }
        for (time_ns, id, phase) in points {
            let phase = [FlowPhase::Start, FlowPhase::Step, FlowPhase::End][usize::from(phase)];
            trace.flows.push(FlowPoint { id, category: 0, name: StrId::EMPTY, phase, track, time_ns });
        }
        for check in check_trace(&trace) {
            prop_assert!(check.found <= check.judged, "{check:?}");
        }
    }
}
