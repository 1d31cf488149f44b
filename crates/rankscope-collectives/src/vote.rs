//! Which offset between two ranks' clocks the ends of their collectives vote for.
//!
//! Ends of one collective coincide on true time, ends of two do not: so among all differences of ends within a band about the
//! diagonal the true offset comes once for each collective, and every other as chance will have it. Short windows do, which keeps
//! drift out; several of them, because the first may lie where much was lost. What repeats perfectly elects several offsets,
//! and then the vote is not clear: nobody may rely on it.

use rustc_hash::FxHashMap;

use crate::{Kind, LocalCollective};

/// An election of offsets, their clock minus ours.
#[derive(Debug)]
pub(crate) struct Vote {
    /// Of each window the one that most ends speak for.
    pub(crate) offsets: Vec<i64>,
    /// Whether nothing else came near in half of the windows or more.
    pub(crate) is_clear: bool,
    /// Ends that lie closer are not told apart.
    pub(crate) grain_ns: i64,
}

/// Windows, and collectives of ours in each.
const WINDOWS_MAX: usize = 8;
const WINDOW: usize = 64;

/// Of theirs those are compared that stand so many places before or behind: what one of the two may have lost up to there.
const BAND: usize = 512;

/// Differences are counted in bins of a thirty-second of the usual gap between ends: wide enough for a collective that ends on one
/// rank a little later than on the other, and so narrow that of a window's 64 collectives four or so vote for a bin by chance.
const BINS_PER_GAP: i64 = 32;
const BINS: usize = 1 << 16;

/// Fewer votes than this prove nothing.
const VOTES_MIN: u32 = 16;

/// All windows' votes, each window's winner first.
pub(crate) fn vote(ours: &[&LocalCollective], theirs: &[&LocalCollective]) -> Vote {
    let mut signatures = Signatures::default();
    let [ours, theirs] = [ours, theirs].map(|list| signatures.ends_of(list));
    let bits = bin_bits(&ours);
    let windows = (ours.len() / WINDOW).clamp(1, WINDOWS_MAX);
    let last = ours.len().saturating_sub(WINDOW);
    let mut booth = Booth { counts: vec![0; BINS], pairs: vec![0; BINS - 1], differences: Vec::new() };
    let elected = (0..windows).filter_map(|window| {
        let first = last * window / (windows - 1).max(1);
        booth.elect(&ours, first..(first + WINDOW).min(ours.len()), &theirs, bits)
    });
    let elected: Vec<Elected> = elected.collect();
    let clear = elected.iter().filter(|one| one.is_clear).count();
    let offsets = elected.iter().map(|one| one.offset_ns).collect();
    Vote { offsets, is_clear: clear > 0 && 2 * clear >= windows, grain_ns: 1 << bits }
}

/// One window's winner.
struct Elected {
    offset_ns: i64,
    is_clear: bool,
}

/// An end, and a number for what ended.
type End = (i64, u32);

/// Room to count in.
struct Booth {
    counts: Vec<u32>,
    /// Of each bin and the next one together, the votes.
    pairs: Vec<u32>,
    differences: Vec<i64>,
}

impl Booth {
    fn elect(&mut self, ours: &[End], window: std::ops::Range<usize>, theirs: &[End], bits: u32) -> Option<Elected> {
        self.differences.clear();
        for (i, (end_ns, signature)) in ours[window.clone()].iter().enumerate().map(|(at, end)| (window.start + at, end)) {
            let band = i.saturating_sub(BAND).min(theirs.len())..(i + BAND + 1).min(theirs.len());
            let alike = theirs[band].iter().filter(|(_, other)| other == signature);
            self.differences.extend(alike.map(|(other_ns, _)| other_ns.saturating_sub(*end_ns)));
        }
        let middle_ns = self.differences.get(self.differences.len() / 2).copied()?;
        let least_ns = middle_ns.saturating_sub((BINS as i64 / 2).saturating_mul(1 << bits));
        let bin =
            |difference: &i64| usize::try_from(difference.saturating_sub(least_ns) >> bits).ok().filter(|bin| *bin < BINS);
        self.counts.fill(0);
        self.differences.iter().filter_map(bin).for_each(|bin| self.counts[bin] += 1);
        // What lies about the border of two bins votes in both.
        let own_and_next = self.counts.iter().zip(&self.counts[1..]);
        self.pairs.iter_mut().zip(own_and_next).for_each(|(pair, (own, next))| *pair = own + next);
        let most = |pairs: &[u32]| pairs.iter().fold(0, |most, votes| most.max(*votes));
        let votes = most(&self.pairs);
        let winner = self.pairs.iter().rposition(|pair| *pair == votes)?;
        let beyond = &self.pairs[(winner + 3).min(self.pairs.len())..];
        let next = most(&self.pairs[..winner.saturating_sub(2)]).max(most(beyond));
        let mut own: Vec<i64> = self
            .differences
            .iter()
            .copied()
            .filter(|one| bin(one).is_some_and(|bin| bin == winner || bin == winner + 1))
            .collect();
        let middle = own.len() / 2;
        let offset_ns = *own.select_nth_unstable(middle).1;
        // Half of what may have voted did, and nothing else had more than half of that.
        let is_clear = votes >= VOTES_MIN && 2 * votes as usize >= window.len() && 2 * next <= votes;
        Some(Elected { offset_ns, is_clear })
    }
}

/// Of the usual gap between ends a part, as a power of two.
fn bin_bits(ends: &[End]) -> u32 {
    let mut gaps: Vec<i64> = ends.windows(2).map(|two| two[1].0.saturating_sub(two[0].0).max(0)).collect();
    let middle = gaps.len() / 2;
    let usual = if gaps.is_empty() { 0 } else { *gaps.select_nth_unstable(middle).1 };
    (usual / BINS_PER_GAP).max(1).ilog2()
}

/// Numbers for what collectives may be told apart by.
#[derive(Default)]
struct Signatures<'a> {
    known: FxHashMap<(Kind, &'a str, Option<u64>), u32>,
}

impl<'a> Signatures<'a> {
    fn ends_of(&mut self, list: &[&'a LocalCollective]) -> Vec<End> {
        let mut shared: FxHashMap<*const crate::Operation, u32> = FxHashMap::default();
        let mut number = |collective: &'a LocalCollective| {
            *shared.entry(std::sync::Arc::as_ptr(&collective.operation)).or_insert_with(|| {
                let elements = collective.in_elements.filter(|_| collective.kind.has_equal_inputs());
                let next = self.known.len() as u32;
                *self.known.entry((collective.kind, &collective.dtype, elements)).or_insert(next)
            })
        };
        list.iter().map(|collective| (collective.end_ns, number(collective))).collect()
    }
}
