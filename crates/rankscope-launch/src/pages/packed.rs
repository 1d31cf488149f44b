//! A page on its way: all of it but for arrivals that were told before, deflated.
//!
//! What says where a rank is (head, states, groups) goes whole, for it has checksums over all of it; of the ring of arrivals only those that
//! changed. Who missed some keeps older ones in their places, and a reader knows them by their numbers. So nothing depends on what came before,
//! and an arrival is some twenty bytes.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rankscope_recording::{PAGE_ARRIVAL_WORDS, PAGE_ARRIVALS, PAGE_ARRIVALS_AT, PAGE_BYTES};

const STATE_BYTES: usize = 8 * PAGE_ARRIVALS_AT;
const ARRIVAL_BYTES: usize = 8 * PAGE_ARRIVAL_WORDS;
/// One byte says in which place an arrival is.
const _: () = assert!(PAGE_ARRIVALS <= 1 << 8);

/// `page`, but for arrivals that are in `before` as well.
pub(super) fn packed(page: &[u8], before: Option<&[u8]>) -> Vec<u8> {
    let mut plain = page[..STATE_BYTES.min(page.len())].to_vec();
    for (place, arrival) in (0..=u8::MAX).zip(arrivals(page)) {
        if before.and_then(|before| arrivals(before).nth(usize::from(place))) != Some(arrival) {
            plain.push(place);
            plain.extend_from_slice(arrival);
        }
    }
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(&plain).and_then(|()| encoder.finish());
    written.unwrap_or_default()
}

/// Puts what was `packed` into `page`; false, and nothing is changed, where it is no page.
pub(super) fn unpack(packed: &[u8], page: &mut Vec<u8>) -> bool {
    let mut plain = Vec::new();
    // More than this no page comes to, whatever it was deflated from.
    let most = STATE_BYTES + PAGE_ARRIVALS * (1 + ARRIVAL_BYTES);
    let inflated = DeflateDecoder::new(packed).take(most as u64 + 1).read_to_end(&mut plain);
    let Some((states, changed)) = plain.split_at_checked(STATE_BYTES).filter(|_| inflated.is_ok()) else { return false };
    let (changed, rest) = changed.as_chunks::<{ 1 + ARRIVAL_BYTES }>();
    if !rest.is_empty() || changed.len() > PAGE_ARRIVALS {
        return false;
    }
    page.resize(PAGE_BYTES, 0);
    page[..STATE_BYTES].copy_from_slice(states);
    for [place, arrival @ ..] in changed {
        let at = STATE_BYTES + usize::from(*place) * ARRIVAL_BYTES;
        page[at..at + ARRIVAL_BYTES].copy_from_slice(arrival);
    }
    true
}

fn arrivals(page: &[u8]) -> impl Iterator<Item = &[u8]> {
    page.get(STATE_BYTES..).unwrap_or_default().chunks_exact(ARRIVAL_BYTES).take(PAGE_ARRIVALS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A page in which words at some places are not zero.
    fn page(words: &[(usize, u64)]) -> Vec<u8> {
        let mut page = vec![0; PAGE_BYTES];
        for (at, word) in words {
            let at = at % (PAGE_BYTES / 8) * 8;
            page[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        page
    }

    fn words() -> impl Strategy<Value = Vec<(usize, u64)>> {
        prop::collection::vec((0..PAGE_BYTES / 8, any::<u64>()), 0..200)
    }

    proptest! {
        #[test]
        fn who_has_what_came_before_gets_the_page(before in words(), page_words in words()) {
            let (before, page) = (page(&before), page(&page_words));
            let mut got = before.clone();
            prop_assert!(unpack(&packed(&page, Some(&before)), &mut got));
            prop_assert_eq!(&got, &page);
            let mut new = Vec::new();
            prop_assert!(unpack(&packed(&page, None), &mut new));
            prop_assert_eq!(&new, &page);
        }

        #[test]
        fn who_missed_some_has_arrivals_of_one_time_or_another_whole(older in words(), before in words(), page_words in words()) {
            let (older, before, page) = (page(&older), page(&before), page(&page_words));
            let mut got = older.clone();
            prop_assert!(unpack(&packed(&page, Some(&before)), &mut got));
            prop_assert_eq!(&got[..STATE_BYTES], &page[..STATE_BYTES]);
            for ((got, old), new) in arrivals(&got).zip(arrivals(&older)).zip(arrivals(&page)) {
                prop_assert!(got == old || got == new);
            }
        }

        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0usize..4_000) {
            let mut page = Vec::new();
            prop_assert!(!unpack(&bytes, &mut page) || page.len() == PAGE_BYTES);
            let whole = packed(&vec![7; PAGE_BYTES], None);
            prop_assert_eq!(unpack(&whole[..cut.min(whole.len() - 1)], &mut Vec::new()), false);
        }
    }

    #[test]
    fn what_inflates_without_end_is_refused() {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![0; 1 << 24]).unwrap();
        let mut page = Vec::new();
        assert!(!unpack(&encoder.finish().unwrap(), &mut page) && page.is_empty());
    }
}
