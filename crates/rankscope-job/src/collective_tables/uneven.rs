//! All-to-alls in which ranks send different amounts, as experts do: who sends and gets how much, and what each pair exchanges.
//!
//! A place in a list of splits is a place in the group, whose ranks ascend; so pairs are of global ranks. What a rank sent each is told by
//! its own list, and where that is missing or cut by the receivers' lists. A list that is not as long as its group says nothing.

use std::collections::BTreeMap;

use rankscope_collectives::element_bytes;
use rankscope_document::{PairRow, UnevenRow, UnevenSummary};
use rankscope_time::Rank;
use rustc_hash::FxHashMap;

use super::Gathers;
use super::seen::{Scene, Seen, Stay};
use super::spread::Spread;

pub(super) struct Uneven<'a> {
    summary: Option<BTreeMap<Key<'a>, Sums>>,
    rows: Option<Vec<UnevenRow>>,
    pairs: Option<FxHashMap<(u32, u32), Pair>>,
}

/// Process group, name and type.
type Key<'a> = (usize, &'a str, &'a str);

struct Sums {
    size: u32,
    bytes: Option<u64>,
    list: Vec<UnevenRow>,
    wait_ns: Vec<f64>,
}

/// What one rank sent another.
#[derive(Default)]
struct Pair {
    count: u64,
    unsized_count: u64,
    bytes: u64,
}

impl<'a> Gathers<'a> for Uneven<'a> {
    fn add(&mut self, scene: &Scene<'a>, seen: &Seen<'a>) {
        if !seen.is_uneven {
            return;
        }
        if let Some(pairs) = &mut self.pairs {
            add_pairs(pairs, scene, seen);
        }
        if self.summary.is_none() && self.rows.is_none() {
            return;
        }
        let row = row(scene, seen);
        if let Some(summary) = &mut self.summary {
            let operation = seen.first.operation;
            let key = (seen.group(), operation.name.as_str(), operation.dtype.as_str());
            let new = || Sums { size: seen.size, bytes: Some(0), list: Vec::new(), wait_ns: Vec::new() };
            let sums = summary.entry(key).or_insert_with(new);
            sums.bytes = sums.bytes.zip(row.bytes).and_then(|(sum, bytes)| sum.checked_add(bytes));
            sums.wait_ns.extend(seen.is_matched().then(|| seen.wait_mean_ns()));
            // Names are the key's.
            sums.list.push(UnevenRow {
                name: String::new(),
                dtype: String::new(),
                process_group: String::new(),
                ..row.clone()
            });
        }
        if let Some(rows) = &mut self.rows {
            rows.push(row);
        }
    }
}

type Rows = (Option<Vec<UnevenSummary>>, Option<Vec<UnevenRow>>, Option<Vec<PairRow>>);

impl Uneven<'_> {
    pub(super) fn of(summary: bool, rows: bool, pairs: bool) -> Self {
        Self { summary: summary.then(BTreeMap::new), rows: rows.then(Vec::new), pairs: pairs.then(FxHashMap::default) }
    }

    /// The summary, most transfer first; every one in order of time; and the pairs, ascending.
    pub(super) fn rows(self, scene: &Scene<'_>) -> Rows {
        let summary = self.summary.map(|summary| {
            let mut rows: Vec<UnevenSummary> = summary.into_iter().map(|(key, sums)| sums.row(key, scene)).collect();
            rows.sort_by_key(|row| std::cmp::Reverse(row.total_transfer_ns));
            rows
        });
        (summary, self.rows, self.pairs.map(|pairs| pair_rows(pairs, scene)))
    }
}

fn row(scene: &Scene<'_>, seen: &Seen<'_>) -> UnevenRow {
    let sent = Share::of(scene, seen, |stay| stay.one.in_elements);
    let received = Share::of(scene, seen, |stay| stay.one.out_elements);
    let ranks = ranks(scene, seen).map_or(0, <[Rank]>::len);
    let is_whole = |stay: &&Stay<'_>| stay.one.splits.as_ref().is_some_and(|splits| ranks > 0 && splits.sent.len() == ranks);
    let of_all = |ns: i64| seen.is_matched().then_some(ns);
    UnevenRow {
        id: seen.id,
        at_ns: seen.at_ns,
        name: seen.first.name.clone(),
        dtype: seen.first.dtype.clone(),
        process_group: scene.groups[seen.group()].label.clone(),
        group_size: seen.size,
        matched: seen.is_matched(),
        splits_recorded: seen.stays.iter().filter(is_whole).count() as u32,
        bytes: sent.as_ref().map(|sent| sent.bytes),
        sent_max_bytes: sent.as_ref().map(|sent| sent.max_bytes),
        sent_max_rank: sent.as_ref().map(|sent| sent.rank),
        sent_imbalance: sent.as_ref().and_then(|sent| sent.imbalance),
        received_max_bytes: received.as_ref().map(|received| received.max_bytes),
        received_max_rank: received.as_ref().map(|received| received.rank),
        received_imbalance: received.as_ref().and_then(|received| received.imbalance),
        start_skew_ns: of_all(seen.start_skew_ns()),
        end_skew_ns: of_all(seen.arrival.end_skew_ns),
        transfer_ns: of_all(seen.arrival.transfer_ns),
        algbw_gbps: seen.algbw_gbps(),
        busbw_gbps: seen.busbw_gbps(),
    }
}

/// How the bytes of one collective are shared among its ranks.
struct Share {
    bytes: u64,
    max_bytes: u64,
    /// Whose that is: of several, the lowest.
    rank: u32,
    /// That over the mean; none of no bytes.
    imbalance: Option<f64>,
}

impl Share {
    /// Of what `elements` says of each; none where it says nothing of one, or the type is not known.
    fn of(scene: &Scene<'_>, seen: &Seen<'_>, elements: impl Fn(&Stay<'_>) -> Option<u64>) -> Option<Self> {
        let width = element_bytes(&seen.first.dtype)?;
        let (mut bytes, mut most) = (0_u64, (0, std::cmp::Reverse(u32::MAX)));
        for stay in &seen.stays {
            let own = elements(stay)?.checked_mul(width)?;
            bytes = bytes.checked_add(own)?;
            most = most.max((own, std::cmp::Reverse(scene.rank(stay.rank))));
        }
        let (max_bytes, std::cmp::Reverse(rank)) = most;
        let mean = bytes as f64 / seen.stays.len() as f64;
        Some(Self { bytes, max_bytes, rank, imbalance: (bytes > 0).then(|| max_bytes as f64 / mean) })
    }
}

/// The ranks that places in lists of splits are of; none where the group does not list them.
fn ranks<'b>(scene: &'b Scene<'_>, seen: &Seen<'_>) -> Option<&'b [Rank]> {
    Some(&*scene.groups[seen.group()].group.ranks).filter(|ranks| !ranks.is_empty())
}

fn add_pairs(pairs: &mut FxHashMap<(u32, u32), Pair>, scene: &Scene<'_>, seen: &Seen<'_>) {
    let Some(ranks) = ranks(scene, seen) else { return };
    let width = element_bytes(&seen.first.dtype);
    let mut add = |from: u32, to: u32, elements: u32| {
        let pair = pairs.entry((from, to)).or_default();
        pair.count += 1;
        match width {
            Some(width) => pair.bytes = pair.bytes.saturating_add(u64::from(elements) * width),
            None => pair.unsized_count += 1,
        }
    };
    let mut senders: Vec<u32> = Vec::new();
    for stay in &seen.stays {
        let Some(splits) = stay.one.splits.as_ref().filter(|splits| splits.sent.len() == ranks.len()) else { continue };
        let from = scene.rank(stay.rank);
        senders.push(from);
        ranks.iter().zip(&splits.sent).for_each(|(to, elements)| add(from, to.0, *elements));
    }
    senders.sort_unstable();
    for stay in &seen.stays {
        let Some(splits) = stay.one.splits.as_ref().filter(|splits| splits.received.len() == ranks.len()) else { continue };
        let to = scene.rank(stay.rank);
        let untold = ranks.iter().zip(&splits.received).filter(|(from, _)| senders.binary_search(&from.0).is_err());
        untold.for_each(|(from, elements)| add(from.0, to, *elements));
    }
}

fn pair_rows(pairs: FxHashMap<(u32, u32), Pair>, scene: &Scene<'_>) -> Vec<PairRow> {
    let (mut bytes, mut count) = (0_u128, 0_u64);
    for (_, pair) in pairs.iter().filter(|((from, to), _)| from != to) {
        (bytes, count) = (bytes + u128::from(pair.bytes), count + 1);
    }
    let mean = bytes as f64 / count as f64;
    let row = |((from_rank, to_rank), pair): ((u32, u32), Pair)| PairRow {
        from_rank,
        to_rank,
        link: scene.nodes.link([from_rank, to_rank].into_iter().take(if from_rank == to_rank { 1 } else { 2 }).map(Rank)),
        count: pair.count,
        unsized_count: pair.unsized_count,
        bytes: pair.bytes,
        over_mean: (bytes > 0).then(|| pair.bytes as f64 / mean),
    };
    let mut rows: Vec<PairRow> = pairs.into_iter().map(row).collect();
    rows.sort_unstable_by_key(|row| (row.from_rank, row.to_rank));
    rows
}

impl Sums {
    fn row(self, (group, name, dtype): Key<'_>, scene: &Scene<'_>) -> UnevenSummary {
        let spread = |of: fn(&UnevenRow) -> Option<f64>| Spread::of(self.list.iter().filter_map(of));
        let transfer = spread(|row| Some(row.transfer_ns? as f64));
        let (sent, received) = (spread(|row| row.sent_imbalance), spread(|row| row.received_imbalance));
        let mean = |of: fn(&UnevenRow) -> Option<f64>| spread(of).map(|of| of.mean);
        UnevenSummary {
            name: name.to_owned(),
            dtype: dtype.to_owned(),
            process_group: scene.groups[group].label.clone(),
            group_size: self.size,
            link: scene.groups[group].link.clone(),
            count: self.list.len() as u64,
            matched: self.list.iter().filter(|row| row.matched).count() as u64,
            bytes: self.bytes,
            sent_imbalance_mean: sent.map(|of| of.mean),
            sent_imbalance_max: sent.map(|of| of.max),
            received_imbalance_mean: received.map(|of| of.mean),
            received_imbalance_max: received.map(|of| of.max),
            transfer_mean_ns: transfer.map(|of| of.mean),
            transfer_median_ns: transfer.map(|of| of.median),
            transfer_min_ns: transfer.map(|of| of.ends_ns().0),
            transfer_max_ns: transfer.map(|of| of.ends_ns().1),
            start_skew_mean_ns: mean(|row| Some(row.start_skew_ns? as f64)),
            wait_mean_ns: Spread::of(self.wait_ns.iter().copied()).map(|of| of.mean),
            algbw_mean_gbps: mean(|row| row.algbw_gbps),
            busbw_mean_gbps: mean(|row| row.busbw_gbps),
            total_transfer_ns: self.list.iter().filter_map(|row| row.transfer_ns).fold(0, i64::saturating_add),
        }
    }
}
