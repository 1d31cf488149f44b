use proptest::prelude::*;
use rankscope_recording::{LivePage, PAGE_BYTES, PAGE_WORDS};

use super::super::tests::{Rank, page_of};
use super::*;

fn packed(changes: &[(Change, Option<&Fixed>, &Fixed)]) -> Vec<u8> {
    let mut packer = Packer::new();
    changes.iter().for_each(|(change, base, now)| packer.add(change, *base, now));
    packer.packed()
}

/// What is left of words at some places, and zeros elsewhere.
fn lean(words: &[(usize, u64)]) -> Lean {
    let mut lean = Lean::nothing();
    for (at, word) in words {
        match at % (PAGE_WORDS - 32) {
            at if at < FIXED => lean.fixed[at] = *word,
            at => lean.ring.as_flattened_mut()[at % (PAGE_ARRIVALS * PAGE_ARRIVAL_WORDS)] = *word,
        }
    }
    lean
}

fn words() -> impl Strategy<Value = Vec<(usize, u64)>> {
    let word = prop_oneof![any::<u64>(), 0..3u64, (1u64 << 50)..(1 << 50) + 1_000_000];
    prop::collection::vec((0..4 * PAGE_WORDS, word), 0..200)
}

proptest! {
    #[test]
    fn who_knows_what_was_known_gets_what_is_whatever_words_those_are(
        ranks in prop::collection::vec((any::<u32>(), prop::option::of(words()), words()), 0..5),
    ) {
        let ranks: Vec<_> = ranks.iter().map(|(rank, base, now)| (*rank, base.as_deref().map(lean), lean(now))).collect();
        let changes: Vec<Change> = ranks.iter().map(|(rank, base, now)| Change::of(*rank, now, base.as_ref())).collect();
        let with = changes.iter().zip(&ranks).map(|(change, (_, base, now))| (change.clone(), base.as_ref().map(|base| &*base.fixed), &*now.fixed));
        let message = packed(&with.collect::<Vec<_>>());
        let bases = ranks.iter().filter_map(|(rank, base, _)| Some((*rank, &*base.as_ref()?.fixed)));
        let bases: std::collections::BTreeMap<u32, &Fixed> = bases.collect();
        let base_of = |rank: u32| bases.get(&rank).copied();
        let got = unpacked(&message, base_of).unwrap();
        prop_assert_eq!(&got, &changes);
        for (change, (_, base, now)) in got.iter().zip(&ranks) {
            let mut lean = base.clone().unwrap_or_else(Lean::nothing);
            change.apply(&mut lean);
            prop_assert_eq!(&lean, now);
        }
    }

    #[test]
    fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 0usize..2_000, at in any::<prop::sample::Index>(), byte: u8) {
        let _refused = unpacked(&bytes, |_| None);
        let _refused = unpacked(&zstd::bulk::compress(&bytes, 1).unwrap(), |_| None);
        let now = lean(&[(3, 4), (900, 77), (1_400, u64::MAX)]);
        let plain = zstd::bulk::decompress(&packed(&[(Change::of(1, &now, None), None, &now.fixed)]), 1 << 20).unwrap();
        let cut = &plain[..cut.min(plain.len() - 1)];
        prop_assert!(unpacked(&zstd::bulk::compress(cut, 1).unwrap(), |_| None).is_err());
        let mut other = plain.clone();
        *at.get_mut(&mut other) = byte;
        let _changed_or_refused = unpacked(&zstd::bulk::compress(&other, 1).unwrap(), |_| None);
    }

    #[test]
    fn what_is_left_of_a_page_is_read_as_the_page(ranks in prop::collection::vec((0..2_000u64, any::<i64>(), 0..600u64), 1..4)) {
        for (rank, (progress, clock_ns, arrivals)) in (0..).zip(ranks) {
            let page = page_of(&Rank { rank, progress, clock_ns: clock_ns / 4, arrivals, ..Rank::default() });
            let again = Lean::of(&page, rank).unwrap().page();
            prop_assert_eq!(again.len(), PAGE_BYTES);
            prop_assert_eq!(LivePage::read(&again, &again).unwrap(), LivePage::read(&page, &page).unwrap());
        }
    }
}

#[test]
fn what_unpacks_without_end_is_refused() {
    let bomb = zstd::bulk::compress(&vec![0; PLAIN_BYTES_MAX + 1], 1).unwrap();
    assert!(bomb.len() < 2_000);
    assert_eq!(unpacked(&bomb, |_| None), Err(Malformed::Packing));
    assert_eq!(unpacked(&zstd::bulk::compress(&[u8::MAX; 4_000], 1).unwrap(), |_| None), Err(Malformed::Cut));
}

#[test]
fn an_arrival_of_a_rank_that_does_as_the_one_before_is_a_few_bytes() {
    // Forty collectives a second, to which ranks come within a hundred microseconds, on clocks of their own.
    let at = |rank: u32, step: u64| {
        let clock_ns = i64::from(rank / 8) << 40;
        let rank = Rank { rank, progress: 2 * step, clock_ns, arrivals: 40 * step, jitter_ns: 100_000, ..Rank::default() };
        Lean::of(&page_of(&rank), rank.rank).unwrap()
    };
    let ranks: Vec<_> = (0..256).map(|rank| (at(rank, 20), at(rank, 21))).collect();
    let changes =
        (0..).zip(&ranks).map(|(rank, (base, now))| (Change::of(rank, now, Some(base)), Some(&*base.fixed), &*now.fixed));
    let message = packed(&changes.collect::<Vec<_>>());
    let bytes_a_rank = message.len() / ranks.len();
    assert!(bytes_a_rank < 320, "{bytes_a_rank} bytes a rank for 40 arrivals");
}

#[test]
fn places_begin_with_the_oldest_arrival() {
    let mut fixed = [0; FIXED];
    fixed[ARRIVALS_WORD] = 300;
    let places: Vec<usize> = places(&fixed).collect();
    assert_eq!((places[0], places[PAGE_ARRIVALS - 1], places.len()), (44, 43, PAGE_ARRIVALS));
}
