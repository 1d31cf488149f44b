//! Pages of other nodes in the directory of the one that leads, whichever way they came.
//!
//! No node writes over a page that another one or a rank of this node has there, and what a node no longer has goes from here, too. A page that
//! is new is put in place whole. One that is there already is written to in its place where little of it changed: first the older state, which so
//! becomes the newer, then arrivals without their numbers, then these. Who reads meanwhile finds one whole state, and no arrival whose other words
//! are another's; that is what readers expect of a page that its rank writes to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rankscope_recording::{PAGE_ARRIVAL_WORDS, PAGE_ARRIVALS_AT, PAGE_BYTES, PAGE_STATES_AT};
use rankscope_run::{NodePart, live_part, live_part_ended};

use super::columns::Change;
use super::lean::{Fixed, Lean, Slot, bytes_of, state_of};
use super::own::bytes_of_page;
use super::{Told, page_path};

/// Looks for which a node may say nothing until another way counts.
pub(super) const QUIET_LOOKS: u32 = 8;

pub(super) struct Shelf {
    run: PathBuf,
    nodes: BTreeMap<u32, Known>,
    placed: BTreeMap<u32, Placed>,
}

/// Which way something came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From the node itself.
    Straight,
    /// Through a head, of this epoch.
    Head(u64),
}

/// What a node said last.
struct Known {
    way: Way,
    number: u64,
    /// Looks since that was news.
    quiet: u32,
    part: NodePart,
    /// As it stands beside the pages.
    written: Option<NodePart>,
}

#[derive(Clone, Copy)]
struct Placed {
    node: u32,
    /// Which of the two states was written last.
    newest: usize,
}

impl Shelf {
    pub(super) fn new(run: &Path) -> Self {
        Self { run: run.to_owned(), nodes: BTreeMap::new(), placed: BTreeMap::new() }
    }

    /// Another look begins.
    pub(super) fn tick(&mut self) {
        self.nodes.values_mut().for_each(|known| known.quiet = known.quiet.saturating_add(1));
    }

    /// Whether the page of `rank` was put here.
    pub(super) fn has(&self, rank: u32) -> bool {
        self.placed.contains_key(&rank)
    }

    /// Whether nothing is heard of a node.
    pub(super) fn is_silent(&self, node: u32) -> bool {
        self.nodes.get(&node).is_none_or(|known| known.quiet >= QUIET_LOOKS)
    }

    /// The number of what `node` said last, if it said it itself.
    pub(super) fn heard_straight(&self, node: u32) -> Option<u64> {
        self.nodes.get(&node).filter(|known| known.way == Way::Straight).map(|known| known.number)
    }

    /// Whether what `node` said with this `number` counts, coming this way: it does not where something newer came another way.
    pub(super) fn counts(&mut self, node: u32, way: Way, number: u64) -> bool {
        let part = NodePart { node, host: String::new(), ranks: Vec::new() };
        let known = self.nodes.entry(node).or_insert(Known { way, number: 0, quiet: QUIET_LOOKS, part, written: None });
        let goes_on = known.way == way && (way == Way::Straight || number >= known.number);
        let counts = goes_on || number > known.number;
        if counts {
            known.quiet = if known.number == number && known.way == way { known.quiet } else { 0 };
            (known.way, known.number) = (way, number);
        }
        counts
    }

    /// Takes what `node` said itself; false where what it called a page was none.
    pub(super) fn take(&mut self, node: u32, told: Told) -> io::Result<bool> {
        let Told { number, part, pages } = told;
        if !self.counts(node, Way::Straight, number) {
            return Ok(true);
        }
        self.take_part(NodePart { node, ..part });
        let mut all_are_pages = true;
        for told in pages {
            if !self.is_named(node, told.rank) || !self.may_place(node, told.rank) {
                continue;
            }
            let mut page = self.page(told.rank).unwrap_or_default();
            let is_page = told.put_into(&mut page);
            if is_page {
                self.place(node, told.rank, &page)?;
            }
            all_are_pages &= is_page;
        }
        self.say(node)?;
        Ok(all_are_pages)
    }

    /// These are the ranks of its node: pages of others go. A node speaks for itself alone.
    pub(super) fn take_part(&mut self, mut part: NodePart) {
        part.ranks.iter_mut().for_each(|rank| rank.node = part.node);
        let ranks: BTreeSet<u32> = part.ranks.iter().map(|rank| rank.rank).collect();
        let gone = |(rank, placed): (&u32, &Placed)| (placed.node == part.node && !ranks.contains(rank)).then_some(*rank);
        let gone: Vec<u32> = self.placed.iter().filter_map(gone).collect();
        for rank in gone {
            self.placed.remove(&rank);
            remove(&self.run, rank);
        }
        if let Some(known) = self.nodes.get_mut(&part.node) {
            known.part = part;
        }
    }

    /// Says beside the pages which of them are those of `node`, if that is news.
    pub(super) fn say(&mut self, node: u32) -> io::Result<()> {
        let Some(known) = self.nodes.get_mut(&node) else { return Ok(()) };
        let is_there = |rank: u32| self.placed.get(&rank).is_some_and(|placed| placed.node == node);
        let mut part = known.part.clone();
        part.ranks.retain(|rank| is_there(rank.rank));
        if known.written.as_ref() != Some(&part) {
            live_part(&self.run, &part).map_err(io::Error::other)?;
            known.written = Some(part);
        }
        Ok(())
    }

    /// Puts what changed in place, of a rank of `node` whose page is `fixed` now, but for its ring. False where that is not to be had without the
    /// whole page.
    pub(super) fn change(&mut self, node: u32, change: &Change, fixed: &Fixed) -> io::Result<bool> {
        let rank = change.rank;
        if !self.is_named(node, rank) || !self.may_place(node, rank) {
            return Ok(true);
        }
        let Some(placed) = self.placed.get(&rank).copied().filter(|_| !change.is_whole) else {
            let mut lean = Lean::nothing();
            lean.fixed.copy_from_slice(fixed);
            change.apply(&mut lean);
            return if change.is_whole { self.place(node, rank, &lean.page()).map(|()| true) } else { Ok(false) };
        };
        if change.fixed.iter().any(|(at, _)| !is_of_state(*at)) {
            // Another process, or a group that is new.
            let Some(mut lean) = self.page(rank).and_then(|page| Lean::of_ring(&page)) else { return Ok(false) };
            lean.fixed.copy_from_slice(fixed);
            change.apply(&mut lean);
            return self.place(node, rank, &lean.page()).map(|()| true);
        }
        match OpenOptions::new().write(true).open(page_path(&self.run, rank)) {
            Ok(file) => write_in_place(&file, 1 - placed.newest, change, fixed)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        }
        if !change.fixed.is_empty() {
            self.placed.insert(rank, Placed { newest: 1 - placed.newest, ..placed });
        }
        Ok(true)
    }

    /// The job is over: what was put here goes.
    pub(super) fn end(&mut self) {
        std::mem::take(&mut self.placed).keys().for_each(|rank| remove(&self.run, *rank));
        std::mem::take(&mut self.nodes).keys().for_each(|node| live_part_ended(&self.run, *node));
    }

    fn is_named(&self, node: u32, rank: u32) -> bool {
        self.nodes.get(&node).is_some_and(|known| known.part.ranks.iter().any(|known| known.rank == rank))
    }

    fn may_place(&self, node: u32, rank: u32) -> bool {
        match self.placed.get(&rank) {
            Some(placed) => placed.node == node,
            None => page_path(&self.run, rank).symlink_metadata().is_err(),
        }
    }

    /// The page that was put here.
    fn page(&self, rank: u32) -> Option<Vec<u8>> {
        self.placed.get(&rank)?;
        bytes_of_page(&page_path(&self.run, rank)).filter(|page| page.len() == PAGE_BYTES)
    }

    fn place(&mut self, node: u32, rank: u32, page: &[u8]) -> io::Result<()> {
        let path = page_path(&self.run, rank);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let new = path.with_extension("new");
        fs::write(&new, page)?;
        fs::rename(&new, &path)?;
        let newest = Lean::newest(page).unwrap_or(0);
        self.placed.insert(rank, Placed { node, newest });
        Ok(())
    }
}

fn is_of_state(at: usize) -> bool {
    (PAGE_STATES_AT[0]..PAGE_STATES_AT[1]).contains(&at)
}

/// Writes the state in the place `which`, and then arrivals.
fn write_in_place(file: &File, which: usize, change: &Change, fixed: &Fixed) -> io::Result<()> {
    if !change.fixed.is_empty() {
        file.write_all_at(&bytes_of(&state_of(fixed)), 8 * PAGE_STATES_AT[which] as u64)?;
    }
    for run in change.slots.chunk_by(|(one, _), (next, _)| one + 1 == *next) {
        let Some((first, _)) = run.first() else { continue };
        let at = 8 * (PAGE_ARRIVALS_AT + first * PAGE_ARRIVAL_WORDS) as u64;
        let mut slots: Vec<Slot> = run.iter().map(|(_, slot)| *slot).collect();
        slots.iter_mut().for_each(|slot| slot[0] = 0);
        file.write_all_at(&bytes_of(slots.as_flattened()), at)?;
        slots.iter_mut().zip(run).for_each(|(slot, (_, whole))| slot[0] = whole[0]);
        file.write_all_at(&bytes_of(slots.as_flattened()), at)?;
    }
    Ok(())
}

fn remove(run: &Path, rank: u32) {
    // Somebody else may have taken it away.
    let _gone = fs::remove_file(page_path(run, rank));
}
