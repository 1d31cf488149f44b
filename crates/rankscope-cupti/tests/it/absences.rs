//! Every way in which there is no CUPTI: the program ends well, its spans are recorded, and the reason is said once.

use std::os::unix::process::ExitStatusExt;

use super::stage::{Fake, Played, Stage, metadata, named};

const SCRIPT: &str = "span forward\nend";

/// A session of a program that goes on without devices. The reason, in words.
fn reason(stage: &Stage) -> String {
    let played = stage.play("once", SCRIPT);
    recorded_without(&played)
}

fn recorded_without(played: &Played) -> String {
    let trace = played.trace();
    assert_eq!((named(&trace, "forward").len(), trace.spans.len()), (1, 1));
    assert_eq!(played.said("failures"), Some("[]"), "an absence is no failure");
    let reason = played.said("absent").unwrap_or_else(|| panic!("{}", played.stdout)).to_owned();
    let recorded: String = serde_json::from_str(metadata(&trace, "cupti.absent").unwrap()).unwrap();
    assert_eq!(recorded, reason);
    reason
}

#[test]
fn without_a_driver_nothing_of_cupti_is_touched() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let stage = stage.with("RANKSCOPE_CUDA_LIBRARY", "/no/such/libcuda.so.1");
    let reason = reason(&stage);
    assert!(reason.starts_with("no driver: ") && reason.contains("/no/such/libcuda.so.1"), "{reason}");
    assert_eq!(stage.says(), [""; 0]);
}

#[test]
fn a_driver_that_does_not_come_up_ends_the_search() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let stage = stage.with("FAKE_CUDA", "100");
    assert_eq!(reason(&stage), "the driver does not come up: cuInit returned 100 (no device)");
    assert_eq!(stage.says(), [""; 0]);
}

#[test]
fn a_library_that_is_no_driver_is_named() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let cupti = stage.library("now/libcupti.so.12");
    let stage = stage.with("RANKSCOPE_CUDA_LIBRARY", cupti.clone());
    assert_eq!(reason(&stage), format!("{cupti} is no driver: it lacks cuInit"));
}

#[test]
fn a_version_that_ends_the_process_is_not_called_where_there_is_no_driver() {
    let Some(stage) = Stage::new(Fake::Now, "13.2") else { return };
    // With a driver it is called, and the library does what it does: this is what the order is for.
    assert_eq!(stage.run("once", SCRIPT).output.status.signal(), Some(11));
    let stage = stage.with("RANKSCOPE_CUDA_LIBRARY", "/no/such/libcuda.so.1");
    assert!(reason(&stage).starts_with("no driver: "));
}

#[test]
fn versions_without_a_device_are_absent_by_what_they_answer() {
    for (who, expected) in [
        ("12.9", "cuptiSubscribe returned error 15 (not initialised)"),
        ("early", "cuptiActivityEnable returned error 15 (not initialised)"),
        ("13.1", "cuptiActivityEnable returned error 999 (unknown error)"),
        ("13.3", "cuptiGetVersion returned error 999 (unknown error)"),
    ] {
        let Some(stage) = Stage::new(Fake::Now, who) else { return };
        let reason = reason(&stage);
        assert!(reason.ends_with(expected) && reason.contains("libcupti.so.12: "), "{who}: {reason}");
        assert_eq!(stage.says(), ["cuptiGetVersion"], "{who}");
    }
}

#[test]
fn another_profiler_is_named_where_it_can_be() {
    let Some(stage) = Stage::new(Fake::Now, "taken") else { return };
    assert_eq!(
        reason(&stage),
        "another profiler has CUPTI (CUPTI for somebody else): error 39 (another profiler is subscribed)"
    );
    let Some(stage) = Stage::new(Fake::Old, "taken") else { return };
    assert_eq!(reason(&stage), "another profiler has CUPTI: error 39 (another profiler is subscribed)");
}

#[test]
fn a_library_in_another_mode_is_left_to_whoever_put_it_there() {
    let Some(stage) = Stage::new(Fake::Now, "incompatible") else { return };
    let expected = "another profiler has CUPTI: error 14 (not compatible with how CUPTI is used already)";
    assert_eq!(reason(&stage), expected);
}

#[test]
fn a_library_that_is_not_there_or_not_cupti_is_named() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let driver = stage.library("libcuda.so.1");
    let stage = stage.with("RANKSCOPE_CUPTI_LIBRARY", "/no/such/libcupti.so.12");
    let absent = reason(&stage);
    assert!(absent.starts_with("CUPTI is not installed: /no/such/libcupti.so.12: "), "{absent}");
    let stage = stage.with("RANKSCOPE_CUPTI_LIBRARY", driver.clone());
    assert_eq!(reason(&stage), format!("{driver} lacks cuptiGetVersion"));
}

#[test]
fn what_nobody_has_looked_at_is_not_read() {
    let Some(stage) = Stage::new(Fake::Now, "old") else { return };
    let reason = reason(&stage);
    assert!(reason.ends_with("is of version 18, and the oldest that is read is 19 (CUDA 12.0)"), "{reason}");
}

#[test]
fn a_clock_that_is_none_of_the_hosts_is_not_guessed_at() {
    let Some(stage) = Stage::new(Fake::Now, "elsewhen") else { return };
    let reason = reason(&stage);
    let told = reason
        .strip_prefix("CUPTI's clock is none of the host's: it is ")
        .and_then(|rest| rest.strip_suffix(" ns from the wall clock"));
    let ahead_ns: i64 = told.unwrap_or_else(|| panic!("{reason}")).parse().unwrap();
    assert!(ahead_ns.abs_diff(5_000_000_000) < 1_000_000_000, "{reason}");
}

#[test]
fn a_second_session_leaves_the_first_what_it_has() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let played = stage.play("beside", "kernel 1 1000 2000 0 7 208 0 0 gemm\nuntil 100000");
    assert_eq!(played.said("second"), Some("Some(InUse)"));
    assert_eq!(named(&played.trace(), "gemm").len(), 1);
}
