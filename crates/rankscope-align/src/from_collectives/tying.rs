//! How the clocks differ by the ends of collectives: from clock to clock along the collectives that they share.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::ends_of_clocks::{Compared, Ends};
use super::meetings::Meetings;
use super::sharing::SharedClock;
use super::ties::{ENDS_MIN, Line, Room, Tie, tie};
use crate::{Bound, Bounds};

/// Ties that were found, by the two clocks and the line of the first, which says when ends were. They hold as long as the clocks
/// have the same ranks.
pub(crate) type KnownTies = FxHashMap<(usize, usize, Line), Option<Tie>>;

/// Gives every clock its line: from the first clock along the collectives that they share, nearest first. Clocks that share none
/// with it, not even through others, are tied to the first of their own. Where `bounds` are given, ends that are noisier than
/// those are wide are not believed. Ties that are `known` are not looked for again.
pub(crate) fn tie_all(clocks: &mut [SharedClock], meetings: &Meetings<'_>, bounds: Option<&Bounds>, known: &mut KnownTies) {
    let mut ends = Ends::of(clocks, meetings);
    let mut reached = vec![false; clocks.len()];
    let (mut room, mut compared): (Room, Compared) = Default::default();
    for root in 0..clocks.len() {
        let mut frontier = VecDeque::from_iter((!reached[root]).then_some(root));
        reached[root] = true;
        while let Some(from) = frontier.pop_front() {
            ends.go_through(from);
            for to in ends.shared(from, &reached) {
                let line = clocks[from].line;
                let found = *known.entry((from, to, line)).or_insert_with(|| {
                    let (ended, differences_ns) = ends.compare(from, line, to, &mut compared);
                    tie(ended, differences_ns, &mut room)
                });
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
        let meetings: Meetings<'_> =
            (0..40).flat_map(|at| [0, 1, 2, 4, 5, 6].map(|first| pair(first, at * 1_000_000))).collect();
        let mut clocks = by_host(&[None; 8]);
        tie_all(&mut clocks, &meetings, None, &mut KnownTies::default());
        let ahead: Vec<i64> = clocks.iter().map(|clock| clock.line.offset_ns).collect();
        assert_eq!(ahead, [0, 1_000, 2_000, 3_000, 0, 1_000, 2_000, 3_000]);
    }
}
