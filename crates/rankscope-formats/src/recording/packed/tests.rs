//! What is packed comes out, also of a file that was cut off, damaged, or written by a later version (tests 35 and 38).

use std::collections::BTreeMap;

use proptest::prelude::*;
use rankscope_trace::{ProblemKind, Trace};

use super::super::shadow::{self, opened};
use super::super::*;
use super::columns::Events;
use super::frame::{BlockKind, Blocks, Found, Frames};
use super::{laid_bare, read, tables, write};
use crate::ReadOptions;

/// Events of each stream, with their arguments, as text.
type Log = BTreeMap<u32, Vec<String>>;

fn line(event: &Event, args: Args<'_>, name: impl Fn(NameId) -> String) -> String {
    let args: Vec<String> = args
        .iter()
        .map(|(key, value)| match value {
            ArgView::Name(value) => format!("{}=name {}", name(key), name(value)),
            value => format!("{}={value:?}", name(key)),
        })
        .collect();
    format!("{} {:?} {} {args:?}", event.tick, event.what, name(event.name))
}

fn replayed(recording: &Recording<impl Chunks>, cut: &Cut) -> Log {
    let name = |id: NameId| recording.names().get(id.0 as usize).map_or_else(String::new, |name| name.text.to_string());
    let mut log = Log::new();
    for thread in recording.threads() {
        let mut replay = recording.replay(thread, cut);
        while let Some((event, args)) = replay.next() {
            log.entry(thread.stream).or_default().push(line(&event, args, name));
        }
    }
    log
}

fn unpacked(file: &[u8]) -> Log {
    let mut frames = Frames::open(file).unwrap();
    let (mut names, mut log) = (BTreeMap::<u32, String>::new(), Log::new());
    loop {
        match frames.next().unwrap() {
            (Found::Block(kind, _), bytes) if kind == BlockKind::Names as u8 => {
                names.extend(tables::read_names(bytes).unwrap().into_iter().map(|(number, _, text)| (number, text)));
            }
            (Found::Block(kind, _), bytes) if kind == BlockKind::Events as u8 => {
                let mut events = Events::of(bytes).unwrap();
                let lines = log.entry(events.stream).or_default();
                let name = |id: NameId| names.get(&id.0).cloned().unwrap_or_default();
                while let Some(event) = events.next() {
                    let (event, args) = event.unwrap();
                    lines.push(line(&event, args, name));
                }
            }
            (Found::End { .. }, _) => return log,
            _ => {}
        }
    }
}

fn packed(recording: &Recording<impl Chunks>, cut: &Cut) -> Vec<u8> {
    let mut file = Vec::new();
    let written = write(recording, cut, &mut file).unwrap();
    assert_eq!(written.bytes, file.len() as u64);
    file
}

/// Two threads of many small spans: enough for several blocks each.
fn many() -> Recording<LiveFile<std::io::Cursor<Vec<u8>>>> {
    let mut author = LiveAuthor::new();
    let names: Vec<NameId> = (0..7).map(|number| author.name(&format!("op {number}"), 0, 0)).collect();
    author.anchor(ClockId::MONOTONIC_RAW, 0, 0, 10);
    author.anchor(ClockId::MONOTONIC_RAW, 1 << 30, 1 << 29, 10);
    author.thread(0, 10, "main");
    author.thread(1, 11, "worker");
    for number in 0..80_000_u64 {
        let (stream, tick) = ((number & 1) as u32, number * 1_000 + number * number % 700);
        author.begin(stream, tick, names[number as usize % 7]);
        author.end(stream, tick + 200);
    }
    opened(author.finish())
}

fn read_all(file: &[u8]) -> Result<Trace, crate::Error> {
    read(file, &ReadOptions::default())
}

proptest! {
    #[test]
    fn what_is_packed_comes_out(steps in shadow::steps(200), from in 0_u64..1 << 42) {
        let mut author = LiveAuthor::new().with_chunk_words(128);
        shadow::record(&mut author, &steps);
        let recording = opened(author.finish());
        for cut in [Cut::everything(), Cut { from_tick: from, to_tick: from + (1 << 43), ..Cut::everything() }] {
            let file = packed(&recording, &cut);
            prop_assert_eq!(unpacked(&file), replayed(&recording, &cut));
            prop_assert_eq!(file, packed(&recording, &cut));
        }
    }

    #[test]
    fn hostile_columns_are_survived(steps in shadow::steps(60), flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..9)) {
        let mut author = LiveAuthor::new();
        shadow::record(&mut author, &steps);
        let mut frames_in = &packed(&opened(author.finish()), &Cut::everything())[..];
        let mut frames = Frames::open(&mut frames_in).unwrap();
        let mut file = Vec::new();
        let mut blocks = Blocks::new(&mut file).unwrap();
        // The damage lies under sound checksums.
        while let (Found::Block(kind, _), bytes) = frames.next().unwrap() {
            let mut bytes = bytes.to_vec();
            for (at, value) in &flips {
                let len = bytes.len().max(1);
                if let Some(byte) = bytes.get_mut(at % len) {
                    *byte = *value;
                }
            }
            blocks.write(BlockKind::of(kind).unwrap(), &bytes).unwrap();
        }
        drop(read_all(&file));
    }
}

#[test]
fn any_prefix_gives_all_its_whole_blocks() {
    let file = packed(&many(), &Cut::everything());
    let whole = unpacked(&file);
    assert_eq!(whole.values().map(Vec::len).sum::<usize>(), 160_000);
    let mut ends = Vec::new();
    let mut frames = Frames::open(&file[..]).unwrap();
    while let (Found::Block(kind, offset), _) = frames.next().unwrap() {
        ends.push((offset as usize, kind));
    }
    let mut last = 0;
    for step in 0..120 {
        // Primes, so that cuts fall everywhere in heads, columns and feet.
        let len = if step < 60 { 16 + step * 7 } else { file.len() - (step - 60) * 9_973 % file.len() };
        let part = unpacked(&file[..len.max(16)]);
        let expected = ends.iter().skip(1).map(|(offset, _)| *offset).chain([file.len()]).zip(&ends);
        let blocks = expected.filter(|(end, (_, kind))| *end <= len && *kind == BlockKind::Events as u8).count();
        for (stream, lines) in &part {
            assert_eq!(lines[..], whole[stream][..lines.len()]);
        }
        let found = part.values().map(Vec::len).sum::<usize>();
        assert!(found >= (blocks * 32_768).min(160_000).saturating_sub(32_768), "{found} events of {blocks} blocks");
        last = last.max(found);
    }
    assert_eq!(last, 160_000);
}

#[test]
fn a_file_laid_bare_says_the_same_and_whatever_is_changed_in_it_passes_the_checks() {
    let file = packed(&many(), &Cut::everything());
    let bare = laid_bare(&file);
    assert!(bare.len() > file.len() && laid_bare(&bare) == bare);
    assert_eq!(unpacked(&bare), unpacked(&file));
    let mut changed = bare.clone();
    changed[bare.len() / 2] ^= 1;
    let problems = |file: &[u8]| read_all(file).unwrap().provenance.problems.count(ProblemKind::DamagedBlock);
    assert_eq!((problems(&changed), problems(&laid_bare(&changed))), (1, 0));
    for length in [0, 5, 16, 30, 100] {
        assert!(bare.starts_with(&laid_bare(&bare[..length])[..length.min(16)]));
    }
}

#[test]
fn a_flipped_bit_costs_one_block_and_is_named() {
    let recording = many();
    let file = packed(&recording, &Cut::everything());
    let whole = read_all(&file).unwrap();
    assert_eq!((whole.spans.len(), whole.provenance.problems.is_empty()), (80_000, true));
    let mut starts = Vec::new();
    let mut frames = Frames::open(&file[..]).unwrap();
    while let (Found::Block(kind, offset), _) = frames.next().unwrap() {
        if kind == BlockKind::Events as u8 {
            starts.push(offset as usize);
        }
    }
    assert!(starts.len() >= 4);
    for at in [starts[1], starts[1] + 5, starts[1] + 9, starts[1] + 18, starts[1] + 30, starts[2] - 1] {
        let mut damaged = file.clone();
        damaged[at] ^= 4;
        let trace = read_all(&damaged).unwrap();
        assert_eq!(trace.provenance.problems.count(ProblemKind::DamagedBlock), 1, "byte {at}");
        let named = trace.provenance.problems.iter().next().unwrap().offset as usize;
        assert!((starts[1]..=at).contains(&named) || named < starts[2]);
        let lost = whole.spans.len() - trace.spans.len();
        assert!((1..=16_385).contains(&lost), "{lost} spans lost for byte {at}");
    }
}

#[test]
fn what_a_later_version_adds_is_passed_over() {
    let file = packed(&many(), &Cut::everything());
    // A block of kind 200, framed as any other, between the metadata and the rest.
    let mut strange = Vec::new();
    let mut blocks = Blocks::new(&mut strange).unwrap();
    blocks.write(BlockKind::Meta, b"").unwrap();
    let mut block = strange[16..].to_vec();
    block[4] = 200;
    let crc = crc32c::crc32c(&block[..16]).to_le_bytes();
    block[16..20].copy_from_slice(&crc);
    let mut longer = file[..16].to_vec();
    longer.extend(block);
    longer.extend(&file[16..]);
    let trace = read_all(&longer).unwrap();
    assert_eq!((trace.spans.len(), trace.provenance.problems.count(ProblemKind::Unsupported)), (80_000, 1));

    // A column of number 77 behind the known ones.
    let mut events = Events::of(&[5, 0, 9, 1, 1, 4, 0, 1, 1, 1, 77, 2, 3, 1, 3, 42, 8, 8, 0]).unwrap();
    let (event, _) = events.next().unwrap().unwrap();
    assert_eq!((event.tick, event.what), (51, What::Instant));
    assert!(events.next().is_none());
}

#[test]
fn a_newer_file_and_other_files_are_refused() {
    let mut newer = packed(&many(), &Cut::everything());
    newer[8] = 2;
    for file in [&newer[..], b"RKSPACK", b"RKSPACK2 and so on", b""] {
        assert!(read_all(file).is_err());
    }
}

/// The file was written by the first version; it must load for ever.
#[test]
fn the_file_of_version_1_loads() {
    let golden = include_bytes!("../../../tests/golden/recording-1.rkr");
    let trace = read(&golden[..], &ReadOptions { args: crate::ArgsPolicy::All, ..ReadOptions::default() }).unwrap();
    insta::assert_snapshot!("recording_1", super::super::trace::tests::outline(&trace));
}
