//! Scenes of tests/c/play.c: what jaxlib does, and what no host should.

use std::time::{SystemTime, UNIX_EPOCH};

use rankscope_pjrt::{About, Anchor, encode};
use rankscope_trace::{HostClock, RankSource};

use super::played::{Stage, about, readings};

fn header<'a>(about: &'a rankscope_trace::Provenance, key: &str) -> Option<&'a str> {
    about.header.iter().find(|(known, _)| known == key).map(|(_, json)| json.as_str())
}

fn now_ns() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

#[test]
fn every_session_in_turn_has_its_own_anchors() {
    let Some(stage) = Stage::new() else { return };
    let before_ns = now_ns();
    let sessions = stage.play("sessions");
    let after_ns = now_ns();
    assert_eq!(sessions.len(), 3);
    let mut last_ns = before_ns;
    for about in &sessions {
        let readings = readings(about);
        assert_eq!(readings.len(), 2, "one at the start and one at the stop");
        for (wall_ns, raw_ns, width_ns) in readings {
            assert!((last_ns..=after_ns).contains(&wall_ns), "{wall_ns}");
            assert!(raw_ns > 0 && width_ns > 0, "{raw_ns} {width_ns}");
            last_ns = wall_ns;
        }
        assert_eq!(header(about, "run_id"), Some("\"tuesday\""));
        assert!(header(about, "boot_id").is_some_and(|id| id.len() == 38));
    }
}

#[test]
fn a_long_session_has_anchors_in_between() {
    let Some(stage) = Stage::new() else { return };
    let sessions = stage.play("seconds");
    let readings = readings(&sessions[0]);
    assert!((3..=4).contains(&readings.len()), "{readings:?}");
    // Both clocks count the same time, give or take what NTP steers by and the widths.
    for pair in readings.windows(2) {
        let (wall_ns, raw_ns) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let widths_ns = pair[0].2 + pair[1].2;
        assert!(wall_ns.abs_diff(raw_ns) <= widths_ns + raw_ns.unsigned_abs() / 500, "{pair:?}");
    }
}

#[test]
fn what_was_handed_out_stays_until_the_end() {
    let Some(stage) = Stage::new() else { return };
    assert_eq!(stage.play("buffers").iter().map(|about| readings(about).len()).collect::<Vec<_>>(), [2]);
}

#[test]
fn calls_in_the_wrong_order_are_refused() {
    let Some(stage) = Stage::new() else { return };
    stage.play("order");
}

#[test]
fn what_makes_no_sense_is_an_error_and_harms_nothing() {
    let Some(stage) = Stage::new() else { return };
    assert_eq!(readings(&stage.play("nonsense")[0]).len(), 2);
}

#[test]
fn the_child_of_a_fork_begins_anew() {
    let Some(stage) = Stage::new() else { return };
    let [child, parent] = &stage.play("forked")[..] else { panic!("two sessions are wanted") };
    assert_eq!((readings(child).len(), readings(parent).len()), (2, 2));
}

#[test]
fn what_is_encoded_is_what_is_read() {
    let walls = [1_790_857_026_000_000_000, 1_790_857_027_000_000_123, 1_790_857_026_500_000_000, i64::MAX];
    let anchors = walls.map(|wall_ns| Anchor { wall_ns, raw_ns: wall_ns / 3, width_ns: 61 });
    let event = b"\x0a\x1e\x12\x09/host:CPU\x1a\x06\x08\x07\x22\x02\x08\x01\x22\x09\x08\x01\x12\x05\x08\x01\x12\x01e";
    let bytes = [&encode(&About::of_rank(6, 16), &anchors)[..], event].concat();
    let about = about(&bytes);
    assert_eq!(
        (about.rank.map(|(rank, source)| (rank.0, source)), about.world_size),
        (Some((6, RankSource::Header)), Some(16))
    );
    let expected: Vec<_> = anchors[..3].iter().map(|anchor| (anchor.wall_ns, anchor.raw_ns, anchor.width_ns)).collect();
    let found: Vec<_> = about.clock_readings.iter().filter(|reading| reading.clock == HostClock::MonotonicRaw).collect();
    assert_eq!(found.iter().map(|reading| (reading.trace_ns, reading.ns, reading.width_ns)).collect::<Vec<_>>(), expected);
}
