//! What a head says of its group in one word, and how it is understood: differences from what the other side has said that it took.
//!
//! A word is numbered and names the one that it is based on. Words may be lost, and either side may begin again: whoever hears a word that is based
//! on one that it does not have says so, and the next one is whole. Nobody waits: a word that was not taken is followed by one that holds its
//! news, too.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rankscope_run::NodePart;
use serde::{Deserialize, Serialize};

use super::columns::{Change, Malformed, Packer, unpacked};
use super::lean::{FIXED, Fixed, Lean};

/// Of all parts of a word: what they take as text, about.
const PARTS_BYTES_MAX: usize = 128 << 10;
const RANK_BYTES: usize = 80;

/// Words that were not taken and that are remembered.
const UNTAKEN_MAX: usize = 8;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Word {
    /// Of the process that says it.
    pub(super) epoch: u64,
    /// The word that it is based on; 0 where it is whole.
    pub(super) base: u64,
    pub(super) number: u64,
    /// Each node of which it tells, and the number of what that said.
    pub(super) nodes: Vec<(u32, u64)>,
    /// Which ranks are where, of nodes that said something new.
    pub(super) parts: Vec<NodePart>,
    /// Changes of pages, packed, in base 64.
    pub(super) pages: String,
}

/// The word that was taken; 0 where the next one has to be whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Taken {
    pub(super) epoch: u64,
    pub(super) number: u64,
}

/// What a node said last.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) number: u64,
    pub(super) part: NodePart,
    pub(super) pages: BTreeMap<u32, Lean>,
}

/// The head.
#[derive(Debug)]
pub(super) struct Speaker {
    epoch: u64,
    number: u64,
    bytes: usize,
    /// What was taken.
    base: u64,
    parts: BTreeMap<u32, NodePart>,
    pages: BTreeMap<u32, Lean>,
    untaken: VecDeque<Untaken>,
    /// The rank that finds room first.
    first: u32,
    /// How often something was taken.
    pub(super) taken: u64,
}

#[derive(Debug)]
struct Untaken {
    number: u64,
    parts: Vec<NodePart>,
    changes: Vec<Change>,
}

impl Speaker {
    /// One of this epoch, whose words have so many bytes, about, before they are packed.
    pub(super) fn new(epoch: u64, bytes: usize) -> Self {
        let (base, parts, pages) = (0, BTreeMap::new(), BTreeMap::new());
        Self { epoch, number: 0, bytes, base, parts, pages, untaken: VecDeque::new(), first: 0, taken: 0 }
    }

    /// The other side took it.
    pub(super) fn heard(&mut self, taken: Taken) {
        if taken.epoch != self.epoch || taken.number == self.base {
            return;
        }
        let word = self.untaken.iter().position(|word| word.number == taken.number);
        let Some(word) = word.and_then(|at| self.untaken.drain(..=at).next_back()) else {
            // The other side has begun again, or took what is forgotten here.
            return *self =
                Self { number: self.number, first: self.first, taken: self.taken, ..Self::new(self.epoch, self.bytes) };
        };
        // The others were based on what is no more the base there.
        self.untaken.clear();
        self.base = word.number;
        self.taken += 1;
        for part in word.parts {
            self.parts.insert(part.node, part);
        }
        for change in word.changes {
            change.apply(self.pages.entry(change.rank).or_insert_with(Lean::nothing));
        }
        let ranks = ranks(self.parts.values());
        self.pages.retain(|rank, _| ranks.contains(rank));
    }

    /// The next word.
    pub(super) fn word(&mut self, said: &BTreeMap<u32, Said>) -> Word {
        self.number += 1;
        let parts = self.new_parts(said);
        let (changes, pages) = self.changes(said);
        if self.untaken.len() >= UNTAKEN_MAX {
            self.untaken.pop_front();
        }
        self.untaken.push_back(Untaken { number: self.number, parts: parts.clone(), changes });
        let nodes = said.iter().map(|(node, said)| (*node, said.number)).collect();
        Word { epoch: self.epoch, base: self.base, number: self.number, nodes, parts, pages: STANDARD.encode(pages) }
    }

    fn new_parts(&self, said: &BTreeMap<u32, Said>) -> Vec<NodePart> {
        let mut left = PARTS_BYTES_MAX;
        let mut finds_room = |part: &&NodePart| {
            let bytes = RANK_BYTES * (1 + part.ranks.len());
            let is_in = left >= bytes || left == PARTS_BYTES_MAX;
            left = left.saturating_sub(bytes);
            is_in
        };
        let new = said.values().map(|said| &said.part).filter(|part| self.parts.get(&part.node) != Some(part));
        new.take_while(&mut finds_room).cloned().collect()
    }

    /// What changed in pages, as much as finds room, those first that found none the last time.
    fn changes(&mut self, said: &BTreeMap<u32, Said>) -> (Vec<Change>, Vec<u8>) {
        let pages: BTreeMap<u32, &Lean> =
            said.values().flat_map(|said| said.pages.iter().map(|(rank, page)| (*rank, page))).collect();
        let (mut changes, mut packer) = (Vec::new(), Packer::new());
        for (rank, page) in pages.range(self.first..).chain(pages.range(..self.first)) {
            if packer.plain_bytes() >= self.bytes {
                self.first = *rank;
                break;
            }
            let base = self.pages.get(rank);
            let change = Change::of(*rank, page, base);
            if change.is_whole || !change.fixed.is_empty() || !change.slots.is_empty() {
                packer.add(&change, base.map(|base| &*base.fixed), &page.fixed);
                changes.push(change);
            }
        }
        (changes, packer.packed())
    }
}

/// Why a word is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    #[error("it is no word of a head")]
    Foreign,
    #[error("it speaks of node {0}, which is not of its group")]
    Node(u32),
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// What is to be done about a word.
#[derive(Debug)]
pub(super) enum Heard {
    /// It is news.
    News { parts: Vec<NodePart>, changes: Vec<Change> },
    /// It is based on what was before what is here, which the head does not know yet, or was not told.
    Early,
    /// It is based on what is not here: the next one has to be whole.
    Lost,
}

/// Whoever hears a head.
#[derive(Debug, Default)]
pub(super) struct Listener {
    epoch: u64,
    number: u64,
    /// Ranks of each node.
    ranks: BTreeMap<u32, BTreeSet<u32>>,
    /// What of their pages is not of the ring.
    fixed: BTreeMap<u32, Box<Fixed>>,
}

impl Listener {
    /// What is to be said about it.
    pub(super) fn taken(&self) -> Taken {
        Taken { epoch: self.epoch, number: self.number }
    }

    /// Nothing counts any more.
    pub(super) fn forget(&mut self) {
        *self = Self { epoch: self.epoch, ..Self::default() };
    }

    /// Hears a word of the head of `members`. What is refused changes nothing.
    pub(super) fn hear(&mut self, word: &Word, members: &Range<u32>) -> Result<Heard, Refused> {
        let mut named = word.nodes.iter().map(|(node, _)| *node).chain(word.parts.iter().map(|part| part.node));
        if let Some(node) = named.find(|node| !members.contains(node)) {
            return Err(Refused::Node(node));
        }
        // Of a head that begins, or one that was told to, nothing is known.
        let begins = word.base == 0 || word.epoch != self.epoch;
        let anew = || Self { epoch: word.epoch, ..Self::default() };
        match word.base.cmp(if begins { &0 } else { &self.number }) {
            Ordering::Less => return Ok(Heard::Early),
            Ordering::Equal => {}
            Ordering::Greater => {
                if begins {
                    *self = anew();
                }
                return Ok(Heard::Lost);
            }
        }
        let packed = STANDARD.decode(&word.pages).map_err(|_| Refused::Foreign)?;
        let changes = unpacked(&packed, |rank| self.fixed.get(&rank).filter(|_| !begins).map(|fixed| &**fixed))?;
        if begins {
            *self = anew();
        }
        self.number = word.number;
        for part in &word.parts {
            self.ranks.insert(part.node, part.ranks.iter().map(|rank| rank.rank).collect());
        }
        for change in &changes {
            if change.is_whole {
                self.fixed.remove(&change.rank);
            }
            change.apply_to_fixed(self.fixed.entry(change.rank).or_insert_with(|| Box::new([0; FIXED])));
        }
        let there: BTreeSet<u32> = self.ranks.values().flatten().copied().collect();
        self.fixed.retain(|rank, _| there.contains(rank));
        Ok(Heard::News { parts: word.parts.clone(), changes })
    }

    /// The node of each rank, by what the head said.
    pub(super) fn node_of(&self) -> BTreeMap<u32, u32> {
        self.ranks.iter().flat_map(|(node, ranks)| ranks.iter().map(|rank| (*rank, *node))).collect()
    }

    /// What of its page is not of the ring.
    pub(super) fn fixed(&self, rank: u32) -> Option<&Fixed> {
        self.fixed.get(&rank).map(|fixed| &**fixed)
    }
}

fn ranks<'a>(parts: impl Iterator<Item = &'a NodePart>) -> BTreeSet<u32> {
    parts.flat_map(|part| part.ranks.iter().map(|rank| rank.rank)).collect()
}

#[cfg(test)]
mod tests;
