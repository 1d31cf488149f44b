//! Which ranks take part.
//!
//! A process group is its list of global ranks and its name: a job may have several groups over the same ranks, each with its
//! own order of collectives. Lists that a profiler cut short are completed from the header, which names the same group in full.

use std::sync::Arc;

use rankscope_time::Rank;
use rankscope_trace::{CollectiveArgs, ProcessGroup, Trace};

/// A process group as far as a trace tells; equal on every rank that tells the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// Its ranks, ascending; empty if not known. All ranks of a job may share one list.
    pub ranks: Arc<[Rank]>,
    /// Its name or communicator, or what stands in for one.
    pub name: String,
    /// What it is for; empty if not recorded.
    pub description: String,
}

impl Group {
    /// The group that `args` of `trace` name; `None` if they name none.
    ///
    /// `known` finds a group of the header by its name.
    pub(crate) fn of<'a>(
        trace: &'a Trace,
        args: &CollectiveArgs,
        known: impl FnOnce(&str) -> Option<&'a ProcessGroup>,
    ) -> Option<Self> {
        let text = |id| trace.strings.text(id).to_owned();
        let name = if args.group_name.is_empty() { text(args.communicator) } else { text(args.group_name) };
        let listed = trace.strings.text(args.group_ranks);
        if name.is_empty() && listed.is_empty() {
            return None;
        }
        let mut ranks = parse_ranks(listed);
        let known = known(&name).filter(|_| !name.is_empty());
        let complete = args.group_size.is_none_or(|size| ranks.len() == size as usize) && !listed.contains("...");
        if let Some(known) = known.filter(|known| !complete && known.ranks.len() > ranks.len()) {
            ranks.clone_from(&known.ranks);
        }
        ranks.sort_unstable();
        ranks.dedup();
        Some(Self { ranks: ranks.into(), name, description: text(args.group_description) })
    }

    /// Shares the list of `other` if that is the same.
    pub fn share(&mut self, other: &Self) {
        if self.ranks == other.ranks {
            self.ranks = Arc::clone(&other.ranks);
        }
    }

    /// The global rank of `peer`, which frontends record as a global rank or as one within the group.
    pub fn global(&self, peer: u32) -> Rank {
        if self.ranks.binary_search(&Rank(peer)).is_ok() {
            return Rank(peer);
        }
        self.ranks.get(peer as usize).copied().unwrap_or(Rank(peer))
    }

    /// The group that a collective without any group belongs to, if the header leaves only one choice.
    pub(crate) fn only(trace: &Trace) -> Option<Self> {
        match trace.provenance.process_groups.as_slice() {
            [group] => {
                let mut ranks = group.ranks.clone();
                ranks.sort_unstable();
                Some(Self { ranks: ranks.into(), name: group.name.clone(), description: group.description.clone() })
            }
            _ => None,
        }
    }

    /// A group known only by what stands in for it: a stream, a backend.
    pub(crate) fn standing_in(name: String) -> Self {
        Self { ranks: Arc::default(), name, description: String::new() }
    }
}

/// The numbers in the text of a list, `[0, 1, 2]`.
fn parse_ranks(text: &str) -> Vec<Rank> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok().map(Rank)).collect()
}

#[cfg(test)]
mod tests {
    use rankscope_trace::SpanId;

    use super::*;

    #[test]
    fn a_cut_list_is_completed_from_the_header() {
        let mut trace = Trace::default();
        let ranks: Vec<Rank> = (0..64).map(Rank).collect();
        trace.provenance.process_groups.push(ProcessGroup { name: "7".into(), ranks: ranks.clone(), ..Default::default() });
        let mut args = CollectiveArgs::of(SpanId(0));
        args.group_name = trace.strings.intern("7");
        args.group_ranks = trace.strings.intern("[0, 1, ..., 63]");
        args.group_size = Some(64);
        assert_eq!(Group::of(&trace, &args, |_| trace.provenance.process_groups.first()).unwrap().ranks[..], ranks[..]);
    }
}
