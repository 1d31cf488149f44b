//! What comes out: events with all their fields, toggles, backends' events, handles, memory (specification, tests 8, 9, 10, 26).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rankscope_record::kineto::{
    Activities, EventType, FlowType, Input, Metadata, Op, ProfilerConfig, ProfilerState, RecordFunction, Shape, Tensor,
    current_thread_id, disable_profiler, enable_profiler, enable_profiler_with_event_post_process, export_memory_profile,
    report_backend_event_to_active_profiler, start_memory_profile, stop_memory_profile, toggle_collection_dynamic,
};
use rankscope_record::{Category, record_op};
use rankscope_record::{MemoryEvent, Scope, Value, begin_async, begin_step, intern, memory, record_function};

use crate::{alone, event, kineto, names, profiled};

fn everything() -> ProfilerConfig {
    let mut config = kineto();
    config.report_input_shapes = true;
    config.profile_memory = true;
    config.with_stack = true;
    config.with_flops = true;
    config.with_modules = true;
    config.experimental.verbose = true;
    config.experimental.capture_overload_names = true;
    config
}

const MATRIX: Tensor<'_> = Tensor { sizes: &[2, 3], strides: &[3, 1], dtype: "float" };
const OTHER: Tensor<'_> = Tensor { sizes: &[3, 4], strides: &[4, 1], dtype: "float" };
const INPUTS: &[Input<'_>] = &[Input::Tensor(MATRIX), Input::Tensor(OTHER), Input::Scalar(Value::F64(0.5))];

fn full_op() -> Op<'static> {
    Op {
        overload_name: "out",
        sequence_nr: 5,
        debug_handle: 77,
        inputs: INPUTS,
        kwinputs: &[("alpha", Value::Text("say \"hi\""))],
        call_stack: &["train.py(1): main", "model \"x\".py(2): forward"],
        module_hierarchy: &["Net", "Linear_0"],
        backend: "nnapi",
        ..Op::new("aten::mm")
    }
}

#[test]
fn every_field_of_an_op_comes_back() {
    let _alone = alone();
    let result = profiled(everything(), || drop(RecordFunction::begin(&full_op())));
    let op = event(&result, "aten::mm");
    assert_eq!(
        (op.event_type(), op.category(), op.record_scope()),
        (EventType::TorchOp, Some(Category::CPU_OP), Some(Scope::Function))
    );
    assert_eq!((op.overload_name(), op.sequence_nr(), op.fwd_thread_id(), op.debug_handle()), ("out", 5, 0, 77));
    assert_eq!(op.shapes(), [vec![2, 3], vec![3, 4], vec![]]);
    assert_eq!(op.structured_input_strides()[0], Shape::Tensor(vec![3, 1]));
    assert_eq!(op.dtypes(), ["float", "float", "Scalar"]);
    assert_eq!(op.concrete_inputs(), ["", "", "0.5"]);
    assert_eq!(op.kwinputs(), [(Arc::from("alpha"), Metadata::Text("say \"hi\"".into()))]);
    assert_eq!(op.metadata_json(), r#"{"alpha":"say \"hi\""}"#);
    assert_eq!(op.stack(), ["train.py(1): main", "model \"x\".py(2): forward"]);
    assert_eq!(
        (op.module_hierarchy(), op.backend(), op.flops()),
        (["Net", "Linear_0"].map(String::from).as_slice(), "nnapi", 48)
    );
    assert_eq!((op.start_thread_id(), op.end_thread_id(), op.is_async()), (current_thread_id(), current_thread_id(), false));
    assert_eq!((op.device_type(), op.device_index(), op.device_resource_id()), (0, -1, current_thread_id() as i64));
    assert!(op.correlation_id() != 0 && op.external_id() == op.correlation_id() && !op.is_unfinished());
    assert!(op.duration_ns() >= 0 && op.start_ns() >= result.trace_start_ns());
}

#[test]
fn what_nobody_asked_for_is_not_kept() {
    let _alone = alone();
    let result = profiled(kineto(), || drop(RecordFunction::begin(&full_op())));
    let op = event(&result, "aten::mm");
    assert!(!op.has_shapes() && !op.has_types() && !op.has_concrete_inputs() && !op.has_kwinputs());
    assert!(!op.has_stack() && !op.has_module_hierarchy() && op.overload_name().is_empty() && op.flops() == 0);
    assert_eq!((op.sequence_nr(), op.debug_handle()), (5, 77));
}

#[test]
fn a_plain_span_has_the_defaults() {
    let _alone = alone();
    let result = profiled(everything(), || drop(record_function!("plain")));
    let plain = event(&result, "plain");
    assert_eq!((plain.scope(), plain.activity_type()), (Scope::UserScope as u8, Category::USER_ANNOTATION.number()));
    assert_eq!((plain.sequence_nr(), plain.debug_handle(), plain.fwd_thread_id(), plain.flow_id()), (-1, -1, 0, 0));
    assert_eq!((plain.python_id(), plain.python_parent_id(), plain.python_module_id()), (-1, -1, -1));
    assert_eq!((plain.cuda_elapsed_us(), plain.privateuse1_elapsed_us(), plain.n_bytes(), plain.flops()), (-1, -1, 0, 0));
    assert_eq!((plain.flow_type(), plain.flow_start(), plain.linked_correlation_id()), (FlowType::None, false, 0));
    assert!(!plain.is_hidden_event() && !plain.is_python_function() && plain.perf_event_counters().is_empty());
    assert_eq!((plain.metadata_json().as_str(), plain.extra_meta().count()), ("{}", 0));
}

#[test]
fn backward_hangs_on_forward_across_threads() {
    let _alone = alone();
    let forward_thread = current_thread_id();
    let result = profiled(kineto(), || {
        drop(RecordFunction::begin(&Op { sequence_nr: 9, ..Op::new("aten::relu") }));
        let backward = record_function!("loss.backward");
        let engine = move || {
            let scope = Scope::BackwardFunction;
            let op = Op { scope, sequence_nr: 9, forward_thread_id: forward_thread, ..Op::new("ReluBackward0") };
            drop(RecordFunction::begin(&op));
        };
        std::thread::spawn(engine).join().unwrap();
        drop(backward);
    });
    let (from, to, around) = (event(&result, "aten::relu"), event(&result, "ReluBackward0"), event(&result, "loss.backward"));
    assert_eq!((from.flow_type(), from.flow_start()), (FlowType::ForwardBackward, true));
    assert_eq!((to.flow_type(), to.flow_start(), to.flow_id()), (FlowType::ForwardBackward, false, from.flow_id()));
    assert_eq!(to.linked_correlation_id(), around.correlation_id(), "the backward op is inside the call that waits for it");
}

#[test]
fn scopes_narrow_what_becomes_an_event() {
    let _alone = alone();
    enable_profiler(kineto(), Activities::CPU, &[Scope::UserScope]).unwrap();
    {
        let _outer = record_function!("outer");
        let _op = record_op!("aten::add");
        let _inner = record_function!("inner");
    }
    let result = disable_profiler().unwrap();
    assert_eq!(names(&result), ["outer", "inner"]);
    assert_eq!(event(&result, "inner").linked_correlation_id(), event(&result, "outer").correlation_id());
}

#[test]
fn nothing_starts_while_the_host_is_off() {
    let _alone = alone();
    let result = profiled(kineto(), || {
        let across = record_function!("across");
        drop(record_function!("before"));
        toggle_collection_dynamic(false, Activities::CPU).unwrap();
        (0..100).for_each(|_| drop(record_function!("off")));
        let hidden = record_function!("hidden");
        toggle_collection_dynamic(true, Activities::CPU).unwrap();
        drop(record_function!("after"));
        drop(hidden);
        drop(across);
        drop(record_function!("last"));
    });
    assert_eq!(names(&result), ["across", "before", "after", "last"]);
    let crossing: Vec<bool> = result.events().unwrap().iter().map(|event| event.crosses_toggle()).collect();
    assert_eq!(crossing, [true, false, false, false]);
    assert!(result.events().unwrap().iter().all(|event| !event.is_unfinished()));
    assert_eq!(result.event_tree().unwrap().children(0), [1, 2], "the stack is as it was");
}

#[test]
fn a_backends_event_is_taken_from_any_thread_and_exact() {
    let _alone = alone();
    let report = |name: &'static str, start_us| {
        report_backend_event_to_active_profiler(start_us, start_us + 7, 42, Scope::Function, name, "nnapi").unwrap()
    };
    assert!(!report("too early", 1_700_000_000_000_001));
    let result = profiled(kineto(), || {
        assert!(report("here", 1_700_000_000_000_001));
        assert!(std::thread::spawn(move || report("there", 1_700_000_000_000_002)).join().unwrap());
    });
    assert_eq!(names(&result), ["here", "there"]);
    let there = event(&result, "there");
    assert_eq!((there.start_ns(), there.end_ns()), (1_700_000_000_000_002_000, 1_700_000_000_000_009_000));
    assert_eq!((there.event_type(), there.backend(), there.debug_handle()), (EventType::Backend, "nnapi", 42));
    assert_ne!(there.start_thread_id(), event(&result, "here").start_thread_id());
}

#[test]
fn handles_are_resolved_once_for_each_finished_event() {
    let _alone = alone();
    let asked = Arc::new(Mutex::new(BTreeMap::<i64, u32>::new()));
    let counting = asked.clone();
    let resolve = move |handle: i64, stack: &mut Vec<String>, modules: &mut Vec<String>| {
        *counting.lock().unwrap().entry(handle).or_default() += 1;
        stack.push(format!("frame of {handle}"));
        modules.push("Net".into());
    };
    enable_profiler_with_event_post_process(kineto(), Activities::CPU, resolve, &[]).unwrap();
    let op = |debug_handle| RecordFunction::begin(&Op { debug_handle, ..Op::new("op") });
    let open = op(1);
    (2..=4).for_each(|handle| drop(op(handle)));
    report_backend_event_to_active_profiler(1, 2, 5, Scope::Function, "backend", "nnapi").unwrap();
    memory(&MemoryEvent::default());
    assert!(asked.lock().unwrap().is_empty(), "not before the profiler is disabled");
    let result = disable_profiler().unwrap();
    drop(open);
    assert_eq!(*asked.lock().unwrap(), (2..=5).map(|handle| (handle, 1)).collect());
    assert_eq!(event(&result, "backend").stack(), ["frame of 5"]);
    let unfinished: Vec<_> = result.events().unwrap().iter().filter(|event| event.is_unfinished()).collect();
    assert!(unfinished.len() == 1 && unfinished[0].debug_handle() == 1 && !unfinished[0].has_stack());
}

#[test]
fn asynchronous_spans_and_steps_have_both_ends() {
    let _alone = alone();
    let name = intern("request", Category::USER_ANNOTATION, Scope::UserScope);
    let key = rankscope_record::intern_key("bytes");
    let result = profiled(kineto(), || {
        let _step = begin_step(12);
        let request = begin_async(name, &[]);
        std::thread::spawn(move || request.end(&[(key, Value::I64(7))])).join().unwrap();
    });
    let request = event(&result, "request");
    assert!(request.is_async() && !request.is_unfinished() && request.end_ns() >= request.start_ns());
    assert_eq!(request.typed_metadata(), [(Arc::from("bytes"), Metadata::I64(7))]);
    assert_eq!(request.linked_correlation_id(), event(&result, "ProfilerStep#12").correlation_id());
}

#[test]
fn memory_is_profiled_where_asked_and_its_history_is_json() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.json");
    start_memory_profile().unwrap();
    let take = |address, bytes| memory(&MemoryEvent { address, bytes, device_index: -1, ..MemoryEvent::default() });
    let mut config = ProfilerConfig::new(ProfilerState::Kineto);
    config.profile_memory = true;
    let result = profiled(config, || {
        let _around = record_function!("around");
        take(0xffff_8000_0000_0010, 64);
        memory(&MemoryEvent {
            bytes: 1 << 40,
            out_of_memory: true,
            device_type: 1,
            total_allocated: Some(64),
            ..MemoryEvent::default()
        });
    });
    let unasked = profiled(kineto(), || take(0xffff_8000_0000_0010, -64));
    stop_memory_profile().unwrap();
    export_memory_profile(&path).unwrap();
    assert_eq!(names(&result), ["around", "[memory]", "[OutOfMemory]"]);
    let taken = event(&result, "[memory]");
    assert_eq!(
        (taken.event_type(), taken.n_bytes(), taken.device_index(), taken.device_type()),
        (EventType::Allocation, 64, -1, 0)
    );
    assert_eq!(taken.linked_correlation_id(), event(&result, "around").correlation_id());
    assert_eq!(event(&result, "[OutOfMemory]").device_type(), 1);
    assert!(names(&unasked).is_empty());
    let history: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let events = history["events"].as_array().unwrap();
    let actions: Vec<_> =
        events.iter().map(|event| (event["action"].as_str().unwrap(), event["bytes"].as_u64().unwrap())).collect();
    assert_eq!(actions, [("alloc", 64), ("oom", 1 << 40), ("free", 64)]);
    assert_eq!(events[0]["addr"], "0xffff800000000010");
    assert_eq!((events[0].get("total_allocated"), &events[1]["total_allocated"]), (None, &64.into()));
}
