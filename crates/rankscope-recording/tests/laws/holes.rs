//! What a ring has overwritten, or damage has taken, takes nothing else with it: a piece says which spans are open where it starts.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A span as it was recorded: when it began and ended, and in which chunks of events.
#[derive(Clone, Copy, Debug)]
struct True {
    name: NameId,
    begin: (u64, usize),
    end: Option<(u64, usize)>,
}

/// A span as it was read: name, begin, end, and whether that is its own.
type Read = (NameId, u64, u64, bool);

/// Spans of one thread that begin, end and end out of order, at ticks that all differ; by their correlation id.
fn recorded(walk: &[(u8, u64)]) -> (Vec<u8>, BTreeMap<u64, True>) {
    let mut author = LiveAuthor::new().with_chunk_words(CHUNK_HEADER_WORDS + 40).saying_what_is_open();
    let names = ["outer", "inner", "op"].map(|text| author.name(text, 0, 0));
    let (mut spans, mut open, mut tick) = (BTreeMap::<u64, True>::new(), Vec::<u64>::new(), 1_000);
    for (number, (what, after)) in walk.iter().enumerate() {
        tick += 1 + after;
        let name = names[number % 3];
        match what {
            0..3 if open.len() < 6 => {
                let id = if *what == 0 { author.begin_numbered(0, tick, name, 7) } else { author.begin(0, tick, name) };
                open.push(id);
                spans.insert(id, True { name, begin: (tick, 0), end: None });
            }
            3 => author.instant(0, tick, name),
            4 if !open.is_empty() => {
                let id = open.remove(number % open.len());
                author.end_of(0, tick, id);
                spans.get_mut(&id).unwrap().end = Some((tick, 0));
            }
            _ => {
                if let Some(id) = open.pop() {
                    author.end(0, tick);
                    spans.get_mut(&id).unwrap().end = Some((tick, 0));
                }
            }
        }
    }
    let file = author.finish();
    // A chunk's base is the tick of the last event before it.
    let bases: Vec<u64> = event_chunks(&file).map(|at| word(&file, at + 16)).collect();
    let chunk_of = |tick: u64| bases.iter().rposition(|base| tick > *base).unwrap_or(0);
    for span in spans.values_mut() {
        span.begin.1 = chunk_of(span.begin.0);
        span.end = span.end.map(|(tick, _)| (tick, chunk_of(tick)));
    }
    (file, spans)
}

/// Where the chunks of events start: all but the first, which is the system's.
fn event_chunks(file: &[u8]) -> impl Iterator<Item = usize> + use<> {
    (FILE_HEADER_BYTES + CHUNK_BYTES..file.len()).step_by(CHUNK_BYTES)
}

fn word(file: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*file[at..].first_chunk().unwrap())
}

/// The spans that are read, by their correlation id. Ends are matched with begins by what is above them.
fn read(file: Vec<u8>, cut: &Cut) -> BTreeMap<u64, Read> {
    let recording = opened(file);
    let (mut open, mut spans) = (Vec::new(), BTreeMap::new());
    let Some(thread) = recording.threads().first() else { return spans };
    let mut replay = recording.replay(thread, cut);
    while let Some((event, _)) = replay.next() {
        match event.what {
            What::Begin { id, .. } => open.push((id, event.name, event.tick)),
            What::End { unfinished, above } => {
                let (id, name, begin) = open.remove(open.len() - 1 - above as usize);
                assert!(spans.insert(id, (name, begin, event.tick, !unfinished)).is_none(), "span {id} comes once");
            }
            _ => {}
        }
    }
    assert!(open.is_empty());
    spans
}

/// A span is known if any chunk is left in which it was open, and its end is if the chunk of that is left.
fn expected(spans: &BTreeMap<u64, True>, left: &[bool]) -> BTreeMap<u64, (NameId, u64, Option<u64>)> {
    let is_known = |span: &&True| (span.begin.1..=span.end.map_or(left.len() - 1, |end| end.1)).any(|chunk| left[chunk]);
    let known = spans.iter().filter(|(_, span)| is_known(span));
    known.map(|(id, span)| (*id, (span.name, span.begin.0, span.end.filter(|end| left[end.1]).map(|end| end.0)))).collect()
}

proptest! {
    #[test]
    fn spans_cross_holes_with_their_true_begins_and_ends(
        walk in proptest::collection::vec((0_u8..8, 0_u64..50), 1..300), lost in any::<u64>(), ring in any::<bool>(),
        cut in proptest::option::of((900_u64..4_000, 0_u64..4_000)),
    ) {
        let (mut file, spans) = recorded(&walk);
        let chunks: Vec<usize> = event_chunks(&file).collect();
        prop_assume!(!chunks.is_empty());
        let kept = |chunk: usize| if ring { chunk >= lost as usize % chunks.len() } else { lost >> (chunk % 64) & 1 == 0 };
        let left: Vec<bool> = (0..chunks.len()).map(kept).collect();
        for (at, _) in chunks.iter().zip(&left).filter(|(_, left)| !**left) {
            file[*at..at + CHUNK_BYTES].fill(0);
        }
        let expected = expected(&spans, &left);
        let found = read(file.clone(), &Cut::everything());
        let told = found.iter().map(|(id, (name, begin, end, ended))| (*id, (*name, *begin, ended.then_some(*end))));
        prop_assert_eq!(told.collect::<BTreeMap<_, _>>(), expected);
        if let Some((from_tick, len)) = cut {
            // Which spans a cut meets is asked of what is known of them.
            let to_tick = from_tick + len;
            let in_cut = read(file, &Cut { from_tick, to_tick, ..Cut::everything() });
            for (id, (name, begin, end, ended)) in &found {
                let meets = *begin <= to_tick && *end >= from_tick;
                let cut_end = if *ended && *end <= to_tick { Some(*end) } else { None };
                let told = in_cut.get(id).map(|(name, begin, end, ended)| (*name, *begin, ended.then_some(*end)));
                if meets && (*ended || *end > from_tick) {
                    prop_assert_eq!(told, Some((*name, *begin, cut_end)), "span {}", id);
                } else if !meets {
                    prop_assert_eq!(told, None, "span {}", id);
                }
            }
        }
    }
}

#[test]
fn what_is_open_deeper_is_counted_and_keeps_ends_apart() {
    let mut author = LiveAuthor::new().saying_what_is_open();
    let name = author.name("outer", 0, 0);
    author.begin(0, 10, name);
    author.raw(0, &[Word::new(Kind::OpenedDeeper, 0, 2).0]);
    // Two ends of spans that the piece does not name, and the outer one's.
    for tick in [20, 30, 40] {
        author.end(0, tick);
    }
    let mut file = author.finish();
    // The piece is not the first of its stream, and starts with what was open.
    let chunk = event_chunks(&file).next().unwrap();
    file[chunk + 8] = 1;
    let records = chunk + CHUNK_HEADER_WORDS * 8;
    let opened_at = [Word::new(Kind::Opened, name.0, 0).0, 5, 1, Word::new(Kind::OpenedDeeper, 0, 2).0];
    let ends: Vec<u64> = (2..5).map(|word| self::word(&file, records + word * 8)).collect();
    for (place, value) in opened_at.into_iter().chain(ends).enumerate() {
        file[records + place * 8..records + place * 8 + 8].copy_from_slice(&value.to_le_bytes());
    }
    assert_eq!(shape(&events(&opened(file), 0, &Cut::everything())), "(5 )40");
}
