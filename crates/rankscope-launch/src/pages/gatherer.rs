//! The node that leads: pages of the others beside its own, as they say them or as the heads of their groups do.
//!
//! It looks at a bounded number of texts each time, and waits for none: at that of each head, and of nodes that no head speaks for at
//! [`NODES_MAX`] in turn. What is not understood is counted and said once.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use rankscope_run::NodePart;

use super::columns::Change;
use super::shelf::{Shelf, Way};
use super::tree::{NODES_MAX, Tree};
use super::word::{Heard, Listener, Refused, Taken, Word};
use super::{HeadEntry, Refusals, Store, Told, WHO_EVERY, hash, key, taken_key, word_key};

/// Looks between two whole words of a head, where pages are lost.
const WHOLE_EVERY: u32 = 16;

pub(super) struct Gatherer {
    store: Store,
    shelf: Shelf,
    others: Vec<u32>,
    tree: Option<Tree>,
    heads: BTreeMap<u32, HeadHeard>,
    /// The node whose turn it is to be asked itself.
    next: usize,
    refusals: Refusals,
}

/// What is known of the head of a group.
#[derive(Default)]
struct HeadHeard {
    entry: Option<HeadEntry>,
    listener: Listener,
    /// Of the text that was looked at last.
    text: u64,
    quiet: u32,
    since_whole: u32,
}

impl Gatherer {
    pub(super) fn new(store: Store, (node, num_nodes): (u32, u32), run: &Path, refusals: Refusals) -> Self {
        Self {
            store,
            shelf: Shelf::new(run),
            others: (0..num_nodes).filter(|other| *other != node).collect(),
            tree: Tree::of(num_nodes).filter(|_| node == 0),
            heads: BTreeMap::new(),
            next: 0,
            refusals,
        }
    }

    /// One that hears all others one by one, however many there are.
    #[cfg(test)]
    pub(super) fn without_heads(self) -> Self {
        Self { tree: None, ..self }
    }

    /// Takes what the others have said since.
    pub(super) fn look(&mut self) {
        self.shelf.tick();
        for group in self.tree.map_or(0..0, Tree::groups) {
            if self.hear_head(group).is_none() {
                return;
            }
        }
        for node in self.asked_now() {
            if self.hear(node).is_none() {
                return;
            }
        }
    }

    /// Whether the page of `rank` is another node's.
    pub(super) fn has(&self, rank: u32) -> bool {
        self.shelf.has(rank)
    }

    /// The job is over: what was put here goes.
    pub(super) fn end(&mut self) {
        self.shelf.end();
    }

    /// What was not understood so far.
    #[cfg(test)]
    pub(super) fn refused(&self) -> u64 {
        self.refusals.counted()
    }

    /// Nodes that are asked themselves this time.
    fn asked_now(&mut self) -> Vec<u32> {
        if self.tree.is_none() {
            return self.others.clone();
        }
        let in_turn = (self.next..self.others.len()).chain(0..self.next);
        let silent = in_turn
            .filter(|at| self.shelf.is_silent(self.others[*at]) || self.shelf.heard_straight(self.others[*at]).is_some());
        let asked: Vec<usize> = silent.take(NODES_MAX as usize).collect();
        self.next = asked.last().map_or(0, |last| (last + 1) % self.others.len());
        asked.into_iter().map(|at| self.others[at]).collect()
    }

    /// Takes what a node said itself. None where the store does not answer.
    fn hear(&mut self, node: u32) -> Option<()> {
        let Some(text) = self.store.ask(|store| store.get(&key(node)))? else { return Some(()) };
        let Ok(told) = serde_json::from_str::<Told>(&text) else {
            self.refusals.count(node, &text);
            return Some(());
        };
        if self.shelf.heard_straight(node) != Some(told.number) {
            // A disk that is full costs the pages that find no room.
            if self.shelf.take(node, told).is_ok_and(|all_are_pages| !all_are_pages) {
                self.refusals.count(node, &text);
            }
        }
        Some(())
    }

    /// Takes what the head of a group said. None where the store does not answer.
    fn hear_head(&mut self, group: u32) -> Option<()> {
        let Self { store, shelf, tree, heads, refusals, .. } = self;
        let members = tree.map_or(0..0, |tree| tree.members(group));
        let heard = heads.entry(group).or_default();
        if heard.entry.is_none() || heard.quiet % WHO_EVERY == WHO_EVERY - 1 {
            heard.entry = HeadEntry::of(group, &members, store)?;
        }
        heard.quiet = heard.quiet.saturating_add(1);
        heard.since_whole = heard.since_whole.saturating_add(1);
        let Some(node) = heard.entry.as_ref().map(|entry| entry.node) else { return Some(()) };
        let Some(text) = store.ask(|store| store.get(&word_key(node)))? else { return Some(()) };
        if !heard.is_new(&text) {
            return Some(());
        }
        let word = serde_json::from_str::<Word>(&text).map_err(|_| Refused::Foreign);
        let news = word.and_then(|word| heard.listener.hear(&word, &members).map(|news| (word, news)));
        let taken = match news {
            Ok((word, Heard::News { parts, changes })) => {
                heard.quiet = 0;
                let is_lost = !heard.apply(shelf, &word, parts, &changes).unwrap_or(false);
                Some(heard.taken(is_lost && heard.since_whole >= WHOLE_EVERY))
            }
            Ok((_, Heard::Lost)) => Some(heard.taken(true)),
            Ok((_, Heard::Early)) => Some(heard.taken(false)),
            Err(_) => {
                refusals.count(node, &text);
                None
            }
        };
        let text = taken.and_then(|taken| serde_json::to_string(&taken).ok());
        text.map_or(Some(()), |text| store.ask(|store| store.set(&taken_key(node), &text)))
    }
}

impl HeadHeard {
    fn is_new(&mut self, text: &str) -> bool {
        let hash = hash(text);
        std::mem::replace(&mut self.text, hash) != hash
    }

    /// What is said about the word; the next one is whole where all `is_lost`.
    fn taken(&mut self, is_lost: bool) -> Taken {
        if is_lost {
            self.listener.forget();
            self.since_whole = 0;
        }
        self.listener.taken()
    }

    /// Puts news in place; false where a page is not there that they are about.
    fn apply(&self, shelf: &mut Shelf, word: &Word, parts: Vec<NodePart>, changes: &[Change]) -> io::Result<bool> {
        let way = Way::Head(word.epoch);
        let counts: Vec<u32> =
            word.nodes.iter().filter(|(node, number)| shelf.counts(*node, way, *number)).map(|(node, _)| *node).collect();
        let counts_of = |node: &u32| counts.contains(node);
        parts.into_iter().filter(|part| counts_of(&part.node)).for_each(|part| shelf.take_part(part));
        let (nodes, mut are_there) = (self.listener.node_of(), true);
        for change in changes {
            let whose = nodes.get(&change.rank).filter(|node| counts_of(node));
            if let Some((node, fixed)) = whose.zip(self.listener.fixed(change.rank)) {
                are_there &= shelf.change(*node, change, fixed)?;
            }
        }
        counts.iter().try_for_each(|node| shelf.say(*node))?;
        Ok(are_there)
    }
}
