//! A node that does not lead, where there are more than the one that leads hears one by one: it tells the head of its group, or is that.
//!
//! Who is head stands in the store of the agents. The first node of a group that has pages becomes it, where it stands nowhere; where the head is silent
//! or does not get through, the next ones do, each a little later than the one before it, and the one that was it steps down when it sees that. Until
//! somebody passes its pages on a node tells them straight, as seldom as all may do that. No node waits for another.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rankscope_clock::NodeId;
use rankscope_probe::rendezvous::node_address_key;
use rankscope_run::{NodePart, now_unix_ns};

use super::head::Head;
use super::shelf::QUIET_LOOKS;
use super::teller::Telling;
use super::tree::Tree;
use super::{HeadEntry, ONWARD, Refusals, Store, WHO_EVERY, head_key, key};
use crate::incident::Nodes;

pub(super) struct Branch {
    nodes: Nodes,
    tree: Tree,
    group: u32,
    /// Which of its group it is.
    place: u32,
    /// The store of the agents.
    upper: Store,
    straight: Telling,
    number: u64,
    has_told: bool,
    standing: Standing,
    refusals: Refusals,
}

enum Standing {
    /// Nobody is known to be head; for so many looks.
    Nobody(u32),
    Tells(Box<Above>),
    /// It is head itself; for so many looks.
    Heads(Box<Head>, u32),
}

/// The head that a node tells.
struct Above {
    entry: HeadEntry,
    store: Store,
    telling: Telling,
    /// How often what it passed on was taken.
    onward: Option<String>,
    /// Looks since that grew.
    quiet: u32,
}

impl Branch {
    pub(super) fn new(nodes: Nodes, tree: Tree, upper: Store, refusals: Refusals) -> Self {
        let group = tree.group_of(nodes.node);
        let place = nodes.node.saturating_sub(tree.members(group).start);
        // Larger than all of an earlier process of this node, which said one a second at most.
        let number = now_unix_ns().map_or(0, |now_ns| now_ns.unsigned_abs() / 1_000_000_000);
        let (straight, standing) = (Telling::default(), Standing::Nobody(0));
        Self { nodes, tree, group, place, upper, straight, number, has_told: false, standing, refusals }
    }

    #[cfg(test)]
    pub(super) fn is_head(&self) -> bool {
        matches!(self.standing, Standing::Heads(..))
    }

    /// Says which ranks are on this node, and what their pages are.
    pub(super) fn tell(&mut self, part: &NodePart, pages: &BTreeMap<u32, Vec<u8>>) {
        if pages.is_empty() && !self.has_told {
            return;
        }
        self.number += 1;
        let is_last = pages.is_empty();
        self.has_told = !is_last;
        let standing = std::mem::replace(&mut self.standing, Standing::Nobody(0));
        self.standing = match standing {
            Standing::Nobody(looks) => self.without_head(looks),
            Standing::Tells(above) => self.tell_above(above, part, pages),
            Standing::Heads(head, looks) => self.be_head(head, looks, part, pages),
        };
        let is_heard = match &self.standing {
            Standing::Nobody(_) => false,
            Standing::Tells(above) => above.quiet < QUIET_LOOKS,
            Standing::Heads(head, _) => head.is_heard(),
        };
        // Not all at once.
        let is_due = (self.number + u64::from(self.nodes.node)).is_multiple_of(self.tree.pace());
        if is_last || (!is_heard && is_due) {
            let told = self.straight.told_as(self.number, part, pages);
            let text = serde_json::to_string(&told).ok();
            let _unheard = text.and_then(|text| self.upper.ask(|store| store.set(&key(self.nodes.node), &text)));
        }
    }

    /// Who the head is, by the store of the agents; none where that does not answer.
    fn who(&mut self) -> Option<Option<HeadEntry>> {
        HeadEntry::of(self.group, &self.tree.members(self.group), &mut self.upper)
    }

    fn without_head(&mut self, looks: u32) -> Standing {
        let own = self.nodes.node;
        match self.who() {
            None => Standing::Nobody(looks),
            Some(Some(entry)) if entry.node != own => self.under(entry),
            // What stands there of this node is of an earlier process.
            Some(_) if looks >= self.place => self.claimed().unwrap_or(Standing::Nobody(looks)),
            Some(_) => Standing::Nobody(looks + 1),
        }
    }

    fn under(&self, entry: HeadEntry) -> Standing {
        let nodes = self.nodes.clone();
        let at = entry.at;
        let store = Store::new(move || nodes.store_at(at));
        // Until it is known to pass something on, it is as if it were silent.
        Standing::Tells(Box::new(Above { entry, store, telling: Telling::default(), onward: None, quiet: QUIET_LOOKS }))
    }

    /// Becomes head, where it is known at which address others reach this node.
    fn claimed(&mut self) -> Option<Standing> {
        let text = self.upper.ask(|store| store.get(&node_address_key(NodeId(self.nodes.node))))??;
        let address: SocketAddr = text.parse().ok()?;
        let head = Head::start(&self.nodes, self.tree, address.ip())?;
        let text = serde_json::to_string(&head.entry()).ok()?;
        self.upper.ask(|store| store.set(&head_key(self.group), &text))?;
        Some(Standing::Heads(Box::new(head), 0))
    }

    fn tell_above(&mut self, mut above: Box<Above>, part: &NodePart, pages: &BTreeMap<u32, Vec<u8>>) -> Standing {
        let told = above.telling.told_as(self.number, part, pages);
        let text = serde_json::to_string(&told).unwrap_or_default();
        let own = key(self.nodes.node);
        let onward = above.store.ask(|store| store.set(&own, &text).and_then(|()| store.get(ONWARD))).flatten();
        let is_news = onward.is_some() && onward != above.onward && above.onward.is_some();
        above.onward = onward.or(above.onward);
        above.quiet = if is_news { 0 } else { above.quiet.saturating_add(1) };
        let unheard = above.quiet.saturating_sub(QUIET_LOOKS);
        if above.quiet == 0 || !above.quiet.is_multiple_of(WHO_EVERY) {
            return Standing::Tells(above);
        }
        match self.who() {
            Some(Some(entry)) if entry != above.entry && entry.node != self.nodes.node => self.under(entry),
            Some(_) if unheard > QUIET_LOOKS + 2 * self.place => self.claimed().unwrap_or(Standing::Tells(above)),
            _ => Standing::Tells(above),
        }
    }

    fn be_head(&mut self, mut head: Box<Head>, looks: u32, part: &NodePart, pages: &BTreeMap<u32, Vec<u8>>) -> Standing {
        if looks % WHO_EVERY == WHO_EVERY - 1 {
            match self.who() {
                Some(Some(entry)) if entry.node != self.nodes.node => return self.under(entry),
                Some(Some(entry)) if entry.epoch == head.epoch => {}
                Some(_) => {
                    // The store forgot, or an earlier process of this node stands there.
                    let text = serde_json::to_string(&head.entry()).unwrap_or_default();
                    let _unsaid = self.upper.ask(|store| store.set(&head_key(self.group), &text));
                }
                None => {}
            }
        }
        match head.look((self.number, part), pages, &mut self.upper, &mut self.refusals) {
            Some(()) => Standing::Heads(head, looks.wrapping_add(1)),
            None => Standing::Nobody(0),
        }
    }
}
