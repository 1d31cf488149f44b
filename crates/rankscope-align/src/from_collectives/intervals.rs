//! What the clocks can differ by at all, at one instant, though they drift.
//!
//! A constraint holds when its stamps were taken, and clocks drift on from there. So each pair of clocks gets what lines through
//! all of its constraints can be at the instant, exactly ([`rankscope_clock::fit::possible`]); then pairs are combined along
//! paths like any difference constraints. Assumed is only how fast clocks drift at most and how fast that changes. No host name
//! and no agreement of ends has a part in it, and dropping constraints, which is done where they are many, only widens it.

use std::collections::BTreeSet;

use rankscope_clock::fit::{Estimator, FitOptions, possible};
use rankscope_time::{Rate, Span};

use super::meetings::{Meeting, Stay};
use crate::Bounds;
use crate::pairs::{DENSE_RANKS_MAX, Pairs};

/// Two clocks drift apart by less than this: crystals are within 100 parts per million of their frequency, one may be fast and
/// the other slow.
pub const DRIFT_MAX: Rate = Rate::from_ppb(200_000);

/// Beyond this many ranks, a rank's clock is bounded only by those of the first rank of each of its groups: pairs, and paths
/// through pairs, grow with the square and the cube.
pub(crate) const PAIRED_RANKS_MAX: usize = DENSE_RANKS_MAX;

/// The recording is cut into so many stretches; of each, every pair keeps its tightest constraint in either direction.
const STRETCHES: usize = 32;

/// The intervals between all pairs, and what clocks can gain on the first.
pub(crate) struct Intervals {
    /// At the instant.
    pub(crate) bounds: Bounds,
    /// By rank, what it can gain on the first rank, in parts per billion, where the two met.
    pub(crate) drift_ppb: Vec<Option<(f64, f64)>>,
}

/// The stays that constrain each other, as pairs of who enters and who leaves.
pub(crate) fn constrained_pairs(meeting: &Meeting, ranks: usize) -> impl Iterator<Item = (&Stay, &Stay)> {
    let stays = meeting.stays.as_slice();
    let hub = stays.first().filter(|_| ranks > PAIRED_RANKS_MAX);
    let with_hub = hub.into_iter().flat_map(|hub| stays.iter().flat_map(move |other| [(hub, other), (other, hub)]));
    let all = if hub.is_none() { stays } else { &[] };
    let with_all = all.iter().flat_map(|entered| all.iter().map(move |left| (entered, left)));
    with_hub.chain(with_all).filter(|(entered, left)| entered.rank() != left.rank() && entered.is_needed && left.needs)
}

/// Of each ordered pair of ranks the meetings with the tightest constraints, one for each stretch of `meetings`, which are in
/// order of time. They are kept as numbers: of some hundred ranks there are millions.
fn tightest(ranks: usize, meetings: &[Meeting]) -> Pairs<Vec<u32>> {
    let mut kept: Pairs<Vec<u32>> = Pairs::of(ranks);
    let stretch = meetings.len().div_ceil(STRETCHES).max(1);
    for (first, meetings) in (0..).step_by(stretch).zip(meetings.chunks(stretch)) {
        let mut tightest: Pairs<Option<(i64, u32)>> = Pairs::of(ranks);
        for (at, meeting) in (first..).zip(meetings) {
            for (entered, left) in constrained_pairs(meeting, ranks) {
                let slack_ns = left.end_ns.saturating_sub(entered.start_ns);
                let known = tightest.at(entered.rank(), left.rank());
                if known.is_none_or(|(known_ns, _)| slack_ns < known_ns) {
                    *known = Some((slack_ns, at));
                }
            }
        }
        for ((entered, left), tightest) in tightest.iter() {
            if let Some((_, at)) = tightest {
                kept.at(entered, left).push(*at);
            }
        }
    }
    kept
}

/// The intervals at the instant when each rank's clock shows about `shown_ns`, from `meetings` in order of time.
pub(crate) fn intervals(shown_ns: &[i64], meetings: &[Meeting]) -> Intervals {
    let ranks = shown_ns.len();
    let tightest = tightest(ranks, meetings);
    let options = FitOptions { skew_max: DRIFT_MAX, ..FitOptions::usual(Estimator::Band) };
    let mut direct = Bounds::free(ranks);
    let mut drift_ppb = vec![None; ranks];
    let mut refuted = None;
    let met = tightest.iter().filter(|(_, meetings)| !meetings.is_empty());
    let met: BTreeSet<(usize, usize)> = met.map(|((a, b), _)| (a.min(b), a.max(b))).collect();
    for (a, b) in met {
        let span = |since: i64| Span::from_nanos(since.saturating_sub(shown_ns[a]));
        let differs = |theirs: i64, ours: i64| Span::from_nanos(theirs.saturating_sub(ours));
        // When the first of two ranks entered, and when the other left: nobody leaves before.
        let of_pair = |entered: usize, left: usize| {
            let numbers = tightest.get(entered, left).map_or(&[][..], Vec::as_slice);
            let of_meeting = move |meeting: &Meeting| Some((meeting.of_rank(entered)?.start_ns, meeting.of_rank(left)?.end_ns));
            numbers.iter().filter_map(move |at| of_meeting(&meetings[*at as usize]))
        };
        let above: Vec<_> = of_pair(a, b).map(|(entered, left)| (span(entered), differs(left, entered))).collect();
        let below: Vec<_> = of_pair(b, a).map(|(entered, left)| (span(left), differs(entered, left))).collect();
        match possible(&above, &below, &options) {
            Some(found) => {
                direct.at_most(a, b, found.hi.map(Span::as_nanos));
                direct.at_most(b, a, found.lo.map(|lo| lo.as_nanos().saturating_neg()));
                if a == 0 {
                    drift_ppb[b] = Some(found.skew_ppb);
                }
            }
            None => refuted = refuted.or(Some(b)),
        }
    }
    let mut bounds = direct.clone();
    bounds.close();
    // The instant itself is known only as well as each clock is, and within that a pair drifts apart.
    let open_ns = (1..ranks).filter_map(|rank| bounds.between(0, rank).width_ns()).max().unwrap_or(0);
    let margin_ns = 2 * (i128::from(open_ns.max(0)) * i128::from(DRIFT_MAX.as_ppb()) / 1_000_000_000) as i64 + 1;
    direct.loosen(margin_ns);
    direct.close();
    if let Some(rank) = refuted {
        direct.refute(rank);
    }
    Intervals { bounds: direct, drift_ppb }
}
