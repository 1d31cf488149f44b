//! What the clocks can differ by at all, at one instant, though they drift.
//!
//! A constraint holds when its stamps were taken, and clocks drift on from there. So each pair of clocks gets what lines through
//! all of its constraints can be at the instant, exactly ([`rankscope_clock::fit::possible`]); then pairs are combined along
//! paths like any difference constraints. Assumed is only how fast clocks drift at most and how fast that changes. No host name
//! and no agreement of ends has a part in it, and dropping constraints, which is done where they are many, only widens it.

use std::ops::Range;

use rankscope_clock::fit::{Estimator, FitOptions, possible};
use rankscope_time::{Rate, Span};

use super::meetings::{Block, Column, Meetings, Room};
use crate::Bounds;
use crate::pairs::DENSE_RANKS_MAX;

/// Two clocks drift apart by less than this: crystals are within 100 parts per million of their frequency, one may be fast and
/// the other slow.
pub const DRIFT_MAX: Rate = Rate::from_ppb(200_000);

/// Beyond this many ranks, a rank's clock is bounded only by those of the first rank of each of its groups: pairs, and paths
/// through pairs, grow with the square and the cube.
pub(crate) const PAIRED_RANKS_MAX: usize = DENSE_RANKS_MAX;

/// The recording is cut into so many stretches; of each, every pair keeps its tightest constraint in either direction.
const STRETCHES: usize = 32;

/// Ranks that are looked at together, where each is compared with all others: few, as the constraints of all of them are kept.
const TOGETHER: usize = 8;

/// The intervals between all pairs, and what clocks can gain on the first.
pub(crate) struct Intervals {
    /// At the instant.
    pub(crate) bounds: Bounds,
    /// By rank, what it can gain on the first rank, in parts per billion, where the two met.
    pub(crate) drift_ppb: Vec<Option<(f64, f64)>>,
}

/// Of the members of a block of `ranks` ranks' meetings, those that say something of the one at `place` and stand behind it.
fn partners(block: &Block<'_>, place: usize, ranks: usize) -> Range<usize> {
    // Of many ranks only the first of a group says something of those behind it.
    let says_something = place == 0 || ranks <= PAIRED_RANKS_MAX;
    place + 1..if says_something { block.members.len() } else { place + 1 }
}

/// A constraint between two clocks: when one entered and the other left, on the clock of each, in the meeting of this number.
#[derive(Clone, Copy)]
struct Passage {
    at: u32,
    entered_ns: i64,
    left_ns: i64,
}

impl Passage {
    /// Looser than all others.
    const NONE: Self = Self { at: u32::MAX, entered_ns: i64::MIN, left_ns: i64::MAX };

    /// Of the meetings of `block`, the one in which the member of `left` left soonest after the one of `entered` had come.
    fn tightest_of(block: &Block<'_>, entered: &Column<'_>, left: &Column<'_>) -> Option<Self> {
        let (row, _) = entered.tightest(left)?;
        Some(Self { at: block.at[row], entered_ns: entered.entered_ns[row], left_ns: left.left_ns[row] })
    }

    /// The tighter of the two, the earlier of two that are as tight.
    fn or(self, other: Self) -> Self {
        let order = |one: &Self| (one.left_ns.saturating_sub(one.entered_ns), one.at);
        if order(&other) < order(&self) { other } else { self }
    }

    /// What there is, if anything, and forgets it.
    fn take(&mut self) -> Option<Self> {
        Some(std::mem::replace(self, Self::NONE)).filter(|known| known.at < u32::MAX)
    }
}

/// The tightest constraints between one rank and each behind it, one for each stretch of the meetings.
#[derive(Clone)]
struct Tightest {
    /// By the other rank, where the one entered and the other left.
    above: Vec<Vec<Passage>>,
    /// Where the other entered and the one left.
    below: Vec<Vec<Passage>>,
    /// Both of the stretch at hand.
    stretch: Vec<[Passage; 2]>,
    /// Whom the rank has met, in the stretch at hand and in all.
    met_in_stretch: Vec<usize>,
    met: Vec<usize>,
}

impl Tightest {
    fn of(ranks: usize) -> Self {
        let none = vec![Vec::new(); ranks];
        let stretch = vec![[Passage::NONE; 2]; ranks];
        Self { above: none.clone(), below: none, stretch, met_in_stretch: Vec::new(), met: Vec::new() }
    }

    /// Looks at some ranks, each by one of `these`, that have these blocks of `meetings`, and these places among their members.
    fn look_at(these: &mut [Self], own: &[Vec<(u32, u32)>], meetings: &Meetings<'_>) {
        these.iter_mut().for_each(Self::forget);
        let length = meetings.len().div_ceil(STRETCHES).max(1);
        let of_rank = |(at, own): (usize, &Vec<(u32, u32)>)| {
            let blocks: Vec<_> = own.iter().map(|(block, place)| (meetings.block(*block as usize), *place as usize)).collect();
            blocks.into_iter().flat_map(move |(block, place)| {
                block.stretches(length).map(move |(stretch, block)| ((stretch, at), block, place))
            })
        };
        // Stretch by stretch, whose stamps stay in a cache while all of these are compared with them.
        let mut stretches: Vec<((usize, usize), Block<'_>, usize)> = own.iter().enumerate().flat_map(of_rank).collect();
        stretches.sort_by_key(|(stretch, ..)| *stretch);
        let mut rooms = Default::default();
        for stretch in stretches.chunk_by(|(a, ..), (b, ..)| a == b) {
            let ((_, at), ..) = stretch[0];
            stretch.iter().for_each(|(_, block, place)| these[at].take_up(block, *place, &mut rooms));
            these[at].end_stretch();
        }
        these.iter_mut().for_each(|one| one.met.sort_unstable());
    }

    fn forget(&mut self) {
        for other in self.met.drain(..) {
            self.above[other].clear();
            self.below[other].clear();
        }
    }

    /// Takes up what the meetings of `block` say of the member at `own` and of those behind it.
    fn take_up(&mut self, block: &Block<'_>, own: usize, [room, other_room]: &mut [Room; 2]) {
        let partners = partners(block, own, self.above.len());
        if partners.is_empty() {
            return;
        }
        let own = block.column(own, room);
        for place in partners {
            let other = block.column(place, other_room);
            let found = [(&own, &other), (&other, &own)].map(|(entered, left)| Passage::tightest_of(block, entered, left));
            let rank = block.members[place].rank();
            if found.iter().any(Option::is_some) && self.stretch[rank].iter().all(|known| known.at == u32::MAX) {
                self.met_in_stretch.push(rank);
            }
            for (known, found) in self.stretch[rank].iter_mut().zip(found) {
                *known = found.map_or(*known, |found| known.or(found));
            }
        }
    }

    fn end_stretch(&mut self) {
        for other in self.met_in_stretch.drain(..) {
            let [above, below] = self.stretch[other].each_mut().map(Passage::take);
            if self.above[other].is_empty() && self.below[other].is_empty() {
                self.met.push(other);
            }
            self.above[other].extend(above);
            self.below[other].extend(below);
        }
    }
}

/// The intervals at the instant when each rank's clock shows about `shown_ns`, from `meetings` in order of time.
pub(crate) fn intervals(shown_ns: &[i64], meetings: &Meetings<'_>) -> Intervals {
    let ranks = shown_ns.len();
    let options = FitOptions::usual(Estimator::Band).with_skew_max(DRIFT_MAX);
    let mut direct = Bounds::free(ranks);
    let mut drift_ppb = vec![None; ranks];
    let mut refuted = None;
    let together = if ranks <= PAIRED_RANKS_MAX { TOGETHER } else { 1 };
    let mut tightest = vec![Tightest::of(ranks); together];
    let by_rank = meetings.blocks_by_rank(ranks);
    for a in 0..ranks {
        if a.is_multiple_of(together) {
            let own = &by_rank[a..ranks.min(a + together)];
            Tightest::look_at(&mut tightest[..own.len()], own, meetings);
        }
        let tightest = &tightest[a % together];
        for &b in &tightest.met {
            let span = |since: i64| Span::from_nanos(since.saturating_sub(shown_ns[a]));
            let differs = |theirs: i64, ours: i64| Span::from_nanos(theirs.saturating_sub(ours));
            // When the first of two ranks entered, and when the other left: nobody leaves before.
            let above: Vec<_> =
                tightest.above[b].iter().map(|one| (span(one.entered_ns), differs(one.left_ns, one.entered_ns))).collect();
            let below: Vec<_> =
                tightest.below[b].iter().map(|one| (span(one.left_ns), differs(one.entered_ns, one.left_ns))).collect();
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
