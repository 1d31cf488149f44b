//! The head of a group: a store of its own that the others of the group tell their pages to, and one word a look to the node that leads.
//!
//! It holds what its group said last, and of it what the node that leads has taken. It waits for neither: members write into its store, which is a
//! thread of its own, and what the one that leads does not take is in the next word.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use rankscope_probe::rendezvous::{KeyValueStore, StoreServer};
use rankscope_run::{NodePart, now_unix_ns};

use super::lean::Lean;
use super::shelf::QUIET_LOOKS;
use super::tree::Tree;
use super::word::{Said, Speaker, Taken};
use super::{HeadEntry, ONWARD, Refusals, Store, Told, key, taken_key, word_key};
use crate::incident::Nodes;

/// What one word may hold before it is packed: packed, it fits into the store, whatever it is.
const WORD_BYTES_MAX: usize = 512 << 10;

pub(super) struct Head {
    node: u32,
    pub(super) epoch: u64,
    members: Range<u32>,
    at: SocketAddr,
    /// Until this is dropped.
    _server: StoreServer,
    own: Box<dyn KeyValueStore>,
    said: BTreeMap<u32, Said>,
    speaker: Speaker,
    /// Looks since the one that leads took something.
    quiet: u32,
}

impl Head {
    /// Hosts a store at `address` for the group of this node.
    pub(super) fn start(nodes: &Nodes, tree: Tree, address: IpAddr) -> Option<Self> {
        let (own, server) = nodes.host(address).ok()?;
        let server = server?;
        let epoch = now_unix_ns().map_or(1, i64::cast_unsigned) | 1;
        Some(Self {
            node: nodes.node,
            epoch,
            members: tree.members(tree.group_of(nodes.node)),
            at: SocketAddr::new(address, server.address().port()),
            _server: server,
            own,
            said: BTreeMap::new(),
            speaker: Speaker::new(epoch, tree.word_bytes().min(WORD_BYTES_MAX)),
            quiet: QUIET_LOOKS,
        })
    }

    /// What others have to know to tell it something.
    pub(super) fn entry(&self) -> HeadEntry {
        HeadEntry { node: self.node, epoch: self.epoch, at: self.at }
    }

    /// Whether the one that leads takes what it says.
    pub(super) fn is_heard(&self) -> bool {
        self.quiet < QUIET_LOOKS
    }

    /// Takes what its group said, and this node itself with this `number`, and says it to the one that leads. None where its own store is gone.
    pub(super) fn look(
        &mut self,
        (number, part): (u64, &NodePart),
        pages: &BTreeMap<u32, Vec<u8>>,
        upper: &mut Store,
        refusals: &mut Refusals,
    ) -> Option<()> {
        let pages = pages.iter().filter_map(|(rank, page)| Some((*rank, Lean::of(page, *rank)?))).collect();
        self.said.insert(self.node, Said { number, part: part.clone(), pages });
        let own = self.node;
        for member in self.members.clone().filter(|member| *member != own) {
            let Some(text) = self.own.get(&key(member)).ok()? else { continue };
            let is_understood = serde_json::from_str::<Told>(&text).is_ok_and(|told| self.take(member, told));
            if !is_understood {
                refusals.count(member, &text);
            }
        }
        let before = self.speaker.taken;
        let taken = upper.ask(|store| store.get(&taken_key(self.node))).flatten();
        if let Some(taken) = taken.and_then(|text| serde_json::from_str::<Taken>(&text).ok()) {
            self.speaker.heard(taken);
        }
        self.quiet = if self.speaker.taken == before { self.quiet.saturating_add(1) } else { 0 };
        if let Ok(text) = serde_json::to_string(&self.speaker.word(&self.said)) {
            let _unheard = upper.ask(|store| store.set(&word_key(self.node), &text));
        }
        self.own.set(ONWARD, &self.speaker.taken.to_string()).ok()
    }

    /// Takes what a member said; false where what it called a page was none, which is left as it was.
    fn take(&mut self, member: u32, told: Told) -> bool {
        let Told { number, mut part, pages } = told;
        if self.said.get(&member).is_some_and(|said| said.number == number) {
            return true;
        }
        // It speaks for itself alone.
        part.node = member;
        part.ranks.iter_mut().for_each(|rank| rank.node = member);
        let mut known = self.said.remove(&member).map(|said| said.pages).unwrap_or_default();
        let is_named = |rank: u32| part.ranks.iter().any(|known| known.rank == rank);
        known.retain(|rank, _| is_named(*rank));
        let mut all_are_pages = true;
        for told in pages.into_iter().filter(|told| is_named(told.rank)) {
            let mut page = known.get(&told.rank).map(Lean::page).unwrap_or_default();
            let is_page = told.put_into(&mut page);
            let lean = Lean::of(&page, told.rank).filter(|_| is_page);
            all_are_pages &= lean.is_some();
            known.extend(lean.map(|lean| (told.rank, lean)));
        }
        self.said.insert(member, Said { number, part, pages: known });
        all_are_pages
    }
}
