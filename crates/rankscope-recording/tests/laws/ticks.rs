//! Ticks become times that never fall, hit their anchors, and do not care about the wall clock (tests 19 to 23).

use proptest::prelude::*;

use super::*;

const EPOCH_NS: i64 = 1_700_000_000_000_000_000;

fn raw(tick: u64, ns: i64) -> Anchor {
    Anchor { clock: ClockId::MONOTONIC_RAW, tick, ns, width_ticks: 60 }
}

fn wall(tick: u64, ns: i64) -> Anchor {
    Anchor { clock: ClockId::REALTIME, ..raw(tick, ns) }
}

/// Readings of a counter of `khz` thousand ticks a millisecond each second, with an error of up to `noise_ns`.
fn readings(khz: u64, seconds: u64, noise_ns: u64) -> Vec<Anchor> {
    let mut anchors = Vec::new();
    for second in 0..=seconds {
        let (tick, ns) = (77 + second * khz * 1_000, 5_000_000_000 + second as i64 * 1_000_000_000);
        let noise = if noise_ns == 0 { 0 } else { (second * 7_919 % (2 * noise_ns + 1)) as i64 - noise_ns as i64 };
        anchors.push(raw(tick, ns + noise));
        anchors.push(wall(tick, EPOCH_NS + second as i64 * 1_000_000_000));
    }
    anchors
}

proptest! {
    #[test]
    fn times_never_fall(
        knots in proptest::collection::vec((1_u64..1 << 40, 0_u64..1 << 40, 0_u64..10_000), 0..12),
        ticks in proptest::collection::vec(any::<u64>(), 2..40),
        start: u64, near in 0_u64..1 << 44,
    ) {
        let (mut tick, mut ns) = (start >> 1, -5_i64);
        let anchors: Vec<Anchor> = knots.iter().map(|(ticks, nanos, width)| {
            (tick, ns) = (tick + ticks, ns + *nanos as i64);
            Anchor { width_ticks: *width, ..raw(tick, ns) }
        }).collect();
        let map = TickMap::new(&anchors);
        let mut ticks: Vec<u64> = ticks.iter().enumerate()
            .map(|(at, tick)| if at % 2 == 0 { *tick } else { (start >> 1) + tick % near.max(1) }).collect();
        ticks.extend(anchors.iter().flat_map(|anchor| [anchor.tick - 1, anchor.tick, anchor.tick + 1]));
        ticks.sort_unstable();
        let mut cursor = map.cursor();
        let times: Vec<i64> = ticks.iter().map(|tick| cursor.ns(*tick)).collect();
        prop_assert!(times.is_sorted());
        prop_assert_eq!(times, ticks.iter().map(|tick| map.ns(*tick)).collect::<Vec<_>>());
    }

    #[test]
    fn the_tick_at_a_time_is_as_near_as_ticks_are(khz in 100_000_u64..5_000_000, tick in 0_u64..400_000_000_000) {
        let map = TickMap::new(&readings(khz, 60, 100));
        let ns = map.ns(tick);
        let off_ns = map.ns(map.tick(ns)).abs_diff(ns);
        prop_assert!(off_ns <= 2 * (1_000_000 / khz + 1), "{} ns", off_ns);
    }

    #[test]
    fn anchors_are_hit_and_what_lies_between_is_near(khz in 100_000_u64..5_000_000, at in 0.0..1.0_f64) {
        let anchors = readings(khz, 60, 100);
        let map = TickMap::new(&anchors);
        let constant = EPOCH_NS - anchors[0].ns;
        for anchor in anchors.iter().filter(|anchor| anchor.clock == ClockId::MONOTONIC_RAW) {
            let width_ns = (60 * 1_000_000 / khz) as i64 + 1;
            prop_assert!((map.ns(anchor.tick) - anchor.ns - constant).abs() <= width_ns);
        }
        let ticks = (at * (khz * 60_000) as f64) as u64;
        let truth = EPOCH_NS + (u128::from(ticks) * 1_000_000 / u128::from(khz)) as i64;
        prop_assert!((map.ns(77 + ticks) - truth).abs() <= 2_000);
    }

    #[test]
    fn what_happens_to_the_wall_clock_bends_no_duration(step_ns in -500_000_000_i64..500_000_000, at in 1_u64..59) {
        let calm = readings(2_000_000, 60, 0);
        let mut troubled = calm.clone();
        for (number, anchor) in troubled.iter_mut().filter(|anchor| anchor.clock == ClockId::REALTIME).enumerate() {
            // Bent by 500 ppm all along, and set once.
            anchor.ns += number as i64 * 500_000 + if number as u64 >= at { step_ns } else { 0 };
        }
        let (calm, map) = (TickMap::new(&calm), TickMap::new(&troubled));
        for tick in (0..130_000_000_000).step_by(977_777_777) {
            prop_assert_eq!(calm.ns(tick), map.ns(tick));
        }
        let changes = wall_changes(&troubled, &map);
        let stepped: Vec<i64> = changes.iter().filter(|change| change.step).map(|change| change.by_ns).collect();
        if step_ns.abs() > 2_000_000 {
            prop_assert_eq!(stepped.len(), 1);
            prop_assert!((stepped[0] - step_ns - 500_000).abs() <= 10);
        }
        prop_assert!(changes.iter().any(|change| !change.step && change.by_ns > 0));
    }
}

#[test]
fn outside_the_anchors_the_nearest_rate_holds() {
    // A nanosecond every two ticks, then every four.
    let map = TickMap::new(&[raw(1_000, 0), raw(3_000, 1_000), raw(7_000, 2_000)]);
    assert_eq!([200, 1_000, 2_000, 3_000, 5_000, 11_000].map(|tick| map.ns(tick)), [-400, 0, 500, 1_000, 1_500, 3_000]);
    assert_eq!((map.ns(u64::MAX) > map.ns(1 << 60), map.assumed_rate()), (true, false));
}

#[test]
fn few_readings_make_do() {
    let one = TickMap::new(&[raw(100, 7_000)]);
    assert_eq!((one.ns(150), one.assumed_rate()), (7_050, true));
    let other = |tick, ns| Anchor { clock: ClockId::MONOTONIC, ..raw(tick, ns) };
    let lent = TickMap::new(&[raw(100, 7_000), other(100, 50), other(300, 150)]);
    assert_eq!((lent.ns(150), lent.assumed_rate()), (7_025, false));
    let none = TickMap::new(&[]);
    assert_eq!((none.ns(42), none.assumed_rate(), none.residuals_ns()), (42, true, (0, 0)));
}

#[test]
fn readings_that_went_wrong_are_left_out() {
    let good = readings(1_000_000, 20, 0);
    let map = TickMap::new(&good);
    let mut bad = good.clone();
    bad[10].ns += 400_000;
    bad[20].ns -= 400_000;
    bad[30].ns += 9_000;
    bad[30].width_ticks = 50_000;
    let found = TickMap::new(&bad);
    for tick in (0..21_000_000_000).step_by(99_999_999) {
        assert_eq!(found.ns(tick), map.ns(tick), "at tick {tick}");
    }
    assert_eq!(found.residuals_ns(), (0, 0));
}

#[test]
fn a_suspended_machine_is_no_wild_reading() {
    let mut anchors = readings(1_000_000, 20, 0);
    // The counter runs on for an hour while the clock of the recording stands still.
    for anchor in &mut anchors[20..] {
        anchor.tick += 3_600_000_000_000;
    }
    let map = TickMap::new(&anchors);
    for anchor in anchors.iter().filter(|anchor| anchor.clock == ClockId::MONOTONIC_RAW) {
        assert_eq!(map.ns(anchor.tick), anchor.ns - anchors[0].ns + EPOCH_NS);
    }
}

#[test]
fn times_are_of_this_century_and_survive_microseconds_in_json() {
    let map = TickMap::new(&readings(3_000_000, 2, 0));
    let (from_ns, to_ns) = (1_577_836_800_000_000_000, 4_102_444_800_000_000_000);
    assert!((from_ns..to_ns).contains(&map.ns(77)) && (from_ns..to_ns).contains(&map.ns(1 << 42)));
    for ns in [0_i64, 1, 999, 1_001, 7_889_238_000_000_001, 7_889_237_999_999_999, 123_456_789_012_345] {
        let text = format!("{}.{:03}", ns / 1_000, ns % 1_000);
        let micros: f64 = text.parse().unwrap();
        assert_eq!((micros * 1_000.0).round() as i64, ns);
    }
}
