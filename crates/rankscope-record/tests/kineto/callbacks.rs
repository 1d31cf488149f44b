//! Callbacks at the begin and end of ops.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rankscope_record::Scope;
use rankscope_record::kineto::{
    CallbackHandle, Input, Op, RecordFunction, RecordFunctionCallback, Scopes, Tensor, add_global_callback,
    add_thread_local_callback,
};

use crate::{alone, event, kineto, profiled};

/// Removes a callback however the test ends.
struct Registered(CallbackHandle);

impl Drop for Registered {
    fn drop(&mut self) {
        self.0.remove();
    }
}

fn counter() -> (Arc<AtomicUsize>, RecordFunctionCallback) {
    let count = Arc::new(AtomicUsize::new(0));
    let counting = count.clone();
    let callback = RecordFunctionCallback::new(move |_| {
        counting.fetch_add(1, Ordering::Relaxed);
        None
    });
    (count, callback)
}

fn run(name: &str) {
    drop(RecordFunction::named(name, Scope::Function));
}

#[test]
fn begin_and_end_meet_with_what_was_kept() {
    let _alone = alone();
    let log = Arc::new(Mutex::new(Vec::new()));
    let (starting, ending) = (log.clone(), log.clone());
    let callback = RecordFunctionCallback::new(move |op| {
        starting.lock().unwrap().push(format!("+{} {}", op.name, op.inputs.len()));
        Some(Box::new(op.name.len()))
    });
    let callback = callback.needs_inputs().needs_outputs().on_end(move |op, kept| {
        let kept = kept.and_then(|kept| kept.downcast::<usize>().ok()).unwrap();
        ending.lock().unwrap().push(format!("-{} {} {kept}", op.name, op.outputs.len()));
    });
    let registered = Registered(add_global_callback(callback));
    let tensor = Input::Tensor(Tensor::default());
    let outer = RecordFunction::begin(&Op { inputs: &[tensor], ..Op::new("outer") });
    assert!(outer.is_watched() && !outer.is_recording());
    run("in");
    outer.end_with_outputs(&[tensor, tensor]);
    drop(registered);
    run("later");
    assert_eq!(*log.lock().unwrap(), ["+outer 1", "+in 0", "-in 0 2", "-outer 2 5"]);
}

#[test]
fn what_is_not_asked_for_is_not_told() {
    let _alone = alone();
    let told = Arc::new(Mutex::new(Vec::new()));
    let telling = told.clone();
    let plain = RecordFunctionCallback::new(move |op| {
        telling.lock().unwrap().push((op.inputs.len(), op.handle));
        None
    });
    let _plain = Registered(add_global_callback(plain));
    let (_, ids) = counter();
    let _ids = Registered(add_global_callback(ids.needs_ids()));
    let op = RecordFunction::begin(&Op { inputs: &[Input::Other("x")], ..Op::new("op") });
    assert_ne!(op.handle(), 0);
    assert_eq!(*told.lock().unwrap(), [(0, 0)]);
}

#[test]
fn ids_are_those_of_the_trace() {
    let _alone = alone();
    let last = Arc::new(AtomicU64::new(0));
    let telling = last.clone();
    let callback = RecordFunctionCallback::new(move |op| {
        telling.store(op.handle, Ordering::Relaxed);
        None
    });
    let _registered = Registered(add_global_callback(callback.needs_ids()));
    let result = profiled(kineto(), || run("op"));
    assert_ne!(last.load(Ordering::Relaxed), 0);
    assert_eq!(event(&result, "op").record_function_id(), last.load(Ordering::Relaxed));
}

#[test]
fn scopes_and_threads_are_kept_apart() {
    let _alone = alone();
    let (own, callback) = counter();
    let _own = Registered(add_thread_local_callback(callback));
    let (users, callback) = counter();
    let _users = Registered(add_global_callback(callback.in_scopes(Scopes::of(&[Scope::UserScope]))));
    run("here");
    std::thread::spawn(|| {
        run("there");
        drop(RecordFunction::named("user", Scope::UserScope));
    })
    .join()
    .unwrap();
    assert_eq!((own.load(Ordering::Relaxed), users.load(Ordering::Relaxed)), (1, 1));
}

#[test]
fn sampling_is_seeded_and_near_its_probability() {
    let _alone = alone();
    let sampled = |probability, seed| {
        let (count, callback) = counter();
        let _registered = Registered(add_global_callback(callback.sampling(probability, seed)));
        let calls: Vec<usize> = (0..10_000)
            .map(|_| {
                run("op");
                count.load(Ordering::Relaxed)
            })
            .collect();
        calls
    };
    let quarter = sampled(0.25, 7);
    assert_eq!(quarter, sampled(0.25, 7), "the same seed chooses the same ops");
    assert_ne!(quarter, sampled(0.25, 8));
    // Five standard deviations of a binomial of 10,000 at a quarter.
    assert!(quarter[9_999].abs_diff(2_500) < 217, "{}", quarter[9_999]);
    assert_eq!((sampled(0.0, 1)[9_999], sampled(1.0, 1)[9_999], sampled(f64::NAN, 1)[9_999]), (0, 10_000, 0));
}

#[test]
fn a_callback_that_runs_ops_is_not_called_for_them() {
    let _alone = alone();
    let count = Arc::new(AtomicUsize::new(0));
    let (starting, ending) = (count.clone(), count.clone());
    let callback = RecordFunctionCallback::new(move |_| {
        starting.fetch_add(1, Ordering::Relaxed);
        run("within");
        None
    });
    let callback = callback.on_end(move |_, _| {
        ending.fetch_add(1, Ordering::Relaxed);
        run("within");
    });
    let _registered = Registered(add_global_callback(callback));
    let result = profiled(kineto(), || run("op"));
    assert_eq!(count.load(Ordering::Relaxed), 2);
    let names: Vec<_> = result.events().unwrap().iter().map(|event| event.name()).collect();
    assert_eq!(names, ["within", "op", "within"], "recorded all the same, and not inside the op");
}

#[test]
fn a_callback_can_be_paused_and_removed_while_ops_are_open() {
    let _alone = alone();
    let ends = Arc::new(AtomicUsize::new(0));
    let ending = ends.clone();
    let (starts, callback) = counter();
    let handle = add_global_callback(callback.on_end(move |_, _| _ = ending.fetch_add(1, Ordering::Relaxed)));
    handle.set_enabled(false);
    run("paused");
    handle.set_enabled(true);
    let open = RecordFunction::named("open", Scope::Function);
    assert!(handle.remove());
    assert!(!handle.remove(), "it is gone");
    run("removed");
    drop(open);
    assert_eq!((starts.load(Ordering::Relaxed), ends.load(Ordering::Relaxed)), (1, 1), "who saw the begin sees the end");
}
