//! Every collective, and every rank's part in every collective.

use rankscope_document::{CollectiveInstanceRow, RankInstanceRow};

use super::Gathers;
use super::seen::{Bar, Scene, Seen, ranges};

/// Parts of ranks listed at most; who needs more asks for one window or step.
const PARTS_MAX: usize = 640_000;

pub(super) struct Instances {
    pub(super) collectives: Option<Vec<CollectiveInstanceRow>>,
    pub(super) parts: Option<Vec<RankInstanceRow>>,
    /// Parts that are not listed.
    pub(super) left_out: u64,
}

impl Instances {
    pub(super) fn of(collectives: bool, parts: bool) -> Self {
        Self { collectives: collectives.then(Vec::new), parts: parts.then(Vec::new), left_out: 0 }
    }
}

impl<'a> Gathers<'a> for Instances {
    fn add(&mut self, scene: &Scene<'a>, seen: &Seen<'a>) {
        if let Some(rows) = &mut self.collectives {
            rows.push(collective(scene, seen));
        }
        if let Some(rows) = &mut self.parts {
            let room = PARTS_MAX - rows.len();
            rows.extend((0..seen.stays.len()).take(room).map(|at| part(scene, seen, at)));
            self.left_out += seen.stays.len().saturating_sub(room) as u64;
        }
    }
}

fn collective(scene: &Scene<'_>, seen: &Seen<'_>) -> CollectiveInstanceRow {
    let facts = &scene.groups[seen.group()];
    let is_matched = seen.is_matched();
    let of_all = |ns: i64| is_matched.then_some(ns);
    let mut ranks: Vec<u32> = seen.stays.iter().map(|stay| scene.rank(stay.rank)).collect();
    ranks.sort_unstable();
    let among = || ranks.iter().map(|rank| rankscope_time::Rank(*rank));
    let is_message = seen.first.kind.is_point_to_point() && ranks.len() == 2;
    let before_last = seen.stays.iter().rev().nth(1).map(|stay| stay.before_last_ns);
    CollectiveInstanceRow {
        id: seen.id,
        at_ns: seen.at_ns,
        step: seen.arrival.step,
        name: seen.first.name.clone(),
        kind: seen.first.kind.name().into(),
        dtype: seen.first.dtype.clone(),
        in_elements: seen.in_elements,
        bytes: seen.bytes,
        process_group: facts.label.clone(),
        group_size: seen.size,
        link: if is_message { scene.nodes.link(among()) } else { facts.link.clone() },
        waits_for: seen.waits_for(),
        matched: is_matched,
        absent: (!seen.instance.absent.is_empty()).then(|| ranges(seen.instance.absent.iter().map(|at| scene.rank(*at)))),
        ranks: ranges(ranks.iter().copied()),
        first_rank: seen.stays.first().filter(|_| is_matched).map(|stay| scene.rank(stay.rank)),
        last_rank: seen.last().map(|stay| scene.rank(stay.rank)),
        start_skew_ns: of_all(seen.start_skew_ns()),
        lead_ns: before_last.and_then(of_all),
        clock_error_ns: seen.error_ns(scene, Bar::InPractice).and_then(of_all),
        clock_bound_ns: seen.error_ns(scene, Bar::AtMost).and_then(of_all),
        last_is_open: is_matched.then(|| seen.others_maybe_last(scene, Bar::InPractice).next().is_some()),
        wait_mean_ns: is_matched.then(|| seen.wait_mean_ns()),
        end_skew_ns: of_all(seen.arrival.end_skew_ns),
        transfer_ns: of_all(seen.arrival.transfer_ns),
        algbw_gbps: seen.algbw_gbps(),
        busbw_gbps: seen.busbw_gbps(),
    }
}

/// The part of who came at `at` in order of arrival.
fn part(scene: &Scene<'_>, seen: &Seen<'_>, at: usize) -> RankInstanceRow {
    let stay = &seen.stays[at];
    let of_all = |ns: i64| seen.is_matched().then_some(ns);
    RankInstanceRow {
        id: seen.id,
        rank: scene.rank(stay.rank),
        node: scene.nodes.at(stay.rank),
        name: stay.one.name.clone(),
        kind: stay.one.kind.name().into(),
        dtype: stay.one.dtype.clone(),
        in_elements: stay.one.in_elements,
        out_elements: stay.one.out_elements,
        process_group: scene.groups[seen.group()].label.clone(),
        sequence: stay.one.sequence.get(),
        peer: stay.one.peer,
        at_ns: seen.at_ns.saturating_add(seen.start_skew_ns()).saturating_sub(stay.before_last_ns),
        arrival: at as u32,
        matched: seen.is_matched(),
        stay_ns: stay.stay_ns,
        wait_ns: of_all(stay.wait_ns),
        transfer_ns: of_all(stay.transfer_ns),
        waits_for: seen.waits_for(),
    }
}
