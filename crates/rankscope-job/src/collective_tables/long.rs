//! Time in collectives, by rank, name, type, size and process group: by each rank's own clock, matched or not.

use std::cmp::Reverse;

use rankscope_collectives::{Kind, element_bytes};
use rankscope_document::RankCollectiveSummary;
use rustc_hash::FxHashMap;

use super::Gathers;
use super::seen::{Scene, Seen, Stay, ranges, waits_for};

/// Rank, name, kind, type, elements in and out, and process group.
type Key<'a> = (usize, &'a str, Kind, &'a str, Option<u64>, Option<u64>, usize);

#[derive(Default)]
pub(super) struct Long<'a> {
    rows: FxHashMap<Key<'a>, Sums>,
}

#[derive(Default)]
struct Sums {
    size: u32,
    count: u64,
    matched: u64,
    sum_ns: i64,
    /// Of squares: whole numbers, so that their order does not show.
    squares: i128,
    min_ns: i64,
    max_ns: i64,
    wait_ns: i64,
    transfer_ns: i64,
    unmatched_ns: i64,
    exposed_ns: i64,
}

impl<'a> Gathers<'a> for Long<'a> {
    fn add(&mut self, _: &Scene<'a>, seen: &Seen<'a>) {
        for stay in &seen.stays {
            let one = stay.one.operation;
            let (put_in, got_out) = if seen.is_uneven { (None, None) } else { (one.in_elements, one.out_elements) };
            let key = (stay.rank, one.name.as_str(), one.kind, one.dtype.as_str(), put_in, got_out, seen.group());
            let new = || Sums { size: seen.size, min_ns: i64::MAX, ..Sums::default() };
            self.rows.entry(key).or_insert_with(new).add(stay, seen.is_matched());
        }
    }
}

impl Sums {
    fn add(&mut self, stay: &Stay<'_>, is_matched: bool) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(stay.stay_ns);
        self.exposed_ns = self.exposed_ns.saturating_add(stay.exposed_ns);
        self.squares = self.squares.saturating_add(i128::from(stay.stay_ns).pow(2));
        (self.min_ns, self.max_ns) = (self.min_ns.min(stay.stay_ns), self.max_ns.max(stay.stay_ns));
        if is_matched {
            self.matched += 1;
            self.wait_ns = self.wait_ns.saturating_add(stay.wait_ns);
            self.transfer_ns = self.transfer_ns.saturating_add(stay.transfer_ns);
        } else {
            self.unmatched_ns = self.unmatched_ns.saturating_add(stay.stay_ns);
        }
    }

    /// Standard deviation of a sample.
    fn std_ns(&self) -> Option<f64> {
        let (count, sum) = (i128::from(self.count), i128::from(self.sum_ns));
        // The sum of the squares of what each differs by from the mean, times how many there are.
        let apart = self.squares.checked_mul(count)?.checked_sub(sum.checked_mul(sum)?)?;
        (count > 1).then(|| (apart as f64 / (count * (count - 1)) as f64).sqrt())
    }

    fn row(&self, (rank, name, kind, dtype, put_in, got_out, group): Key<'_>, scene: &Scene<'_>) -> RankCollectiveSummary {
        let facts = &scene.groups[group];
        let bytes = |elements: Option<u64>| elements?.checked_mul(element_bytes(dtype)?);
        RankCollectiveSummary {
            rank: scene.rank(rank),
            node: scene.nodes.at(rank),
            name: name.to_owned(),
            kind: kind.name().into(),
            dtype: dtype.to_owned(),
            in_elements: put_in,
            out_elements: got_out,
            in_bytes: bytes(put_in),
            out_bytes: bytes(got_out),
            process_group: facts.label.clone(),
            members: (!facts.group.ranks.is_empty()).then(|| ranges(facts.members.iter().map(|rank| rank.0))),
            group_size: self.size,
            link: facts.link.clone(),
            count: self.count,
            matched: self.matched,
            sum_ns: self.sum_ns,
            mean_ns: self.sum_ns as f64 / self.count as f64,
            std_ns: self.std_ns(),
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            wait_ns: self.wait_ns,
            transfer_ns: self.transfer_ns,
            unmatched_ns: self.unmatched_ns,
            exposed_ns: Some(self.exposed_ns),
            waits_for: waits_for(kind),
        }
    }
}

impl Long<'_> {
    /// By rank, and of one rank those with most time first.
    pub(super) fn rows(self, scene: &Scene<'_>) -> Vec<RankCollectiveSummary> {
        let mut rows: Vec<(Key<'_>, Sums)> = self.rows.into_iter().collect();
        rows.sort_by_key(|(key, sums)| (key.0, Reverse(sums.sum_ns), *key));
        rows.iter().map(|(key, sums)| sums.row(*key, scene)).collect()
    }
}
