//! Kineto's traps (specification, section 1.7), a test for each row: what happens here instead. Rows about the text of a trace
//! file are tested where it is written.

use rankscope_record::kineto::{
    Activities, Op, RecordFunction, WhyEmpty, disable_profiler, disable_profiler_in_child_thread, enable_profiler,
    enable_profiler_in_child_thread,
};
use rankscope_record::{Category, Empty, Site, Value, intern_key};
use rankscope_record::{MemoryEvent, Scope, Session, SessionOptions, begin, memory, record_function, record_op};

use crate::{alone, event, kineto, names, profiled, word};

#[test]
fn stop_without_start_and_stop_twice_are_errors() {
    let _alone = alone();
    assert_eq!(word(&disable_profiler().unwrap_err()), "NotEnabled");
    profiled(kineto(), || ());
    assert_eq!(word(&disable_profiler().unwrap_err()), "NotEnabled");
}

#[test]
fn a_nested_enable_is_refused_and_the_outer_keeps_its_data() {
    let _alone = alone();
    let result = profiled(kineto(), || {
        drop(record_op!("first"));
        assert_eq!(word(&enable_profiler(kineto(), Activities::CPU, &[]).unwrap_err()), "AlreadyEnabled");
        drop(record_op!("second"));
    });
    assert_eq!(names(&result), ["first", "second"]);
}

#[test]
fn core_sessions_nest_beside_the_face() {
    let _alone = alone();
    let session = Session::start(SessionOptions::default()).unwrap();
    drop(record_op!("before"));
    let result = profiled(kineto(), || drop(record_op!("both")));
    drop(record_op!("after"));
    assert_eq!(names(&result), ["both"]);
    assert_eq!(session.stop().unwrap().report.events(), 3);
}

#[test]
fn start_here_and_stop_there_gives_the_events() {
    let _alone = alone();
    enable_profiler(kineto(), Activities::CPU, &[]).unwrap();
    drop(record_op!("here"));
    let result = std::thread::spawn(|| {
        drop(record_op!("there"));
        disable_profiler().unwrap()
    });
    let result = result.join().unwrap();
    assert_eq!(names(&result), ["here", "there"]);
    assert_ne!(event(&result, "here").start_thread_id(), event(&result, "there").start_thread_id());
}

#[test]
fn workers_are_recorded_whether_they_join_or_not_and_so_is_their_memory() {
    let _alone = alone();
    let mut config = kineto();
    config.profile_memory = true;
    let result = profiled(config, || {
        let work = |joins: bool| {
            if joins {
                enable_profiler_in_child_thread().unwrap();
                assert_eq!(word(&enable_profiler_in_child_thread().unwrap_err()), "AlreadyJoined");
            }
            drop(record_op!("work"));
            memory(&MemoryEvent { bytes: 8, ..MemoryEvent::default() });
            if joins {
                disable_profiler_in_child_thread().unwrap();
                assert_eq!(word(&disable_profiler_in_child_thread().unwrap_err()), "NotJoined");
            }
        };
        [true, false].into_iter().for_each(|joins| std::thread::spawn(move || work(joins)).join().unwrap());
    });
    assert_eq!(names(&result), ["work", "[memory]", "work", "[memory]"]);
}

#[test]
fn a_thread_may_leave_after_the_profiler_is_gone_and_join_the_next() {
    let _alone = alone();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let (done, joined) = std::sync::mpsc::channel::<()>();
    enable_profiler(kineto(), Activities::CPU, &[]).unwrap();
    let worker = std::thread::spawn(move || {
        enable_profiler_in_child_thread().unwrap();
        done.send(()).unwrap();
        wait.recv().unwrap();
        enable_profiler_in_child_thread().unwrap();
        disable_profiler_in_child_thread().unwrap();
    });
    joined.recv().unwrap();
    disable_profiler().unwrap();
    enable_profiler(kineto(), Activities::CPU, &[]).unwrap();
    go.send(()).unwrap();
    worker.join().unwrap();
    disable_profiler().unwrap();
}

#[test]
fn reading_while_recording_cannot_be_written_down() {
    // Events are reached through the result of disabling only; the session beneath can be looked at while it runs.
    let _alone = alone();
    let session = Session::start(SessionOptions::default()).unwrap();
    drop(record_op!("op"));
    let so_far = session.snapshot().unwrap();
    assert!(so_far.open().unwrap().threads().iter().any(|thread| thread.tid != 0));
    session.stop().unwrap();
}

#[test]
fn names_come_back_as_they_were_given() {
    let _alone = alone();
    let given = ["say \"hi\"", "tab\there", "späße 漢字 🦀", "line\nbreak", "back\\slash", "nul\0byte", ""];
    let result = profiled(kineto(), || given.iter().for_each(|name| drop(RecordFunction::named(name, Scope::UserScope))));
    assert_eq!(names(&result), given);
}

#[test]
fn keyword_values_and_file_names_with_quotes_come_back() {
    let _alone = alone();
    let mut config = kineto();
    (config.report_input_shapes, config.with_stack, config.experimental.verbose) = (true, true, true);
    let op =
        Op { kwinputs: &[("k\"ey", Value::Text("v\"al"))], call_stack: &["a\"b.py(1): f", "c\\d.py(2): g"], ..Op::new("op") };
    let result = profiled(config, || drop(RecordFunction::begin(&op)));
    let op = event(&result, "op");
    assert_eq!(op.stack(), ["a\"b.py(1): f", "c\\d.py(2): g"]);
    let json: serde_json::Value = serde_json::from_str(&op.metadata_json()).unwrap();
    assert_eq!(json["k\"ey"], "v\"al");
}

#[test]
fn memory_is_never_unfinished_and_has_no_such_field() {
    let _alone = alone();
    let mut config = kineto();
    config.profile_memory = true;
    let result = profiled(config, || memory(&MemoryEvent { bytes: 8, ..MemoryEvent::default() }));
    let taken = event(&result, "[memory]");
    assert!(!taken.is_unfinished() && taken.extra_meta().all(|(key, _)| key != "finished"));
}

#[test]
fn arguments_that_come_with_the_end_win() {
    let _alone = alone();
    static SITE: Site = Site::new("site", Category::CPU_OP);
    let key = intern_key("rows");
    let result = profiled(kineto(), || {
        begin(&SITE).end_with(&[(key, Value::I64(2))]);
        rankscope_record::begin_with(&SITE, &[(key, Value::I64(1))]).end_with(&[(key, Value::I64(3))]);
    });
    let rows: Vec<String> = result.events().unwrap().iter().map(|event| event.metadata_json()).collect();
    assert_eq!(rows, [r#"{"rows":2}"#, r#"{"rows":3}"#]);
}

#[test]
fn an_empty_result_says_why() {
    let _alone = alone();
    let result = profiled(kineto(), || drop(record_function!("used")));
    assert_eq!(result.why_empty(), None);
    let result = profiled(kineto(), || ());
    assert!(result.why_empty() == Some(WhyEmpty::Session(Empty::NothingBegan)));
}
