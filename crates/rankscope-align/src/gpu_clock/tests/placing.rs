//! Where kernels are placed whose true times are known.

use super::*;

/// What is placed of `trace`, by the number of its operation.
fn placed(trace: &Trace) -> (GpuPlaced, Vec<GpuSpan>) {
    let (clock, spans) = GpuClock::with_spans(trace).expect("times were told");
    let placed = clock.placed.expect("it was asked");
    assert_eq!((placed.placed, placed.operations()), (spans.len() as u64, clock.operations), "{placed:?}");
    assert_eq!(placed.error_max_ns, spans.iter().map(GpuSpan::error_ns).max().unwrap_or(0));
    (placed, spans)
}

fn holds_truth(span: &GpuSpan, truth: [i64; 2]) -> Result<(), TestCaseError> {
    for (at, truth_ns) in [span.start, span.stop].into_iter().zip(truth) {
        prop_assert!((at.lo_ns..=at.hi_ns).contains(&truth_ns), "{truth_ns} is not in {at:?} of {span:?}");
        prop_assert!((at.lo_ns..=at.hi_ns).contains(&at.at_ns) && at.error_ns() >= (truth_ns - at.at_ns).abs());
    }
    prop_assert!(span.start.at_ns <= span.stop.at_ns);
    Ok(())
}

proptest! {
    /// Any clock, any delays: where something is placed, the truth is within its error.
    #[test]
    fn the_truth_is_in_every_place(mut device in devices(), count in 20usize..900) {
        let (times, truths): (Vec<_>, Vec<_>) = device.play_truly(count).into_iter().unzip();
        let (_, spans) = placed(&trace(&times, |_| 0));
        spans.iter().try_for_each(|span| holds_truth(span, truths[span.span.0 as usize]))?;
    }

    /// Times that are another operation's, or nobody's: those of the others stay in their places, and none of the former gets one beyond its
    /// own launch and end.
    #[test]
    fn forged_times_move_no_others(
        mut device in devices(), count in 100usize..900, forged in prop::collection::vec(forged(), 1..12), groups in 1usize..4,
    ) {
        let (mut times, truths): (Vec<_>, Vec<_>) = device.play_truly(count).into_iter().unzip();
        forged.iter().for_each(|one| forge(&mut times, *one));
        let is_forged: Vec<usize> = forged.iter().map(|(at, _)| at % count).collect();
        for span in placed(&trace(&times, |at| at % groups)).1 {
            let at = span.span.0 as usize;
            if is_forged.contains(&at) {
                let launched_ns = times[at].launched_ns.expect("told");
                prop_assert!(span.start.at_ns >= launched_ns - 60_000 && span.stop.at_ns <= times[at].seen_ns + 60_000, "{:?}", span);
            } else {
                holds_truth(&span, truths[at])?;
            }
        }
    }

    /// A clock that is set by more than its interval leaves open takes places away, and moves none.
    #[test]
    fn a_step_of_the_clock_moves_nothing(
        seed in any::<u64>(), at_ms in 0i64..60_000, step_ns in prop_oneof![-2_000_000i64..-100_000, 100_000i64..2_000_000],
    ) {
        let mut device = Device::new(seed, 5_000_000, 20_000);
        device.clock = device.clock.with_step(NOW_NS + at_ms * 1_000_000, Span::from_nanos(step_ns));
        let (times, truths): (Vec<_>, Vec<_>) = device.play_truly(4_000).into_iter().unzip();
        let (_, spans) = placed(&trace(&times, |_| 0));
        spans.iter().try_for_each(|span| holds_truth(span, truths[span.span.0 as usize]))?;
    }
}

#[test]
fn nearly_all_of_an_honest_gpu_is_placed_to_some_microseconds() {
    let mut device = Device { callback_ns: (3_000, 10_000), ..Device::new(21, 5_000_000, 20_000) };
    let (placed, _) = placed(&trace(&device.play(4_000), |_| 0));
    assert!(placed.placed >= 3_000 && placed.error_max_ns < 15_000, "{placed:?}");
}

#[test]
fn what_nothing_says_is_its_own_has_no_place() {
    let mut times = Device::new(22, 0, 0).play(900);
    // A graph's are launched long after the call that was captured.
    (0..900).filter(|at| at % 3 == 0).for_each(|at| times[at].launched_ns = None);
    times[10].start_ns = 0;
    let (placed, spans) = placed(&trace(&times, |_| 0));
    assert_eq!((placed.not_placed(NotPlaced::Unlaunched), placed.not_placed(NotPlaced::Unusable)), (300, 1), "{placed:?}");
    assert!(placed.placed == 599 && spans.iter().all(|span| span.span.0 % 3 != 0), "{placed:?}");
}

#[test]
fn without_a_line_there_is_no_place() {
    let (few, _) = placed(&trace(&Device::new(23, 0, 0).play(9), |_| 0));
    assert_eq!((few.placed, few.not_placed(NotPlaced::NoLine)), (0, 9), "{few:?}");
    let mut own = clock(&Device::new(24, 0, 0).play(300));
    own.join(clock(&Device::new(25, 0, 0).play(300)));
    let both = own.placed.expect("asked");
    assert_eq!((both.placed, both.not_placed(NotPlaced::SeveralFiles)), (0, 600), "{both:?}");
}

#[test]
fn what_is_placed_becomes_events_beside_its_collectives_and_rows_hold_no_two_at_once() {
    let mut device = Device::new(26, 5_000_000, -30_000);
    let (times, truths): (Vec<_>, Vec<_>) = device.play_truly(400).into_iter().unzip();
    // Two operations of one kernel have its times.
    let mut doubled: Vec<GpuTimes> = Vec::new();
    times.iter().for_each(|times| doubled.extend([*times; 2]));
    let mut read = trace(&doubled, |at| at / 400);
    let (own, (expected, spans)) = (read.spans.len(), placed(&read));
    let GpuEvents { placed: added, events } = GpuClock::add_events(&mut read).expect("times were told");
    assert_eq!((added, read.spans.len() - own), (expected, spans.len()));
    assert_eq!(events.iter().map(|event| event.span).collect::<Vec<_>>(), read.spans.ids().skip(own).collect::<Vec<_>>());
    for event in events {
        let of = spans.iter().find(|span| span.span == event.of).expect("an operation with a place");
        let placed = (of.start.at_ns, of.start.error_ns());
        assert_eq!((read.spans.start_ns(event.span), event.start_error_ns), placed, "{event:?}");
    }
    assert!(added.placed >= 700, "{added:?}");
    assert_eq!(read.spans.args.rows(), read.spans.len());
    let mut rows: std::collections::BTreeMap<u32, i64> = std::collections::BTreeMap::new();
    for id in read.spans.ids().skip(own) {
        let (row, key) = (read.spans.row(id), read.strings.intern("start error ns"));
        let Some(rankscope_trace::ArgValue::I64(error_ns)) = read.spans.args.value(id.0 as usize, key) else {
            panic!("an error")
        };
        assert!(truths.iter().any(|truth| (truth[0] - row.start_ns).abs() <= error_ns), "{row:?}");
        assert_eq!((read.name(id), read.kind(id)), ("nccl:all_reduce on the GPU", CategoryKind::Other));
        let until_ns = rows.insert(row.track.0, read.spans.end_ns(id)).unwrap_or(i64::MIN);
        assert!(until_ns <= row.start_ns, "{row:?}");
    }
    let names: Vec<&str> = rows
        .keys()
        .map(|row| match read.tracks.get(rankscope_trace::TrackId(*row)).key {
            TrackKey::Text(key) => read.strings.text(key),
            TrackKey::Number(_) => "",
        })
        .collect();
    assert_eq!(names, ["comm 0", "comm 0 (2)", "comm 1", "comm 1 (2)"]);
}
