//! What of a page a reader goes by: its head, the newer of its two states, its groups and its ring of arrivals.
//!
//! Two pages that are alike in it are read alike. Checksums and counts that follow from the rest are left out, and are made again.

use rankscope_recording::{
    LivePage, PAGE_ARRIVAL_WORDS, PAGE_ARRIVALS, PAGE_ARRIVALS_AT, PAGE_COUNT_AT, PAGE_GROUPS_AT, PAGE_STATE_WORDS,
    PAGE_STATES_AT, PAGE_WORDS, newest_state, state_checksum,
};

/// Where the state is among the words that are not of the ring.
pub(super) const STATE_AT: usize = PAGE_STATES_AT[0];
/// Behind it.
const STATE_END: usize = STATE_AT + PAGE_STATE_WORDS;
/// Words that are not of the ring.
pub(super) const FIXED: usize = STATE_END + PAGE_ARRIVALS_AT - PAGE_GROUPS_AT;
/// Where the state says how many arrivals there were, and when the rank did the last thing.
pub(super) const ARRIVALS_WORD: usize = STATE_AT + 8;
pub(super) const PROGRESS_WORD: usize = STATE_AT + 2;

pub(super) type Fixed = [u64; FIXED];
pub(super) type Slot = [u64; PAGE_ARRIVAL_WORDS];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lean {
    pub(super) fixed: Box<Fixed>,
    pub(super) ring: Box<[Slot; PAGE_ARRIVALS]>,
}

impl Lean {
    /// As much as nothing is known of a rank.
    pub(super) fn nothing() -> Self {
        Self { fixed: Box::new([0; FIXED]), ring: Box::new([[0; PAGE_ARRIVAL_WORDS]; PAGE_ARRIVALS]) }
    }

    /// That of the page of `rank`, if it is one.
    pub(super) fn of(page: &[u8], rank: u32) -> Option<Self> {
        LivePage::read(page, page).ok().filter(|read| read.head.rank == rank)?;
        let words = words_of(page);
        let state = PAGE_STATES_AT[newest_state(&words)?];
        let mut lean = Self::nothing();
        lean.fixed[..STATE_AT].copy_from_slice(&words[..STATE_AT]);
        lean.fixed[PAGE_COUNT_AT] = 0;
        lean.fixed[STATE_AT..STATE_END].copy_from_slice(&words[state..state + PAGE_STATE_WORDS]);
        lean.fixed[STATE_END - 1] = 0;
        lean.fixed[STATE_END..].copy_from_slice(&words[PAGE_GROUPS_AT..PAGE_ARRIVALS_AT]);
        lean.ring.as_flattened_mut().copy_from_slice(words.get(PAGE_ARRIVALS_AT..PAGE_WORDS)?);
        Some(lean)
    }

    /// The ring of a page that was put in place here, without the rest.
    pub(super) fn of_ring(page: &[u8]) -> Option<Self> {
        let words = words_of(page);
        let mut lean = Self::nothing();
        lean.ring.as_flattened_mut().copy_from_slice(words.get(PAGE_ARRIVALS_AT..PAGE_WORDS)?);
        Some(lean)
    }

    /// Which of the two states of a page is the newer one.
    pub(super) fn newest(page: &[u8]) -> Option<usize> {
        newest_state(&words_of(page))
    }

    /// A page that is read as the one that this was taken of.
    pub(super) fn page(&self) -> Vec<u8> {
        let mut words = vec![0; PAGE_WORDS];
        words[..STATE_AT].copy_from_slice(&self.fixed[..STATE_AT]);
        words[PAGE_COUNT_AT] = self.fixed[STATE_AT];
        words[STATE_AT..STATE_END].copy_from_slice(&state_of(&self.fixed));
        words[PAGE_GROUPS_AT..PAGE_ARRIVALS_AT].copy_from_slice(&self.fixed[STATE_END..]);
        words[PAGE_ARRIVALS_AT..].copy_from_slice(self.ring.as_flattened());
        bytes_of(&words)
    }
}

/// The state, with its checksum.
pub(super) fn state_of(fixed: &Fixed) -> [u64; PAGE_STATE_WORDS] {
    let mut state = [0; PAGE_STATE_WORDS];
    state.copy_from_slice(&fixed[STATE_AT..STATE_END]);
    state[PAGE_STATE_WORDS - 1] = state_checksum(&state[..PAGE_STATE_WORDS - 1]);
    state
}

pub(super) fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn words_of(page: &[u8]) -> Vec<u64> {
    page.as_chunks().0.iter().take(PAGE_WORDS).map(|word| u64::from_le_bytes(*word)).collect()
}
