use std::collections::BTreeMap;
use std::fs;

use rankscope_recording::{
    LivePage, PAGE_ARRIVAL_WORDS, PAGE_ARRIVALS, PAGE_ARRIVALS_AT, PAGE_BYTES, PAGE_GROUPS_AT, PAGE_STATES_AT, PageArrival,
    PageHead, PageOp, PageState,
};
use rankscope_run::{NodePart, RankEntry, live_parts};

use super::own::OwnPages;
use super::page_path;
use super::shelf::Shelf;
use super::teller::Telling;

mod in_place;
mod measured;
mod sockets;

/// The page of a rank that has come so far.
fn page(rank: u32, progress: u64) -> Vec<u8> {
    page_by(PageHead { rank, pid: 1, process_start: 2, boot: [3, 4] }, progress)
}

fn page_by(head: PageHead, progress: u64) -> Vec<u8> {
    let mut words = [0; PAGE_BYTES / 8];
    words[..8].copy_from_slice(&head.words());
    words[48..80].copy_from_slice(&PageState { progress, ..PageState::default() }.words(1));
    words.map(u64::to_le_bytes).concat()
}

/// A rank that comes to collectives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rank {
    pub(super) rank: u32,
    /// Whose process this is.
    pub(super) pid: u32,
    /// How often its page was written, and where it is.
    pub(super) progress: u64,
    /// What its clock showed at the first of them.
    pub(super) clock_ns: i64,
    pub(super) arrivals: u64,
    /// By how much it comes and goes at other times than others.
    pub(super) jitter_ns: u64,
}

/// Between two collectives of it.
const EVERY_NS: i64 = 25_000_000;

/// The page of a rank that has met the others so often, the last time without leaving where it has done an odd number of things.
pub(super) fn page_of(rank: &Rank) -> Vec<u8> {
    let mut words = [0; PAGE_BYTES / 8];
    let mut put = |at: usize, what: &[u64]| words[at..at + what.len()].copy_from_slice(what);
    put(0, &PageHead { rank: rank.rank, pid: rank.pid, process_start: 2, boot: [3, 4] }.words());
    let jitter_ns = |number: u64, which: u64| {
        let mut mixed = u64::from(rank.rank) << 40 ^ number << 1 ^ which;
        for _ in 0..3 {
            mixed = (mixed ^ mixed >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        i64::try_from((mixed >> 20) % rank.jitter_ns.max(1)).unwrap()
    };
    let number_ns = |number: u64| rank.clock_ns + i64::try_from(number).unwrap() * EVERY_NS;
    for (count, arrivals) in [(rank.progress, rank.arrivals), (rank.progress + 1, rank.arrivals)] {
        let progress_ns = number_ns(arrivals) + jitter_ns(arrivals, 0);
        let state = PageState { progress: count, progress_ns, step: 7, arrivals, groups: 1, ..PageState::default() };
        put(PAGE_STATES_AT[usize::try_from(count % 2).unwrap()], &state.words(count + 1));
    }
    put(PAGE_GROUPS_AT, &[4 << 32 | 5, u64::from_le_bytes(*b"world\0\0\0")]);
    for number in rank.arrivals.saturating_sub(PAGE_ARRIVALS as u64)..rank.arrivals {
        let arrived_ns = number_ns(number) + jitter_ns(number, 0);
        let is_open = number + 1 == rank.arrivals && rank.progress % 2 == 1;
        let left_ns = if is_open { 0 } else { arrived_ns + 3_000_000 + jitter_ns(number, 1) };
        let (op, bytes, step) = (PageOp::AllReduce, 1 << (10 + number % 3), i64::try_from(number / 40).unwrap());
        let arrival = PageArrival { group: 0, op, sequence: number, bytes, arrived_ns, left_ns, step };
        let place = usize::try_from(number).unwrap() % PAGE_ARRIVALS;
        put(PAGE_ARRIVALS_AT + place * PAGE_ARRIVAL_WORDS, &arrival.words(number));
    }
    words.map(u64::to_le_bytes).concat()
}

fn pages(ranks: &[u32], progress: u64) -> BTreeMap<u32, Vec<u8>> {
    ranks.iter().map(|rank| (*rank, page(*rank, progress))).collect()
}

pub(super) fn part(node: u32, ranks: &[u32]) -> NodePart {
    let entry = |rank: &u32| RankEntry { rank: *rank, node, host: None, pid: None };
    NodePart { node, host: format!("host-{node}"), ranks: ranks.iter().map(entry).collect() }
}

/// What of the pages in `run` can be read: ranks, and how far each is.
fn there(run: &std::path::Path) -> Vec<(u32, u64)> {
    let read = |rank: u32| {
        let bytes = fs::read(page_path(run, rank)).ok()?;
        Some((rank, LivePage::read(&bytes, &bytes).unwrap().state.progress))
    };
    (0..10).filter_map(read).collect()
}

#[test]
fn pages_of_another_node_are_there_until_it_has_them_no_more() {
    let run = tempfile::tempdir().unwrap();
    let (mut telling, mut shelf) = (Telling::default(), Shelf::new(run.path()));
    shelf.take(1, telling.told(&part(1, &[2, 3]), &pages(&[2, 3], 7))).unwrap();
    assert_eq!(there(run.path()), [(2, 7), (3, 7)]);
    assert_eq!(live_parts(run.path()), [part(1, &[2, 3])]);
    // A word is missed, and a rank ends.
    let _missed = telling.told(&part(1, &[2, 3]), &pages(&[2, 3], 8));
    shelf.take(1, telling.told(&part(1, &[3]), &pages(&[3], 9))).unwrap();
    assert_eq!(there(run.path()), [(3, 9)]);
    shelf.take(1, telling.told(&part(1, &[]), &BTreeMap::new())).unwrap();
    assert_eq!((there(run.path()), live_parts(run.path())), (Vec::new(), vec![part(1, &[])]));
    assert_eq!(fs::read_dir(run.path().join("live")).unwrap().count(), 1, "nothing is left of how they were written");
}

#[test]
fn nobody_writes_over_what_another_has_there() {
    let run = tempfile::tempdir().unwrap();
    fs::create_dir(run.path().join("live")).unwrap();
    fs::write(page_path(run.path(), 0), page(0, 5)).unwrap();
    let mut shelf = Shelf::new(run.path());
    // It says that it is node 0, and that the rank of that is its own.
    let forged = NodePart { node: 0, ..part(0, &[0, 2]) };
    shelf.take(1, Telling::default().told(&forged, &pages(&[0, 2, 4], 9))).unwrap();
    assert_eq!(there(run.path()), [(0, 5), (2, 9)], "nor does it have pages of ranks that it does not name");
    let [said] = &live_parts(run.path())[..] else { panic!("one node said something") };
    assert_eq!((said.node, said.ranks.iter().map(|rank| (rank.rank, rank.node)).collect::<Vec<_>>()), (1, vec![(2, 1)]));
}

#[test]
fn what_finds_no_room_comes_with_the_next_word() {
    // Pages that cannot be packed.
    let noise = |rank: u32| -> Vec<u8> {
        let mut state = u64::from(rank) + 1;
        let mut word = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_le_bytes()
        };
        (0..PAGE_BYTES / 8).flat_map(|_| word()).collect()
    };
    let ranks: Vec<u32> = (0..100).collect();
    let all: BTreeMap<u32, Vec<u8>> = ranks.iter().map(|rank| (*rank, noise(*rank))).collect();
    let mut telling = Telling::default();
    let mut said: Vec<u32> = Vec::new();
    for _ in 0..4 {
        let told = telling.told(&part(1, &ranks), &all);
        assert!(serde_json::to_string(&told).unwrap().len() < 1 << 20, "the store takes it");
        said.extend(told.pages.iter().map(|page| page.rank));
    }
    said.sort_unstable();
    said.dedup();
    assert_eq!(said, ranks);
}

#[test]
fn own_ranks_are_those_that_the_job_started_here() {
    let run = tempfile::tempdir().unwrap();
    fs::create_dir(run.path().join("live")).unwrap();
    let boot = rankscope_witness::process::boot_id().replace('-', "");
    let half = |range: std::ops::Range<usize>| u64::from_str_radix(&boot[range], 16).unwrap();
    let here = [half(0..16), half(16..32)];
    let own = std::process::id();
    for (rank, pid, boot) in [(0, own, here), (1, 1, here), (2, own, [1, 2])] {
        let head = PageHead { rank, pid, process_start: 9, boot };
        fs::write(page_path(run.path(), rank), page_by(head, 1)).unwrap();
    }
    fs::write(page_path(run.path(), 4), page(5, 1)).unwrap();
    fs::write(page_path(run.path(), 6), b"RSLIVEPG").unwrap();
    let found = OwnPages::of(Some(vec![own])).read(run.path(), &part(3, &[]), |_| false);
    assert_eq!(found.ranks.iter().map(|rank| (rank.rank, rank.node, rank.pid)).collect::<Vec<_>>(), [(0, 3, Some(own))]);
    assert_eq!(found.pages.keys().collect::<Vec<_>>(), [&0]);
    // Who does not know what was started here has all of this machine.
    assert_eq!(OwnPages::of(None).read(run.path(), &part(3, &[]), |_| false).pages.keys().collect::<Vec<_>>(), [&0, &1]);
}
