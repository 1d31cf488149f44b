//! The node that leads: pages of the others beside its own.
//!
//! A page is put in place whole. No node writes over a page that another one or a rank of this node has there, and what a node no longer has goes
//! from here, too.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rankscope_run::{NodePart, live_part, live_part_ended};

use super::packed::unpack;
use super::{Store, Told, ToldPage, key, page_path};
use crate::incident::Nodes;

pub(super) struct Gatherer {
    run: PathBuf,
    others: Vec<u32>,
    store: Store,
    heard: BTreeMap<u32, Heard>,
}

/// What is here of a node.
#[derive(Default)]
pub(super) struct Heard {
    number: u64,
    part: Option<NodePart>,
    pages: BTreeMap<u32, Vec<u8>>,
}

impl Gatherer {
    pub(super) fn new(nodes: Nodes, run: &Path) -> Self {
        let others = nodes.others().collect();
        Self { run: run.to_owned(), others, store: Store::of(nodes), heard: BTreeMap::new() }
    }

    /// Takes what the others have said since.
    pub(super) fn look(&mut self) {
        for node in &self.others {
            let Some(text) = self.store.ask(|store| store.get(&key(*node))) else { return };
            let Some(told) = text.and_then(|text| serde_json::from_str::<Told>(&text).ok()) else { continue };
            let heard = self.heard.entry(*node).or_default();
            if told.number != heard.number {
                // A disk that is full costs the pages that find no room.
                let _unwritten = heard.take(&self.run, *node, told);
            }
        }
    }

    /// The job is over: what was put here goes.
    pub(super) fn end(&mut self) {
        for (node, heard) in std::mem::take(&mut self.heard) {
            heard.pages.keys().for_each(|rank| remove(&self.run, *rank));
            live_part_ended(&self.run, node);
        }
    }
}

impl Heard {
    /// Takes what `node` said last into `run`.
    pub(super) fn take(&mut self, run: &Path, node: u32, told: Told) -> io::Result<()> {
        let Told { number, mut part, pages } = told;
        self.number = number;
        // It speaks for itself alone.
        part.node = node;
        part.ranks.iter_mut().for_each(|rank| rank.node = node);
        self.pages.retain(|rank, _| {
            let stays = part.ranks.iter().any(|known| known.rank == *rank);
            if !stays {
                remove(run, *rank);
            }
            stays
        });
        for page in pages.into_iter().filter(|page| part.ranks.iter().any(|known| known.rank == page.rank)) {
            self.put(run, &page)?;
        }
        part.ranks.retain(|rank| self.pages.contains_key(&rank.rank));
        if self.part.as_ref() != Some(&part) {
            live_part(run, &part).map_err(io::Error::other)?;
            self.part = Some(part);
        }
        Ok(())
    }

    fn put(&mut self, run: &Path, told: &ToldPage) -> io::Result<()> {
        let path = page_path(run, told.rank);
        if !self.pages.contains_key(&told.rank) && path.symlink_metadata().is_ok() {
            return Ok(());
        }
        let mut page = self.pages.get(&told.rank).cloned().unwrap_or_default();
        let is_page = STANDARD.decode(&told.page).is_ok_and(|packed| unpack(&packed, &mut page));
        if is_page {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            let new = path.with_extension("new");
            fs::write(&new, &page)?;
            fs::rename(&new, &path)?;
            self.pages.insert(told.rank, page);
        }
        Ok(())
    }
}

fn remove(run: &Path, rank: u32) {
    // Somebody else may have taken it away.
    let _gone = fs::remove_file(page_path(run, rank));
}
