//! Every way in which there is no rocprofiler: the program ends well, its spans are recorded, and the reason is said once.

use super::stage::{Fake, Played, Stage, metadata, named};

const SCRIPT: &str = "span forward\nend";

/// A session of a program that goes on without devices. The reason, in words.
fn reason(stage: &Stage) -> String {
    recorded_without(&stage.play("once", SCRIPT))
}

fn recorded_without(played: &Played) -> String {
    let trace = played.trace();
    assert_eq!((named(&trace, "forward").len(), trace.spans.len()), (1, 1));
    assert_eq!(played.said("failures"), Some("[]"), "an absence is no failure");
    let reason = played.said("absent").unwrap_or_else(|| panic!("{}", played.stdout)).to_owned();
    let recorded: String = serde_json::from_str(metadata(&trace, "rocprofiler.absent").unwrap()).unwrap();
    assert_eq!(recorded, reason);
    reason
}

#[test]
fn without_a_driver_nothing_is_loaded() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let stage = stage.with("RANKSCOPE_KFD", "/no/such/kfd");
    let played = stage.play("once", SCRIPT);
    let reason = recorded_without(&played);
    assert!(reason.starts_with("no driver: /no/such/kfd: "), "{reason}");
    assert_eq!(played.said("contexts"), None, "the library is not in the process");
}

#[test]
fn a_library_that_is_not_there_or_lacks_a_function_is_named() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let absent = reason(&stage.with("RANKSCOPE_ROCPROFILER_LIBRARY", "/no/such/librocprofiler-sdk.so.1"));
    assert!(absent.starts_with("rocprofiler-sdk is not installed: /no/such/librocprofiler-sdk.so.1: "), "{absent}");
    let Some(stage) = Stage::new(Fake::Incomplete, "works") else { return };
    let lacks = format!("{} lacks rocprofiler_iterate_buffer_tracing_kind_operations", stage.named());
    assert_eq!(reason(&stage), lacks);
}

#[test]
fn versions_whose_structures_nobody_has_looked_at_are_not_read() {
    for (who, version) in [("0.6", "0.6.3"), ("2.0", "2.0.3")] {
        let Some(stage) = Stage::new(Fake::Now, who) else { return };
        let expected = format!("{} is of version {version}, and those that are read are 1.x (ROCm 7)", stage.named());
        assert_eq!(reason(&stage), expected);
    }
}

#[test]
fn a_host_without_a_gpu_is_no_host_of_gpus() {
    for (who, agents) in [("no-gpu", 1), ("short-agent", 4)] {
        let Some(stage) = Stage::new(Fake::Now, who) else { return };
        assert_eq!(reason(&stage), format!("no GPU: {} knows {agents} agents, and none is one", stage.named()));
    }
}

#[test]
fn one_that_was_configured_before_says_what_to_do() {
    let Some(stage) = Stage::new(Fake::Now, "locked") else { return };
    let reason = reason(&stage);
    assert!(reason.starts_with("too late: rocprofiler was configured before; "), "{reason}");
    assert!(reason.contains("ROCP_TOOL_LIBRARIES=librankscope_rocprofiler.so"), "{reason}");
}

#[test]
fn what_is_refused_is_named() {
    for (who, expected) in [
        ("refuses", "rocprofiler_configure_buffer_tracing_service returned error 17 (not implemented)"),
        ("silent", "rocprofiler_start_context returned error 11 (the context does not start)"),
    ] {
        let Some(stage) = Stage::new(Fake::Now, who) else { return };
        let reason = reason(&stage);
        assert!(reason.ends_with(expected) && reason.starts_with(stage.named()), "{who}: {reason}");
    }
    let Some(stage) = Stage::new(Fake::Now, "deaf") else { return };
    assert_eq!(reason(&stage), format!("{} did not ask what is to be recorded", stage.named()));
}

#[test]
fn a_clock_that_is_none_of_the_hosts_is_not_guessed_at() {
    let Some(stage) = Stage::new(Fake::Now, "elsewhen") else { return };
    let reason_of_one = reason(&stage);
    assert!(reason_of_one.starts_with("rocprofiler's clock is none of the host's: it is "), "{reason_of_one}");
    let Some(stage) = Stage::new(Fake::Now, "no-time") else { return };
    assert_eq!(reason(&stage), "rocprofiler's clock shows no time");
}

#[test]
fn hip_that_was_up_before_rocprofiler_gives_its_calls_to_nobody() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let reason = recorded_without(&stage.play("hip-before", SCRIPT));
    assert!(reason.starts_with("too late: HIP was up before rocprofiler; "), "{reason}");
    // A program that comes to it later is fine.
    let played = stage.play("hip-before", "hip-up\nspan forward\nend");
    assert_eq!(played.said("absent"), None);
}

#[test]
fn a_second_session_leaves_the_first_what_it_has() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let played = stage.play("beside", "symbol 1 gemm.kd\nkernel 1 1000 2000 0 7 1\nuntil 100000");
    assert_eq!(played.said("second"), Some("Some(InUse)"));
    assert_eq!(named(&played.trace(), "gemm").len(), 1);
}
