//! The last resort of pairing two sequences: every shift of one against the other.
//!
//! Each shift proposes the offset at which most ends coincide, and the one that pairs most wins; among equals the one whose ends lie
//! closest. A sequence that repeats perfectly pairs nearly as well one period on, and what the edges are short of may as well be what
//! one of the two did not record. So what a rival pairs otherwise that pairs nearly as many, as closely, is paired with nothing, unless what
//! is known of the clocks fits: a wrong pair would look like any other, and a rank would wait for what never happened.

use rustc_hash::FxHashMap;

use crate::LocalCollective;
use crate::sequence::{By, Paired, Pairing, refined, walk};

/// Shifts tried in either direction.
const SHIFTS_MAX: usize = 512;

/// By trying every shift, and `hints` where several fit. Takes the square of what there is.
pub(crate) fn by_search(
    ours: &[&LocalCollective],
    theirs: &[&LocalCollective],
    hints: impl IntoIterator<Item = i64>,
) -> Paired {
    let offsets = offsets(ours, theirs);
    // Of each only how well it fits: the pairs of all of them would take the square of what there is, too.
    let mut fits_of: Vec<Fit> = Vec::with_capacity(offsets.len());
    let tried = offsets.iter().map(|offset| walk(ours, theirs, *offset)).inspect(|tried| fits_of.push(Fit::of(tried)));
    let Some(best) = tried.reduce(Pairing::better) else { return Paired { pairs: Vec::new(), by: By::Search } };
    let best = refined(ours, theirs, best);
    let least = Least::beside(&best);
    let rivals =
        offsets.iter().zip(&fits_of).filter(|(_, fit)| least.is_met(fit)).map(|(offset, _)| walk(ours, theirs, *offset));
    let told = uncontested(&best.pairs, rivals);
    if told.len() == best.pairs.len() {
        return Paired { pairs: told, by: By::Search };
    }
    let hinted = hints.into_iter().map(|offset| walk(ours, theirs, offset)).reduce(Pairing::better);
    match hinted.map(|hinted| refined(ours, theirs, hinted)).filter(|hinted| least.is_met(&Fit::of(hinted))) {
        Some(hinted) => Paired { pairs: hinted.pairs, by: By::Hint },
        None => Paired { pairs: told, by: By::NotTold },
    }
}

/// What the shifts propose, and clocks that agree.
fn offsets(ours: &[&LocalCollective], theirs: &[&LocalCollective]) -> Vec<i64> {
    let (len, other) = (ours.len() as isize, theirs.len() as isize);
    let most = SHIFTS_MAX as isize;
    let shifts = -(len - 1).min(most)..=(other - 1).min(most);
    let tries = shifts.flat_map(|shift| PARTS.map(|part| (shift, part)));
    tries.filter_map(|(shift, part)| proposed_offset(ours, theirs, shift, part)).chain([0]).collect()
}

/// How well an offset fits.
struct Fit {
    pairs: usize,
    apart_ns: i64,
}

impl Fit {
    fn of(pairing: &Pairing) -> Self {
        Self { pairs: pairing.pairs.len(), apart_ns: pairing.apart_ns() }
    }
}

/// What makes an offset one that may be true: as many pairs as the best has, but for one in fifty, and ends no further apart than twice
/// those under it, as those of neighbours are.
struct Least {
    pairs: usize,
    apart_ns: i64,
}

impl Least {
    fn beside(best: &Pairing) -> Self {
        // A nanosecond is what stamps are rounded to.
        let apart_ns = best.apart_ns().saturating_mul(2).saturating_add(1);
        Self { pairs: best.pairs.len() - best.pairs.len() / 50, apart_ns }
    }

    fn is_met(&self, fit: &Fit) -> bool {
        fit.pairs >= self.pairs && fit.apart_ns <= self.apart_ns
    }
}

/// Those of `pairs` of which no rival pairs either end with another. All ascend.
fn uncontested(pairs: &[(usize, usize)], rivals: impl Iterator<Item = Pairing>) -> Vec<(usize, usize)> {
    let mut told = pairs.to_vec();
    for rival in rivals {
        let with_ours: FxHashMap<usize, usize> = rival.pairs.iter().copied().collect();
        let with_theirs: FxHashMap<usize, usize> = rival.pairs.iter().map(|(i, j)| (*j, *i)).collect();
        told.retain(|(i, j)| {
            with_ours.get(i).is_none_or(|other| other == j) && with_theirs.get(j).is_none_or(|other| other == i)
        });
        if told.is_empty() {
            break;
        }
    }
    told
}

/// Which part of the ends must coincide for an offset to be proposed: after several losses no one shift is right for many.
pub(crate) const PARTS: [usize; 2] = [4, 8];

/// Their clock minus ours, if `theirs[i + shift]` is `ours[i]`: the middle of the narrowest range that holds one in `part` of the
/// differences between ends. Ends coincide far better than starts, and some pairs are wrong whatever the shift.
pub(crate) fn proposed_offset(
    ours: &[&LocalCollective],
    theirs: &[&LocalCollective],
    shift: isize,
    part: usize,
) -> Option<i64> {
    let mut differences: Vec<i64> = ours
        .iter()
        .enumerate()
        .filter_map(|(at, a)| Some((a, theirs.get(usize::try_from(at as isize + shift).ok()?)?)))
        .filter(|(a, b)| a.may_be(b))
        .map(|(a, b)| b.end_ns.saturating_sub(a.end_ns))
        .collect();
    differences.sort_unstable();
    let width = (differences.len() / part).max(2.min(differences.len().saturating_sub(1)));
    let narrowest =
        (0..differences.len().checked_sub(width)?).min_by_key(|at| differences[at + width].saturating_sub(differences[*at]))?;
    Some(differences[narrowest].midpoint(differences[narrowest + width]))
}
