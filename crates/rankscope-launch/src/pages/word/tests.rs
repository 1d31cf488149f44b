use proptest::prelude::*;

use super::super::tests::{Rank, page_of, part};
use super::*;

const BYTES: usize = 100_000;

/// Two nodes of two ranks, the second of which may have none; each rank so far.
fn said(number: u64, progress: [u64; 4], has_second: bool) -> BTreeMap<u32, Said> {
    let page = |rank: u32| {
        let progress = progress[rank as usize];
        let page = page_of(&Rank { rank, progress, arrivals: 3 * progress, jitter_ns: 90_000, ..Rank::default() });
        (rank, Lean::of(&page, rank).unwrap())
    };
    let node = |node: u32, ranks: &[u32]| Said {
        number,
        part: part(node, ranks),
        pages: ranks.iter().map(|rank| page(*rank)).collect(),
    };
    [(5, node(5, &[0, 1])), (6, node(6, if has_second { &[2, 3] } else { &[] }))].into()
}

/// Whoever listens, with pages as files would be.
#[derive(Default)]
struct Other {
    listener: Listener,
    pages: BTreeMap<u32, Lean>,
}

impl Other {
    /// Hears a word; what it says about it.
    fn hear(&mut self, word: &Word) -> Taken {
        match self.listener.hear(word, &(5..7)).unwrap() {
            Heard::Early => {}
            Heard::Lost => self.listener.forget(),
            Heard::News { changes, .. } => {
                for change in changes {
                    if change.is_whole {
                        self.pages.remove(&change.rank);
                    }
                    change.apply(self.pages.entry(change.rank).or_insert_with(Lean::nothing));
                    assert_eq!(self.listener.fixed(change.rank), Some(&*self.pages[&change.rank].fixed));
                }
                let there = self.listener.node_of();
                self.pages.retain(|rank, _| there.contains_key(rank));
            }
        }
        self.listener.taken()
    }

    fn is_up_to_date(&self, said: &BTreeMap<u32, Said>) -> bool {
        said.values().flat_map(|said| &said.pages).eq(&self.pages)
    }
}

#[derive(Clone, Copy, Debug)]
enum Happens {
    /// The word is not read, or what was said about it is not.
    WordLost,
    AnswerLost,
    /// A word of before comes again.
    Again,
    /// One side begins again.
    HeadBegins,
    OtherBegins,
    Nothing,
}

fn happens() -> impl Strategy<Value = Happens> {
    use Happens::{Again, AnswerLost, HeadBegins, Nothing, OtherBegins, WordLost};
    prop::sample::select(vec![
        WordLost,
        WordLost,
        AnswerLost,
        AnswerLost,
        Again,
        HeadBegins,
        OtherBegins,
        Nothing,
        Nothing,
        Nothing,
    ])
}

proptest! {
    // Each of them makes a hundred pages.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_lost_what_is_taken_is_what_was_said(
        steps in prop::collection::vec((happens(), prop::array::uniform4(0..200u64), any::<bool>()), 1..40), bytes in 1..BYTES,
    ) {
        let (mut epoch, mut speaker, mut other) = (1, Speaker::new(1, bytes), Other::default());
        let (mut progress, mut before) = ([1; 4], None);
        for (number, (happens, more, has_second)) in (1..).zip(steps) {
            (0..4).for_each(|rank| progress[rank] += more[rank]);
            match happens {
                Happens::HeadBegins => {
                    epoch += 1;
                    speaker = Speaker::new(epoch, bytes);
                }
                Happens::OtherBegins => other.listener = Listener::default(),
                _ => {}
            }
            let now = said(number, progress, has_second);
            let word = speaker.word(&now);
            let heard = match (happens, &before) {
                (Happens::WordLost, _) => None,
                (Happens::Again, Some(before)) => Some(other.hear(before)),
                _ => Some(other.hear(&word)),
            };
            if let Some(taken) = heard.filter(|_| !matches!(happens, Happens::AnswerLost)) {
                speaker.heard(taken);
            }
            before = Some(word);
        }
        // When nothing is lost any more, all of it comes: it may have to be said whole, and a rank a word.
        let now = said(9_999, progress, true);
        let is_there = (0..16).any(|_| {
            let word = speaker.word(&now);
            speaker.heard(other.hear(&word));
            other.is_up_to_date(&now)
        });
        prop_assert!(is_there);
    }

    #[test]
    fn no_word_whatever_does_harm(
        epoch in 0..3u64, base in 0..3u64, number: u64, node in 4..8u32, pages in ".{0,60}",
        bytes in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut other = Other::default();
        let mut speaker = Speaker::new(1, BYTES);
        other.hear(&speaker.word(&said(1, [3; 4], true)));
        for pages in [pages, STANDARD.encode(&bytes), STANDARD.encode(zstd::bulk::compress(&bytes, 1).unwrap())] {
            let word = Word { epoch, base, number, nodes: vec![(node, 1)], parts: vec![part(node, &[9])], pages };
            if let Ok(Heard::News { .. }) = other.listener.hear(&word, &(5..7)) {
                prop_assert!((5..7).contains(&node));
            }
        }
    }
}

#[test]
fn a_rank_that_only_stepped_on_costs_a_few_bytes() {
    let (mut speaker, mut other) = (Speaker::new(1, BYTES), Other::default());
    let whole = speaker.word(&said(1, [10; 4], true));
    speaker.heard(other.hear(&whole));
    let word = speaker.word(&said(2, [11; 4], true));
    assert!(word.base == 1 && word.parts.is_empty() && word.pages.len() < 4 * 120, "{} bytes", word.pages.len());
}

#[test]
fn a_head_speaks_for_its_group_alone() {
    let mut listener = Listener::default();
    let word = Speaker::new(1, BYTES).word(&said(1, [1; 4], true));
    assert!(matches!(listener.hear(&word, &(6..9)), Err(Refused::Node(5))));
    assert_eq!(listener.taken().number, 0, "nothing of it was taken");
}

#[test]
fn a_word_that_is_refused_takes_nothing_away() {
    let (mut speaker, mut other) = (Speaker::new(1, BYTES), Other::default());
    let whole = speaker.word(&said(1, [10; 4], true));
    speaker.heard(other.hear(&whole));
    let taken = other.listener.taken();
    for epoch in [1, 2] {
        let word = Word { epoch, base: 0, number: 9, nodes: vec![(5, 1)], parts: Vec::new(), pages: "no page".to_owned() };
        assert!(matches!(other.listener.hear(&word, &(5..7)), Err(Refused::Foreign)));
        assert_eq!(other.listener.taken(), taken);
    }
    let next = speaker.word(&said(2, [11; 4], true));
    assert!(next.base == 1 && matches!(other.listener.hear(&next, &(5..7)), Ok(Heard::News { .. })));
}

#[test]
fn words_of_many_ranks_are_bounded_and_all_find_room() {
    let ranks: Vec<u32> = (0..64).collect();
    let page = |rank: &u32| {
        (
            *rank,
            Lean::of(&page_of(&Rank { rank: *rank, arrivals: 256, jitter_ns: u64::MAX >> 2, ..Rank::default() }), *rank)
                .unwrap(),
        )
    };
    let said: BTreeMap<u32, Said> =
        [(5, Said { number: 1, part: part(5, &ranks), pages: ranks.iter().map(page).collect() })].into();
    let (mut speaker, mut other) = (Speaker::new(1, 30_000), Other::default());
    let words = (1..60).find(|_| {
        let word = speaker.word(&said);
        assert!(word.pages.len() < (30_000 + 20_000) * 4 / 3, "{} bytes", word.pages.len());
        speaker.heard(other.hear(&word));
        other.is_up_to_date(&said)
    });
    assert!(words.is_some_and(|words| words > 3), "{words:?}");
}
