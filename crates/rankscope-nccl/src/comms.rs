//! The communicators of a process: who they are, in a table of fixed size beside the ring.
//!
//! A slot is taken by an init and given back by a finalize; it is used again only when every slot has been used once, the one that
//! was given back first before the others. A communicator that finds no slot is recorded nowhere, and counted.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Communicators at a time.
pub(crate) const COMMS: usize = 1024;
/// Words of one.
pub(crate) const COMM_WORDS: usize = 16;
/// Bytes of a name that are kept.
const NAME_BYTES: usize = (COMM_WORDS - NAME_AT) * 8;
const STATE: usize = 0;
const HASH: usize = 1;
const RANKS: usize = 2;
const PLACE: usize = 3;
const NAME_AT: usize = 4;

const FREE: u64 = 0;
const OPEN: u64 = 1;

/// What is known of a communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comm {
    /// The same on all its ranks; zero where the version of the interface does not say.
    pub(crate) hash: u64,
    /// How many ranks it has; zero where that is not said.
    pub(crate) ranks: u32,
    /// On how many nodes.
    pub(crate) nodes: u32,
    /// Which of them this is.
    pub(crate) rank: u32,
    /// Its name; may be empty.
    pub(crate) name: String,
}

/// The table.
#[derive(Debug)]
pub(crate) struct Comms {
    words: &'static [AtomicU64],
    /// How many slots were handed out, for fairness among those given back.
    taken: AtomicU32,
}

impl Comms {
    /// A table in these words, which are zero.
    pub(crate) fn new(words: &'static [AtomicU64]) -> Self {
        Self { words, taken: AtomicU32::new(0) }
    }

    fn slot(&self, slot: u16) -> Option<&'static [AtomicU64]> {
        self.words.chunks_exact(COMM_WORDS).nth(usize::from(slot))
    }

    /// Takes a slot for `comm`; none where all are in use.
    pub(crate) fn open(&self, comm: &Comm) -> Option<u16> {
        let first = self.taken.fetch_add(1, Ordering::Relaxed) as usize;
        let (slot, words) = (0..COMMS).map(|at| ((first + at) % COMMS) as u16).find_map(|slot| {
            let words = self.slot(slot)?;
            let got = words[STATE].compare_exchange(FREE, OPEN, Ordering::AcqRel, Ordering::Relaxed);
            got.is_ok().then_some((slot, words))
        })?;
        words[RANKS].store(u64::from(comm.ranks) | u64::from(comm.nodes) << 32, Ordering::Relaxed);
        words[PLACE].store(u64::from(comm.rank), Ordering::Relaxed);
        let mut name = [0_u8; NAME_BYTES];
        let len = (0..=comm.name.len().min(NAME_BYTES)).rev().find(|len| comm.name.is_char_boundary(*len)).unwrap_or(0);
        name[..len].copy_from_slice(&comm.name.as_bytes()[..len]);
        for (word, bytes) in words[NAME_AT..].iter().zip(name.chunks_exact(8)) {
            word.store(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)), Ordering::Relaxed);
        }
        words[HASH].store(comm.hash, Ordering::Release);
        Some(slot)
    }

    /// Gives a slot back; what is known of it stays until it is taken again.
    pub(crate) fn close(&self, slot: u16) -> bool {
        let Some(words) = self.slot(slot) else { return false };
        words[STATE].compare_exchange(OPEN, FREE, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Whether a communicator has that slot.
    #[inline]
    pub(crate) fn is_open(&self, slot: u16) -> bool {
        let at = usize::from(slot) * COMM_WORDS + STATE;
        self.words.get(at).is_some_and(|state| state.load(Ordering::Relaxed) == OPEN)
    }

    /// An operation says which communicator the slot is of, where its init could not.
    #[inline]
    pub(crate) fn learn(&self, slot: u16, hash: u64, rank: i32) {
        let Some(words) = self.slot(slot) else { return };
        if hash != 0 && words[HASH].load(Ordering::Relaxed) == 0 {
            words[PLACE].store(u64::from(u32::try_from(rank).unwrap_or(0)), Ordering::Relaxed);
            words[HASH].store(hash, Ordering::Release);
        }
    }

    /// What is known of the one in that slot.
    pub(crate) fn get(&self, slot: u16) -> Option<Comm> {
        let words = self.slot(slot)?;
        let hash = words[HASH].load(Ordering::Acquire);
        let (ranks, place) = (words[RANKS].load(Ordering::Relaxed), words[PLACE].load(Ordering::Relaxed));
        let name: Vec<u8> = words[NAME_AT..].iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
        let len = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        let name = String::from_utf8_lossy(&name[..len]).into_owned();
        Some(Comm { hash, ranks: ranks as u32, nodes: (ranks >> 32) as u32, rank: place as u32, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Comms {
        Comms::new((0..COMMS * COMM_WORDS).map(|_| AtomicU64::new(0)).collect::<Vec<_>>().leak())
    }

    #[test]
    fn what_is_known_of_a_communicator_outlives_it() {
        let comms = table();
        let name =
            "a group whose name is longer than what is kept of it, by far: with ä, and then some, and then some more, and more";
        let comm = Comm { hash: 7, ranks: 8, nodes: 2, rank: 3, name: name.to_owned() };
        let slot = comms.open(&comm).unwrap();
        assert!(comms.is_open(slot) && comms.close(slot) && !comms.close(slot));
        let known = comms.get(slot).unwrap();
        assert!(name.starts_with(&known.name) && known.name.len() > 90);
        assert_eq!(Comm { name: comm.name.clone(), ..known }, comm);
    }

    #[test]
    fn slots_are_used_again_when_all_have_been_used() {
        let comms = table();
        let comm = Comm { hash: 1, ..Comm::default() };
        let slots: Vec<_> = (0..COMMS).map(|_| comms.open(&comm).unwrap()).collect();
        assert_eq!(comms.open(&comm), None);
        assert!(comms.close(slots[5]));
        assert_eq!(comms.open(&comm), Some(slots[5]));
    }

    #[test]
    fn an_operation_tells_what_an_init_did_not() {
        let comms = table();
        let slot = comms.open(&Comm::default()).unwrap();
        comms.learn(slot, 0, 4);
        comms.learn(slot, 9, 4);
        comms.learn(slot, 10, 5);
        assert_eq!(comms.get(slot).map(|comm| (comm.hash, comm.rank)), Some((9, 4)));
    }
}
