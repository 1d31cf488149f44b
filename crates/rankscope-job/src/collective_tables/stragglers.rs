//! How often each rank came last, what of that hangs on the clocks, and how long it waited.

use rankscope_document::StragglerRow;

use super::Gathers;
use super::seen::{Bar, Scene, Seen};

pub(super) struct Stragglers {
    rows: Vec<StragglerRow>,
}

impl Stragglers {
    pub(super) fn of(scene: &Scene<'_>) -> Self {
        let row = |(at, rank): (usize, &crate::JobRank)| StragglerRow {
            rank: rank.rank.0,
            node: scene.nodes.at(at),
            host: rank.about.host.clone(),
            wait_error_ns: Some(0),
            ..StragglerRow::default()
        };
        Self { rows: scene.job.ranks.iter().enumerate().map(row).collect() }
    }

    /// Who came last most often first, then who made others wait and so waited least.
    pub(super) fn rows(mut self, _: &Scene<'_>) -> Vec<StragglerRow> {
        let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        for row in &mut self.rows {
            row.flips = row.last_least != row.last_most;
            row.last_share = share(row.last as f64, row.arrivals as f64);
            row.mean_wait_ns = share(row.total_wait_ns as f64, row.matched as f64);
            row.wait_share = share(row.total_wait_ns as f64, row.collective_ns as f64);
        }
        self.rows.sort_by_key(|row| (std::cmp::Reverse(row.last), row.total_wait_ns, row.rank));
        self.rows
    }
}

impl Stragglers {
    /// Notes whose number of last arrivals clocks would change that are possible at all.
    fn is_open_at_most(&mut self, scene: &Scene<'_>, seen: &Seen<'_>, last: usize) {
        for rank in seen.others_maybe_last(scene, Bar::AtMost) {
            self.rows[rank].flips_at_most = true;
            self.rows[last].flips_at_most = true;
        }
    }
}

impl<'a> Gathers<'a> for Stragglers {
    fn add(&mut self, scene: &Scene<'a>, seen: &Seen<'a>) {
        for stay in &seen.stays {
            let row = &mut self.rows[stay.rank];
            row.count += 1;
            row.collective_ns = row.collective_ns.saturating_add(stay.stay_ns);
            let Some(last) = seen.last() else {
                row.unmatched_ns = row.unmatched_ns.saturating_add(stay.stay_ns);
                continue;
            };
            row.matched += 1;
            row.arrivals += u64::from(seen.is_race());
            row.total_wait_ns = row.total_wait_ns.saturating_add(stay.wait_ns);
            row.wait_at_most_ns = row.wait_at_most_ns.saturating_add(seen.at_most_ns(stay.wait_ns));
            row.total_transfer_ns = row.total_transfer_ns.saturating_add(stay.transfer_ns);
            let error_ns = scene.error_ns(stay.rank, last.rank, Bar::InPractice);
            row.wait_error_ns = row.wait_error_ns.zip(error_ns).map(|(sum, error)| sum.saturating_add(error));
        }
        if let Some(last) = seen.last().filter(|_| seen.is_race()) {
            let mut is_open = false;
            for rank in seen.others_maybe_last(scene, Bar::InPractice) {
                is_open = true;
                self.rows[rank].last_most += 1;
            }
            let row = &mut self.rows[last.rank];
            row.last += 1;
            row.last_most += 1;
            row.last_least += u64::from(!is_open);
            self.rows[seen.stays[0].rank].first += 1;
            self.is_open_at_most(scene, seen, last.rank);
        }
    }
}
