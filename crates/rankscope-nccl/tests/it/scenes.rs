//! Scenes of tests/c/play.c: what NCCL does when all is well, and when it is not.

use std::os::unix::process::ExitStatusExt;

use super::played::{Stage, argument, named, said};

const ALL_REDUCE: &str = "nccl:all_reduce";
const NO_END: &str = "all_reduce (no end was told)";

#[test]
fn a_collective_is_recorded_with_everything_that_is_known_of_it() {
    let Some(stage) = Stage::new() else { return };
    let trace = stage.play("normal");
    let spans = named(&trace, ALL_REDUCE);
    assert_eq!((spans.len(), named(&trace, "nccl:all_gather").len(), trace.spans.len()), (10, 1, 11));
    let of = |key: &str| argument(&trace, spans[3], key);
    for (key, value) in [
        ("Collective name", "all_reduce"),
        ("dtype", "float32"),
        ("In msg nelems", "4096"),
        ("Out msg nelems", "4096"),
        ("Group size", "2"),
        ("Process Group Name", "0000000000abcdef"),
        ("Process Group Description", "world"),
        ("Process Group Ranks", "[0, 1]"),
        ("NCCL sequence", "3"),
        ("algorithm", "RING"),
        ("protocol", "SIMPLE"),
        ("channels", "4"),
        ("warps", "16"),
        ("user tag", "5"),
        ("GPU start ns", "1000000"),
        ("GPU stop ns", "2000003"),
    ] {
        assert_eq!(of(key), value, "{key}");
    }
    let gather = named(&trace, "nccl:all_gather")[0];
    assert_eq!(argument(&trace, gather, "Out msg nelems"), "8192");
    // Both functions count from zero; the numbers by which ranks are matched differ.
    assert_ne!(argument(&trace, gather, "Seq"), argument(&trace, spans[0], "Seq"));
    assert!(trace.collectives.len() == 11 && trace.collectives.iter().all(|args| args.sequence.is_some()));
    assert_eq!(trace.provenance.rank.map(|(rank, _)| rank.0), Some(0));
    assert_eq!((said(&trace, "nccl.interface"), said(&trace, "nccl.stale_handles")), (Some("7"), None));
    assert!(stage.rings().is_empty(), "who ends well needs no ring");
}

#[test]
fn operations_of_a_group_arrive_at_their_own_calls() {
    let Some(stage) = Stage::new() else { return };
    let trace = stage.play("grouped");
    let spans = named(&trace, "nccl:broadcast");
    let numbers: Vec<String> = spans.iter().map(|span| argument(&trace, *span, "NCCL sequence")).collect();
    assert_eq!(numbers, ["0", "1", "2", "3", "4", "5", "6", "7"]);
    // The last of them was the first whose kernel ran.
    assert!(trace.spans.end_ns(spans[7]) < trace.spans.end_ns(spans[0]));
}

#[test]
fn a_graph_arrives_each_time_it_is_replayed() {
    let Some(stage) = Stage::new() else { return };
    let trace = stage.play("graph");
    let spans = named(&trace, ALL_REDUCE);
    assert_eq!(spans.len(), 5);
    for pair in spans.windows(2) {
        assert!(trace.spans.start_ns(pair[1]) >= trace.spans.end_ns(pair[0]));
        assert_eq!(argument(&trace, pair[0], "graph captured"), "true");
    }
}

#[test]
fn messages_say_whom_they_are_with() {
    let Some(stage) = Stage::new() else { return };
    let trace = stage.play("messages");
    let sends = named(&trace, "nccl:send");
    assert_eq!((sends.len(), named(&trace, "nccl:recv").len()), (2, 1));
    assert_eq!((argument(&trace, sends[0], "Dst Rank"), argument(&trace, sends[0], "Seq")), ("1".into(), String::new()));
}

#[test]
fn a_proxy_of_another_process_changes_nothing() {
    let Some(stage) = Stage::new() else { return };
    let trace = stage.play("foreign-proxy");
    let spans = named(&trace, ALL_REDUCE);
    assert_eq!(spans.len(), 1);
    assert!(trace.spans.row(spans[0]).dur_ns < 2_000_000, "the foreign proxy ended later");
    assert_eq!(said(&trace, "nccl.unknown_contexts"), Some("1"));
}

#[test]
fn what_makes_no_sense_is_counted_and_ignored() {
    let Some(stage) = Stage::new() else { return };
    let trace = stage.play("nonsense");
    assert_eq!(named(&trace, ALL_REDUCE).len(), 1);
    // A second stop, two of no handle, three states after the stop.
    assert_eq!(said(&trace, "nccl.stale_handles"), Some("6"));
    // A null context, one that had ended twice, and a null one that ended.
    assert_eq!(said(&trace, "nccl.unknown_contexts"), Some("4"));
}

#[test]
fn a_handle_whose_slot_has_another_event_stops_nothing() {
    let Some(stage) = Stage::new() else { return };
    let trace = stage.play("generations");
    assert_eq!((named(&trace, ALL_REDUCE).len(), said(&trace, "nccl.stale_handles")), (1, Some("1")));
}

#[test]
fn channels_that_never_stop_cost_nothing_but_their_own_ends() {
    let Some(stage) = Stage::new() else { return };
    let trace = stage.play("unfinished");
    assert_eq!(named(&trace, NO_END).len(), 100);
    let ended: Vec<String> =
        named(&trace, ALL_REDUCE).into_iter().map(|span| argument(&trace, span, "NCCL sequence")).collect();
    assert_eq!(ended, ["100", "101"], "one with fewer channels than announced, and one behind all of these");
    assert_eq!(trace.collectives.len(), 2, "what has no end is no collective");
}

#[test]
fn communicators_come_and_go() {
    let Some(stage) = Stage::new() else { return };
    let trace = stage.play("many-communicators");
    let spans = named(&trace, ALL_REDUCE);
    let groups: std::collections::HashSet<String> =
        spans.iter().map(|span| argument(&trace, *span, "Process Group Name")).collect();
    assert_eq!((spans.len(), groups.len()), (256 + 20, 256 + 20));
    assert_eq!(said(&trace, "nccl.communicators_left_out"), None);
}

#[test]
fn two_threads_lose_nothing_that_is_not_counted() {
    let Some(stage) = Stage::new() else { return };
    let trace = stage.play("threads");
    let lost = said(&trace, "nccl.records_lost").map_or(0, |lost| lost.parse::<usize>().unwrap());
    let recorded = named(&trace, ALL_REDUCE).len();
    assert!(recorded <= 4000 && recorded + lost >= 4000, "{recorded} recorded, {lost} records lost");
    assert_eq!(said(&trace, "nccl.stale_handles"), None);
}

#[test]
fn events_that_are_switched_off_in_between_are_only_missing() {
    let Some(stage) = Stage::new() else { return };
    let trace = stage.play("mask-flips");
    assert_eq!(trace.spans.len(), 25);
}

#[test]
fn what_was_recorded_survives_a_kill() {
    let Some(stage) = Stage::new() else { return };
    assert_eq!(stage.play_with("killed", &[]).status.signal(), Some(9));
    assert_eq!(named(&stage.recording(), ALL_REDUCE).len(), 20);
    let rings = stage.rings();
    let ring = std::fs::read(&rings[0]).unwrap();
    assert!(ring.starts_with(b"RKSNCCL1"), "{rings:?}");
    // Twenty in full, 20 records each, and the start of one more: what it is, the rest of it and the application's number.
    assert_eq!(u64::from_le_bytes(ring[64..72].try_into().unwrap()), 20 * 20 + 3);
}

#[test]
fn a_limit_on_the_length_of_files_costs_the_recording_and_not_the_job() {
    let Some(stage) = Stage::new() else { return };
    let output = stage.play_limited("normal", 8);
    assert!(output.status.success(), "{} {}", output.status, String::from_utf8_lossy(&output.stderr));
    assert_eq!(stage.rings(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_forked_child_records_nothing() {
    let Some(stage) = Stage::new() else { return };
    assert_eq!(named(&stage.play("forked"), ALL_REDUCE).len(), 2);
}

#[test]
fn the_library_is_closed_and_opened_a_hundred_times() {
    let Some(stage) = Stage::new() else { return };
    assert_eq!(named(&stage.play("reloaded"), ALL_REDUCE).len(), 100);
}

#[test]
fn version_1_says_in_numbers_what_later_ones_say_in_words() {
    let Some(stage) = Stage::new() else { return };
    let trace = stage.play("version-1");
    let spans = named(&trace, ALL_REDUCE);
    assert_eq!(spans.len(), 3);
    let of = |key: &str| argument(&trace, spans[2], key);
    assert_eq!((of("dtype"), of("algorithm"), of("protocol")), ("float32".into(), "RING".into(), "SIMPLE".into()));
    assert_eq!((of("Process Group Name"), of("NCCL sequence")), ("0000000000000077".into(), "2".into()));
}

#[test]
fn version_4_has_kinds_of_a_byte_and_times_of_the_gpu() {
    let Some(stage) = Stage::new() else { return };
    let trace = stage.play("version-4");
    let spans = named(&trace, "nccl:reduce_scatter");
    let of = |key: &str| argument(&trace, spans[2], key);
    assert_eq!((of("GPU start ns"), of("GPU stop ns"), of("In msg nelems")), ("42".into(), "52".into(), "20".into()));
    assert_eq!(trace.provenance.rank.map(|(rank, _)| rank.0), Some(1));
}

#[test]
fn who_wants_no_events_gets_none() {
    let Some(stage) = Stage::new() else { return };
    // The scene looks at the mask, and says which of its own it missed.
    let output = stage.play_with("normal", &[("RANKSCOPE_NCCL_EVENTS", "none")]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("mask & COLL"), "{output:?}");
}

#[test]
fn another_plugin_is_called_with_its_own_handles_and_only_as_it_asked() {
    let Some(stage) = Stage::new() else { return };
    let (other, says) = (stage.other(), stage.path("says"));
    let variables = [("RANKSCOPE_NCCL_CHAIN", other.to_str().unwrap()), ("OTHER_SAYS", says.to_str().unwrap())];
    let output = stage.play_with("normal", &variables);
    assert!(output.status.success(), "{output:?}");
    // Eleven collectives: a group and its call, a call, an operation and four channels each; a state a channel and two a group's call.
    let expected = format!("1 inits, {0} starts, {0} stops, {1} states, 1 ends", 11 * 8, 11 * 6);
    assert_eq!(std::fs::read_to_string(says).unwrap(), expected);
    assert_eq!(named(&stage.recording(), ALL_REDUCE).len(), 10, "and ours sees what it always sees");
}

#[test]
fn another_plugin_that_is_none_is_said_and_left_out() {
    let Some(stage) = Stage::new() else { return };
    let output = stage.play_with("normal", &[("RANKSCOPE_NCCL_CHAIN", "/no/such/library.so")]);
    assert!(output.status.success() && String::from_utf8_lossy(&output.stderr).contains("/no/such/library.so"), "{output:?}");
    assert_eq!(named(&stage.recording(), ALL_REDUCE).len(), 10);
}
