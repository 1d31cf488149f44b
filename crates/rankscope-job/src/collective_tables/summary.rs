//! Collectives by name, type, size and process group.

use std::cmp::Reverse;

use rankscope_collectives::Kind;
use rankscope_document::CollectiveSummary;
use rustc_hash::FxHashMap;

use super::Gathers;
use super::seen::{Bar, Scene, Seen, waits_for};
use super::spread::Spread;

/// Name, kind, type, elements put in, and process group.
type Key<'a> = (&'a str, Kind, &'a str, Option<u64>, usize);

#[derive(Default)]
pub(super) struct Summary<'a> {
    rows: FxHashMap<Key<'a>, Sums>,
}

#[derive(Default)]
struct Sums {
    size: u32,
    count: u64,
    stay_ns: i64,
    /// Most that clocks may be off; none once nothing bounds them.
    error_ns: Option<i64>,
    wait_ns: i64,
    bytes: Option<u64>,
    matched: Vec<Matched>,
}

/// What is known of a matched collective.
struct Matched {
    transfer_ns: i64,
    start_skew_ns: i64,
    end_skew_ns: i64,
    wait_ns: f64,
    algbw_gbps: Option<f64>,
}

impl<'a> Gathers<'a> for Summary<'a> {
    fn add(&mut self, scene: &Scene<'a>, seen: &Seen<'a>) {
        let first = seen.first.operation;
        let key = (first.name.as_str(), first.kind, first.dtype.as_str(), seen.in_elements, seen.group());
        let new = || Sums { size: seen.size, error_ns: Some(0), bytes: seen.bytes, ..Sums::default() };
        self.rows.entry(key).or_insert_with(new).add(scene, seen);
    }
}

impl Sums {
    fn add(&mut self, scene: &Scene<'_>, seen: &Seen<'_>) {
        self.count += 1;
        self.stay_ns = seen.stays.iter().fold(self.stay_ns, |sum, stay| sum.saturating_add(stay.stay_ns));
        if self.bytes != seen.bytes {
            self.bytes = None;
        }
        if !seen.is_matched() {
            return;
        }
        self.wait_ns = self.wait_ns.saturating_add(seen.wait_sum_ns());
        self.error_ns = self.error_ns.zip(seen.error_ns(scene, Bar::InPractice)).map(|(most, error)| most.max(error));
        self.matched.push(Matched {
            transfer_ns: seen.arrival.transfer_ns,
            start_skew_ns: seen.start_skew_ns(),
            end_skew_ns: seen.arrival.end_skew_ns,
            wait_ns: seen.wait_mean_ns(),
            algbw_gbps: seen.algbw_gbps(),
        });
    }

    fn spread(&self, of: impl Fn(&Matched) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.matched.iter().filter_map(of))
    }

    fn row(&self, (name, kind, dtype, in_elements, group): Key<'_>, scene: &Scene<'_>) -> CollectiveSummary {
        let transfer = self.spread(|one| Some(one.transfer_ns as f64));
        let start_skew = self.spread(|one| Some(one.start_skew_ns as f64));
        let end_skew = self.spread(|one| Some(one.end_skew_ns as f64));
        let wait = self.spread(|one| Some(one.wait_ns));
        let algbw = self.spread(|one| one.algbw_gbps);
        let factor = kind.bus_factor(self.size);
        let busbw = self.spread(|one| Some(one.algbw_gbps? * factor));
        CollectiveSummary {
            name: name.to_owned(),
            kind: kind.name().into(),
            dtype: dtype.to_owned(),
            in_elements,
            bytes: self.bytes,
            process_group: scene.groups[group].label.clone(),
            group_size: self.size,
            link: scene.groups[group].link.clone(),
            waits_for: waits_for(kind),
            count: self.count,
            matched: self.matched.len() as u64,
            transfer_mean_ns: transfer.map(|of| of.mean),
            transfer_median_ns: transfer.map(|of| of.median),
            transfer_min_ns: transfer.map(|of| of.ends_ns().0),
            transfer_max_ns: transfer.map(|of| of.ends_ns().1),
            start_skew_mean_ns: start_skew.map(|of| of.mean),
            start_skew_median_ns: start_skew.map(|of| of.median),
            start_skew_min_ns: start_skew.map(|of| of.ends_ns().0),
            start_skew_max_ns: start_skew.map(|of| of.ends_ns().1),
            end_skew_mean_ns: end_skew.map(|of| of.mean),
            end_skew_median_ns: end_skew.map(|of| of.median),
            end_skew_min_ns: end_skew.map(|of| of.ends_ns().0),
            end_skew_max_ns: end_skew.map(|of| of.ends_ns().1),
            clock_error_ns: self.error_ns.filter(|_| !self.matched.is_empty()),
            wait_mean_ns: wait.map(|of| of.mean),
            wait_median_ns: wait.map(|of| of.median),
            wait_min_ns: wait.map(|of| of.min),
            wait_max_ns: wait.map(|of| of.max),
            algbw_mean_gbps: algbw.map(|of| of.mean),
            algbw_median_gbps: algbw.map(|of| of.median),
            algbw_min_gbps: algbw.map(|of| of.min),
            algbw_max_gbps: algbw.map(|of| of.max),
            busbw_mean_gbps: busbw.map(|of| of.mean),
            busbw_median_gbps: busbw.map(|of| of.median),
            busbw_min_gbps: busbw.map(|of| of.min),
            busbw_max_gbps: busbw.map(|of| of.max),
            total_transfer_ns: self.matched.iter().fold(0, |sum: i64, one| sum.saturating_add(one.transfer_ns)),
            total_wait_ns: self.wait_ns,
        }
    }
}

impl Summary<'_> {
    /// The rows with most time of all ranks first.
    pub(super) fn rows(self, scene: &Scene<'_>) -> Vec<CollectiveSummary> {
        let mut rows: Vec<(Key<'_>, Sums)> = self.rows.into_iter().collect();
        rows.sort_by_key(|(key, sums)| (Reverse(sums.stay_ns), *key));
        rows.iter().map(|(key, sums)| sums.row(*key, scene)).collect()
    }
}
