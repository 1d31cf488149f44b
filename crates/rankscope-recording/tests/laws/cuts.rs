//! A cut holds what overlaps it and is of its categories (test 3).

use proptest::prelude::*;

use super::*;

/// Nested spans of one thread, of category 0 or 1, at random; in the order they begin.
fn spans(author: &mut LiveAuthor, walk: &[(bool, u64)]) -> Vec<(u64, Option<u64>, u8)> {
    let names = [author.name("a", 0, 0), author.name("b", 1, 0)];
    let (mut spans, mut open, mut tick) = (Vec::<(u64, Option<u64>, u8)>::new(), Vec::new(), 1_000);
    for (begins, after) in walk {
        tick += after;
        if *begins {
            let category = (spans.len() % 2) as u8;
            author.begin(0, tick, names[usize::from(category)]);
            open.push(spans.len());
            spans.push((tick, None, category));
        } else if let Some(span) = open.pop() {
            author.end(0, tick);
            spans[span].1 = Some(tick);
        }
    }
    spans
}

/// Pairs begins with ends: begin, end, whether it finished; in the order they begin.
fn paired(events: &[Event]) -> Vec<(u64, u64, bool)> {
    let (mut spans, mut open) = (Vec::new(), Vec::new());
    for event in events {
        match event.what {
            What::Begin { .. } => {
                open.push(spans.len());
                spans.push((event.tick, 0, false));
            }
            What::End { unfinished, .. } => {
                let span: &mut (u64, u64, bool) = &mut spans[open.pop().unwrap()];
                (span.1, span.2) = (event.tick, !unfinished);
            }
            _ => unreachable!("only spans were recorded"),
        }
    }
    assert!(open.is_empty());
    spans
}

proptest! {
    #[test]
    fn spans_that_meet_the_cut_are_in_it(
        walk in proptest::collection::vec((any::<bool>(), 0_u64..20), 1..80),
        from in 900_u64..1_800, len in 0_u64..500, switch in 0_u64..500, masks in [0_u32..4, 0_u32..4],
    ) {
        let mut author = LiveAuthor::new().with_chunk_words(24);
        let spans = spans(&mut author, &walk);
        prop_assume!(!spans.is_empty());
        let recording = opened(author.finish());
        let (to, change) = (from + len, from + switch);
        let cut = Cut { from_tick: from, to_tick: to, changes: vec![(from, masks[0]), (change, masks[1])], streams: None };
        let last = spans.iter().flat_map(|(begin, end, _)| [*begin, end.unwrap_or(0)]).max().unwrap();
        let expected: Vec<(u64, u64, bool)> = spans.iter().filter_map(|(begin, end, category)| {
            let mask = if *begin >= change { masks[1] } else { masks[0] };
            let end_in_data = end.unwrap_or(last);
            let meets = *begin <= to && end_in_data >= from;
            let finished = end.is_some_and(|end| end <= to);
            (meets && mask >> category & 1 == 1).then_some((*begin, if finished { end_in_data } else { last.min(to) }, finished))
        }).collect();
        let found = paired(&events(&recording, 0, &cut));
        // A span that never ends lasts to the last tick that is known: of this thread, or of any sealed chunk.
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn spans_open_before_and_after_are_handed_out_whole_and_marked() {
    let mut author = LiveAuthor::new();
    let name = author.name("step", 1, 7);
    for (tick, begins) in [(10, true), (20, true), (30, false), (40, true), (60, false), (90, false)] {
        if begins {
            author.begin(0, tick, name);
            author.args(0, &[(name, ArgView::U64(tick))]);
        } else {
            author.end(0, tick);
        }
    }
    let recording = opened(author.finish());
    let cut = |from_tick, to_tick| Cut { from_tick, to_tick, ..Cut::everything() };
    assert_eq!(shape(&events(&recording, 0, &cut(50, 70))), "(10 (40 )60 !70");
    assert_eq!(shape(&events(&recording, 0, &cut(30, 35))), "(10 (20 )30 !35");
    assert_eq!(shape(&events(&recording, 0, &cut(91, 99))), "");
    let mut replay = recording.replay(&recording.threads()[0], &cut(50, 70));
    for begin in [10, 40] {
        let (_, args) = replay.next().unwrap();
        assert_eq!(args.iter().collect::<Vec<_>>(), [(name, ArgView::U64(begin))]);
    }
    let other = Cut { streams: Some(vec![1]), ..Cut::everything() };
    assert_eq!(events(&recording, 0, &other), []);
}
