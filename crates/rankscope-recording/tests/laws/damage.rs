//! Damage is counted and stepped over; hostile bytes are survived.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;

/// Spans of one thread, over several chunks: at tick 10·n begins or ends span n / 2, all within one that spans them all.
fn file(pairs: u64) -> Vec<u8> {
    let mut author = LiveAuthor::new().with_chunk_words(CHUNK_HEADER_WORDS + 10);
    let name = author.name("op", 0, 0);
    author.begin(0, 5, name);
    for number in 1..=pairs {
        author.begin(0, number * 20, name);
        author.end(0, number * 20 + 10);
    }
    author.end(0, 1_000);
    author.finish()
}

/// Where chunk `index` starts.
fn chunk(index: usize) -> usize {
    FILE_HEADER_BYTES + index * CHUNK_BYTES
}

#[test]
fn a_hole_ends_what_was_open_and_the_rest_goes_on() {
    let whole = file(14);
    // Chunk 0 is the system's; 1 to 3 hold ten events each.
    for (offset, bit) in [(chunk(2), 1), (chunk(2) + CHUNK_HEADER_WORDS * 8 + 3, 4)] {
        let mut damaged = whole.clone();
        damaged[offset] ^= bit;
        let recording = opened(damaged);
        let found = shape(&events(&recording, 0, &Cut::everything()));
        assert_eq!(found, "(5 (20 )30 (40 )50 (60 )70 (80 )90 (100 !100 !100 (220 )230 (240 )250 (260 )270 (280 )290");
        assert_eq!(recording.lost_chunks(), 1);
    }
}

#[test]
fn a_kind_of_a_later_version_ends_its_piece_only() {
    let mut author = LiveAuthor::new().with_chunk_words(CHUNK_HEADER_WORDS + 10);
    let name = author.name("op", 0, 0);
    author.begin(0, 10, name);
    author.raw(0, &[63, 1, 2, 3, 4, 5, 6, 7]);
    author.end(0, 20);
    author.begin(0, 30, name);
    author.end(0, 40);
    let recording = opened(author.finish());
    assert_eq!(shape(&events(&recording, 0, &Cut::everything())), "(10 !10 (30 )40");
    assert_eq!((recording.lost_chunks(), recording.cut_chunks()), (0, 1));
}

/// Events as `recover` counts them: a span is one, whether it ends or not.
fn counted(bytes: Vec<u8>) -> usize {
    let Ok(recording) = LiveFile::open(Cursor::new(bytes)).and_then(Recording::open) else { return 0 };
    let of_thread = |thread| events_of(&recording, thread);
    recording.threads().iter().flat_map(of_thread).filter(|event| !matches!(event.what, What::End { .. })).count()
}

fn events_of(recording: &Recording<LiveFile<Cursor<Vec<u8>>>>, thread: &Thread) -> Vec<Event> {
    let mut replay = recording.replay(thread, &Cut::everything());
    std::iter::from_fn(|| replay.next().map(|(event, _)| event)).collect()
}

#[test]
fn no_false_bit_makes_more_of_a_chunk_without_a_checksum() {
    // One that its thread was still filling when it died.
    let mut author = LiveAuthor::new();
    let name = author.name("op", 0, 0);
    for at in 0..6 {
        author.begin(0, at * 40 + 10, name);
        author.instant(0, at * 40 + 20, name);
        author.end(0, at * 40 + 30);
    }
    let whole = author.finish();
    let (written, events) = (counted(whole.clone()), chunk(1));
    assert_eq!(written, 12);
    for bit in 0..(CHUNK_HEADER_WORDS + 18) * 64 {
        let mut damaged = whole.clone();
        damaged[events + bit / 8] ^= 1 << (bit % 8);
        assert!(counted(damaged) <= written, "bit {bit} of the chunk makes {written} events more");
    }
}

#[test]
fn a_torn_file_gives_what_is_in_it() {
    let whole = file(14);
    let all = events(&opened(whole.clone()), 0, &Cut::everything());
    let mut last = 0;
    for len in [chunk(1), chunk(1) + 100, chunk(1) + 130, chunk(2) + 80, chunk(4), whole.len()] {
        let recording = Recording::open(LiveFile::open(Cursor::new(&whole[..len])).unwrap()).unwrap();
        let found = match recording.threads() {
            [] => Vec::new(),
            _ => events(&recording, 0, &Cut::everything()),
        };
        let finished: Vec<&Event> =
            found.iter().filter(|event| event.what != What::End { unfinished: true, above: 0 }).collect();
        assert!(finished.len() >= last && finished.iter().zip(&all).all(|(found, event)| *found == event));
        last = finished.len();
    }
    assert_eq!(last, all.len());
}

#[test]
fn what_is_no_live_file_is_refused() {
    let mut newer = file(1);
    newer[8] = 9;
    for bytes in [Vec::new(), b"RKSLIVE2".to_vec(), newer] {
        assert!(LiveFile::open(Cursor::new(bytes)).is_err());
    }
}

proptest! {
    #[test]
    fn hostile_words_are_survived(flips in proptest::collection::vec((0_usize..4 * 24, any::<u64>()), 1..20)) {
        let mut bytes = file(14);
        for (word, value) in flips {
            let at = chunk(word / 24) + word % 24 * 8;
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        if let Ok(recording) = Recording::open(LiveFile::open(Cursor::new(bytes)).unwrap()) {
            for thread in recording.threads() {
                let mut replay = recording.replay(thread, &Cut { from_tick: 100, ..Cut::everything() });
                let mut depth = 0_i32;
                while let Some((event, args)) = replay.next() {
                    depth += match event.what { What::Begin { .. } => 1, What::End { .. } => -1, _ => 0 };
                    prop_assert!(depth >= 0);
                    args.iter().for_each(drop);
                    recording.ticks().ns(event.tick);
                }
                prop_assert_eq!(depth, 0);
            }
        }
    }
}
