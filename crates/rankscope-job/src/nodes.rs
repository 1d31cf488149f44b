//! Which node each rank is on, and how far groups of ranks reach.

use std::collections::BTreeMap;

use rankscope_document::Link;
use rankscope_time::Rank;

use crate::Job;

/// The node of each rank given.
pub(crate) struct Nodes {
    /// By index.
    list: Vec<Option<u32>>,
    by_rank: BTreeMap<Rank, u32>,
}

impl Nodes {
    /// As the job knows them; where it knows none, hosts are numbered in order of their ranks.
    pub(crate) fn of(job: &Job) -> Self {
        let mut list = job.nodes.clone();
        if list.iter().all(Option::is_none) {
            let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
            let mut number = |host| {
                let next = numbers.len() as u32;
                *numbers.entry(host).or_insert(next)
            };
            let hosts: Vec<Option<&str>> = job.ranks.iter().map(|rank| rank.about.host.as_deref()).collect();
            list =
                hosts.into_iter().map(|host| host.filter(|host| !host.is_empty())).map(|host| host.map(&mut number)).collect();
            list.resize(job.ranks.len(), None);
        }
        let by_rank = job.ranks.iter().zip(&list).filter_map(|(rank, node)| Some((rank.rank, (*node)?))).collect();
        Self { list, by_rank }
    }

    /// The node of the rank at `index`.
    pub(crate) fn at(&self, index: usize) -> Option<u32> {
        self.list.get(index).copied().flatten()
    }

    /// The nodes of `ranks`, each once; none where that of any is not known.
    pub(crate) fn all(&self, ranks: impl Iterator<Item = Rank>) -> Option<Vec<u32>> {
        let mut nodes: Vec<u32> = ranks.map(|rank| self.by_rank.get(&rank).copied()).collect::<Option<_>>()?;
        nodes.sort_unstable();
        nodes.dedup();
        Some(nodes).filter(|nodes| !nodes.is_empty())
    }

    /// The two nodes that `ranks` are on, if it is two, the lower number first: whatever they exchange goes over the link between these.
    pub(crate) fn pair(&self, ranks: impl Iterator<Item = Rank>) -> Option<(u32, u32)> {
        match self.all(ranks)?[..] {
            [one, other] => Some((one, other)),
            _ => None,
        }
    }

    /// How far `ranks` reach.
    pub(crate) fn link(&self, ranks: impl Iterator<Item = Rank> + Clone) -> Link {
        if ranks.clone().nth(1).is_none() {
            return Link::OneRank;
        }
        match self.all(ranks) {
            Some(nodes) if nodes.len() == 1 => Link::IntraNode,
            Some(_) => Link::InterNode,
            None => Link::Unknown,
        }
    }
}
