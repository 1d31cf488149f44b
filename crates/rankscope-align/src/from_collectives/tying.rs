//! How the clocks differ by the ends of collectives: from clock to clock along the collectives that they share.

use std::collections::VecDeque;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::meetings::Meetings;
use super::sharing::SharedClock;
use super::ties::{ENDS_MIN, EndPair, Line, Tie, median, tie};
use crate::{Bound, Bounds};

/// Ties that were found, by the two clocks and the line of the first, which says when ends were. They hold as long as the clocks
/// have the same ranks.
pub(crate) type KnownTies = FxHashMap<(usize, usize, Line), Option<Tie>>;

/// Gives every clock its line: from the first clock along the collectives that they share, nearest first. Clocks that share none
/// with it, not even through others, are tied to the first of their own. Where `bounds` are given, ends that are noisier than
/// those are wide are not believed. Ties that are `known` are not looked for again.
pub(crate) fn tie_all(clocks: &mut [SharedClock], meetings: &Meetings, bounds: Option<&Bounds>, known: &mut KnownTies) {
    let mut ends = Ends::of(clocks, meetings);
    let mut reached = vec![false; clocks.len()];
    for root in 0..clocks.len() {
        let mut frontier = VecDeque::from_iter((!reached[root]).then_some(root));
        reached[root] = true;
        while let Some(from) = frontier.pop_front() {
            ends.go_through(from);
            for to in ends.shared(from, &reached) {
                let line = clocks[from].line;
                let found = *known.entry((from, to, line)).or_insert_with(|| tie(ends.pairs(from, line, to)));
                let Some(tie) = found else { continue };
                let bound = bounds.map(|bounds| bounds.between(clocks[from].ranks[0], clocks[to].ranks[0]));
                let line = line.then(&bound.map_or(tie.line, |bound| believed(&tie, bound)));
                (clocks[to].line, clocks[to].tie) = (line, Some(Tie { line, ..tie }));
                reached[to] = true;
                frontier.push_back(to);
            }
        }
    }
}

/// The line of the ends, or what the bound says where it says more than they do: nothing, if clocks may be equal.
fn believed(tie: &Tie, bound: Bound) -> Line {
    let level = |offset_ns: i64| Line { offset_ns, drift_ppb: 0, ..tie.line };
    let precise = tie.count >= ENDS_MIN && bound.width_ns().is_none_or(|width| tie.noise_ns <= width as f64 / 2.0);
    match bound.middle() {
        _ if precise => tie.line,
        _ if bound.allows_zero() => level(0),
        Some(middle_ns) => level(middle_ns),
        None => tie.line,
    }
}

/// When each clock saw the end of each meeting: the median of its ranks.
#[derive(Default)]
struct Ends {
    /// By meeting, how short it was.
    shortest_ns: Vec<i64>,
    /// By meeting, where those behind its last end stand.
    until: Vec<usize>,
    /// The clocks of each meeting, ascending.
    clocks: Vec<u32>,
    /// When each of those saw its end.
    ended_ns: Vec<i64>,
    /// By clock, the meetings it took part in.
    of_clock: Vec<Vec<u32>>,
    /// By meeting, the clock that was gone through first, plus 1; no other leads to a further clock.
    gone_through: Vec<u32>,
}

impl Ends {
    fn of(clocks: &[SharedClock], meetings: &Meetings) -> Self {
        let ranks = clocks.iter().flat_map(|clock| &clock.ranks).max().map_or(0, |most| most + 1);
        let mut clock_of = vec![0; ranks];
        for (at, clock) in clocks.iter().enumerate() {
            clock.ranks.iter().for_each(|rank| clock_of[*rank] = at);
        }
        let stays = meetings.stays();
        let mut ends = Self {
            shortest_ns: Vec::with_capacity(meetings.len()),
            until: Vec::with_capacity(meetings.len()),
            clocks: Vec::with_capacity(stays),
            ended_ns: Vec::with_capacity(stays),
            gone_through: vec![0; meetings.len()],
            ..Self::default()
        };
        let mut by_clock: Vec<(usize, i64)> = Vec::new();
        let mut counts = vec![0; clocks.len()];
        for meeting in meetings.iter() {
            by_clock.clear();
            by_clock.extend(meeting.stays().map(|stay| (clock_of[stay.rank()], stay.end_ns)));
            by_clock.sort_by_key(|(clock, _)| *clock);
            for own in by_clock.chunk_by(|(a, _), (b, _)| a == b) {
                let ended_ns = match own {
                    [(_, only_ns)] => Some(*only_ns),
                    several => median(several.iter().map(|(_, end)| *end).collect()),
                };
                let Some(ended_ns) = ended_ns else { continue };
                counts[own[0].0] += 1;
                ends.clocks.push(own[0].0 as u32);
                ends.ended_ns.push(ended_ns);
            }
            ends.shortest_ns.push(meeting.shortest_ns());
            ends.until.push(ends.clocks.len());
        }
        ends.of_clock = counts.into_iter().map(Vec::with_capacity).collect();
        for at in 0..meetings.len() {
            for place in ends.places(at) {
                ends.of_clock[ends.clocks[place] as usize].push(at as u32);
            }
        }
        ends
    }

    /// Where the ends of the meeting numbered `at` stand.
    fn places(&self, at: usize) -> Range<usize> {
        at.checked_sub(1).map_or(0, |before| self.until[before])..self.until[at]
    }

    /// Marks the meetings of `from` that nobody has gone through yet as its own.
    fn go_through(&mut self, from: usize) {
        for at in &self.of_clock[from] {
            let first = &mut self.gone_through[*at as usize];
            if *first == 0 {
                *first = from as u32 + 1;
            }
        }
    }

    /// The meetings of `clock` that `from` was the first to go through, ascending.
    fn led_from(&self, from: usize, clock: usize) -> impl Iterator<Item = usize> {
        let meetings = self.of_clock[clock].iter().map(|at| *at as usize);
        meetings.filter(move |at| self.gone_through[*at] == from as u32 + 1)
    }

    /// The clocks that are not `reached` yet and that such meetings lead to, ascending. Those are reached from here, so no meeting
    /// is gone through twice.
    fn shared(&self, from: usize, reached: &[bool]) -> Vec<usize> {
        let mut is_shared = vec![false; reached.len()];
        for at in self.led_from(from, from) {
            self.clocks[self.places(at)].iter().for_each(|clock| is_shared[*clock as usize] = true);
        }
        (0..reached.len()).filter(|clock| is_shared[*clock] && !reached[*clock]).collect()
    }

    /// The ends that `from`, which is `line` ahead, shares with `to` in such meetings.
    fn pairs(&self, from: usize, line: Line, to: usize) -> Vec<EndPair> {
        let ended_ns = |clock: usize, at: usize| {
            let places = self.places(at);
            let clocks = &self.clocks[places.clone()];
            // Where all clocks take part each stands at its own place.
            let is_own = clocks.get(clock).is_some_and(|own| *own == clock as u32);
            let place = if is_own { clock } else { clocks.binary_search(&(clock as u32)).ok()? };
            Some(self.ended_ns[places.start + place])
        };
        let pair = |at: usize| {
            let (own_ns, end_ns) = (ended_ns(from, at)?, ended_ns(to, at)?);
            let at_ns = own_ns.saturating_sub(line.at(own_ns));
            Some(EndPair { shortest_ns: self.shortest_ns[at], at_ns, difference_ns: end_ns.saturating_sub(own_ns) })
        };
        self.led_from(from, to).filter_map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::meetings::Stay;
    use super::super::sharing::by_host;
    use super::*;

    /// Two halves that share no meeting, each of clocks in a row: every clock gets what it is ahead of the first of its half.
    #[test]
    fn clocks_of_jobs_that_never_meet_are_tied_to_the_first_of_their_own() {
        let stay = |rank: usize, at_ns: i64| {
            let end_ns = at_ns + rank as i64 * 1_000;
            Stay::of(rank, end_ns - 500, end_ns)
        };
        let pair = |first: usize, at_ns: i64| vec![stay(first, at_ns), stay(first + 1, at_ns)];
        let meetings: Meetings = (0..40).flat_map(|at| [0, 1, 2, 4, 5, 6].map(|first| pair(first, at * 1_000_000))).collect();
        let mut clocks = by_host(&[None; 8]);
        tie_all(&mut clocks, &meetings, None, &mut KnownTies::default());
        let ahead: Vec<i64> = clocks.iter().map(|clock| clock.line.offset_ns).collect();
        assert_eq!(ahead, [0, 1_000, 2_000, 3_000, 0, 1_000, 2_000, 3_000]);
    }
}
