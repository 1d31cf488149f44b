//! Ranks of a page: their files, where their time went, what ran longest, and what they copied.

use std::cmp::Reverse;

use rankscope_document::{Copies, CopyTime, Document, Kernel, Problem, Rank, Time};
use serde::Serialize;

use super::super::budget::Cuts;
use super::super::packed::{Names, Packed, Rows};

/// Lists have an entry for each rank.
#[derive(Debug, Serialize)]
pub(super) struct Ranks<'a> {
    about: Rows<About<'a>>,
    times: Rows<&'a Time>,
    copies: Vec<Rows<Copied>>,
    kernels: Kernels,
}

#[derive(Debug, Serialize)]
struct About<'a> {
    rank: u32,
    rank_source: &'a str,
    file: &'a str,
    format: &'a str,
    host: Option<&'a str>,
    device: Option<&'a str>,
    bytes: u64,
    events: u64,
    problems: &'a [Problem],
    accounting: &'a str,
    step_source: &'a str,
    /// How many steps it marks.
    steps: usize,
}

/// Copies of one direction, or fills, of which there are any.
#[derive(Debug, Serialize)]
struct Copied {
    direction: &'static str,
    #[serde(flatten)]
    time: CopyTime,
}

/// The lists of all ranks, one after the other.
#[derive(Debug, Serialize)]
struct Kernels {
    lengths: Packed,
    name: Packed,
    class: Packed,
    count: Packed,
    total_ns: Packed,
}

/// Kernels of all ranks together.
const KERNELS: usize = 1_200;

/// The least that still answers "what runs longest here".
const FEWEST_KERNELS: usize = 8;

impl<'a> Ranks<'a> {
    pub(super) fn of(document: &'a Document, names: &mut Names<'a>, cuts: &mut Cuts) -> Self {
        Self {
            about: document.ranks.iter().map(about).collect(),
            times: document.ranks.iter().map(|rank| &rank.time_ns).collect(),
            copies: document.ranks.iter().map(|rank| copied(&rank.copies)).collect(),
            kernels: kernels(&document.ranks, names, cuts),
        }
    }
}

fn about(rank: &Rank) -> About<'_> {
    About {
        rank: rank.rank,
        rank_source: rank.rank_source.as_str(),
        file: &rank.file,
        format: rank.format.as_str(),
        host: rank.host.as_deref(),
        device: rank.device.as_deref(),
        bytes: rank.bytes,
        events: rank.events,
        problems: &rank.problems,
        accounting: rank.accounting.as_str(),
        step_source: rank.step_source.as_str(),
        steps: rank.steps.len(),
    }
}

fn copied(copies: &Copies) -> Rows<Copied> {
    let Copies { host_to_device, device_to_host, device_to_device, peer_to_peer, other, memset } = *copies;
    let all = [
        ("host_to_device", host_to_device),
        ("device_to_host", device_to_host),
        ("device_to_device", device_to_device),
        ("peer_to_peer", peer_to_peer),
        ("other", other),
        ("memset", memset),
    ];
    all.into_iter().filter(|(_, time)| time.count > 0).map(|(direction, time)| Copied { direction, time }).collect()
}

/// Every rank gets as many as every other: those that took longest.
fn kernels<'a>(ranks: &'a [Rank], names: &mut Names<'a>, cuts: &mut Cuts) -> Kernels {
    let most = (KERNELS / ranks.len().max(1)).max(FEWEST_KERNELS);
    let longest = ranks.iter().map(|rank| rank.kernels.len()).max().unwrap_or(0);
    cuts.kernels_per_rank = if longest > most { longest } else { 0 };
    let first = |rank: &'a Rank| {
        let mut kernels: Vec<&Kernel> = rank.kernels.iter().collect();
        if kernels.len() > most {
            kernels.sort_by_key(|kernel| Reverse(kernel.total_ns));
            kernels.truncate(most);
        }
        kernels
    };
    let lists: Vec<Vec<&Kernel>> = ranks.iter().map(first).collect();
    let all = || lists.iter().flatten();
    Kernels {
        lengths: Packed::counts(lists.iter().map(Vec::len)),
        name: Packed::counts(all().map(|kernel| names.place(&kernel.name))),
        class: Packed::counts(all().map(|kernel| names.place(kernel.class.as_str()))),
        count: Packed::exact(all().map(|kernel| i64::try_from(kernel.count).unwrap_or(i64::MAX))),
        total_ns: Packed::exact(all().map(|kernel| kernel.total_ns)),
    }
}
