//! What was recorded comes out: same events, same arguments, same order, however the chunks fell (test 11).

use proptest::prelude::*;

use super::steps::{Step, record, steps};
use super::*;

proptest! {
    #[test]
    fn what_was_recorded_comes_out(steps in steps(200), chunk_words in 64_usize..200) {
        let mut author = LiveAuthor::new().with_chunk_words(chunk_words);
        let shadow = record(&mut author, &steps);
        let recording = opened(author.finish());
        for thread in recording.threads() {
            let mut replay = recording.replay(thread, &Cut::everything());
            let expected = &shadow[thread.stream as usize];
            for (event, args) in expected {
                let (found, found_args) = replay.next().unwrap();
                prop_assert_eq!(found, *event);
                prop_assert_eq!(&format!("{:?}", found_args.iter().collect::<Vec<_>>()), args);
            }
            let open = expected.iter().map(|(event, _)| match event.what {
                What::Begin { .. } => 1,
                What::End { .. } => -1,
                _ => 0,
            });
            let open: i32 = open.sum();
            for _ in 0..open {
                prop_assert_eq!(replay.next().unwrap().0.what, What::End { unfinished: true, above: 0 });
            }
            prop_assert!(replay.next().is_none());
        }
        prop_assert_eq!((recording.lost_chunks(), recording.cut_chunks()), (0, 0));
    }

    #[test]
    fn a_longer_file_only_adds_events(steps in steps(120), cut in 0_usize..120) {
        let log = |steps: &[Step]| {
            let mut author = LiveAuthor::new().with_chunk_words(96);
            record(&mut author, steps);
            let recording = opened(author.finish());
            let streams: Vec<Vec<Event>> = recording.threads().iter().map(|thread| {
                let mut replay = recording.replay(thread, &Cut::everything());
                std::iter::from_fn(|| replay.next().map(|(event, _)| event))
                    .filter(|event| event.what != What::End { unfinished: true, above: 0 })
                    .collect()
            }).collect();
            let known: Vec<u32> = recording.threads().iter().map(|thread| thread.stream).collect();
            known.into_iter().zip(streams).collect::<std::collections::BTreeMap<_, _>>()
        };
        let (part, whole) = (log(&steps[..cut.min(steps.len())]), log(&steps));
        for (stream, events) in part {
            prop_assert_eq!(&whole[&stream][..events.len()], &events[..]);
        }
    }
}

#[test]
fn the_system_says_who_and_what() {
    let mut author = LiveAuthor::new();
    author.thread(7, 4242, "loader");
    author.thread(7, 4242, "loader (renamed)");
    author.meta("rank", "3");
    author.drops(DropReason::Full, 7, 10);
    author.drops(DropReason::Full, 7, 12);
    author.session_start(1, 100, 0b11);
    author.session_start(1, 150, 0b01);
    author.session_stop(1, 200);
    author.session_start(2, 180, u32::MAX);
    let name = author.name("forward", 1, 7);
    author.begin(9, 300, name);
    let recording = opened(author.finish());
    let threads: Vec<_> = recording.threads().iter().map(|thread| (thread.stream, thread.tid, &thread.name[..])).collect();
    assert_eq!(threads, [(7, 4242, "loader (renamed)"), (9, 0, "")]);
    assert_eq!(recording.meta(), [("rank".to_owned(), "3".to_owned())]);
    assert_eq!(recording.drops(), [(DropReason::Full, 7, 12)]);
    assert_eq!(recording.names()[name.0 as usize], Name { text: "forward".into(), category: 1, scope: 7 });
    assert_eq!(recording.sessions()[0].changes, [(100, 0b11), (150, 0b01)]);
    assert_eq!(recording.sessions()[0].stop_tick, Some(200));
    assert_eq!(recording.sessions()[1].stop_tick, None);
}
