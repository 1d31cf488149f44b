//! What every rank's work takes in every step, and the median of that over ranks.
//!
//! Work is the same on two ranks where the same operator launched it, as shapes, and with them kernels, may differ from rank to rank;
//! what no operator launched goes by its own name. Communication is no work: its time is made of the others'. Work outside all
//! steps is not compared, as ranks begin and end their recordings at different times. Where other ranks launched just the same in a
//! step, work on devices is compared piece by piece.

use rankscope_analyze::StepWindow;
use rustc_hash::FxHashMap;

use super::Scene;
use super::programs::Programs;
use crate::{Activity, Execution, Key, LaneKind, PieceId};

/// Work in a step: the step's place, and the work's.
type Cell = (u32, u32);

/// Work of all ranks by step.
#[derive(Clone, Debug)]
pub(super) struct Work {
    /// Place among all sorts of work, of each key of each rank; [`NO_WORK`] where it is none.
    sorts: Vec<Vec<u32>>,
    /// The step of each piece of each rank, by its place among all steps; [`NO_STEP`] where it is in none.
    steps: Vec<Vec<u32>>,
    /// How long each rank works on it in the step, the shortest first; a rank that is not listed does not.
    cells: FxHashMap<Cell, Vec<(i64, u32)>>,
    /// What each rank launched.
    programs: Programs,
    /// Places of the steps that each rank has, ascending.
    steps_of_rank: Vec<Vec<u32>>,
    /// How many ranks have each step.
    ranks_of_step: Vec<usize>,
}

const NO_WORK: u32 = u32::MAX;
const NO_STEP: u32 = u32::MAX;

/// Factors of the work of one rank.
#[derive(Clone, Debug, Default)]
pub(super) struct ToMedian {
    /// By step.
    cells: FxHashMap<Cell, f64>,
    /// Of pieces that other ranks have, too.
    pieces: FxHashMap<PieceId, f64>,
}

/// Factors of some ranks, and the place of each among them.
struct Found {
    places: Vec<Option<usize>>,
    factors: Vec<ToMedian>,
}

impl Found {
    fn of(&mut self, rank: usize) -> Option<&mut ToMedian> {
        self.factors.get_mut(self.places[rank]?)
    }
}

/// Whose median it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among<'a> {
    /// All ranks'.
    All,
    /// That of all but these, which are in order.
    Without(&'a [usize]),
}

impl Among<'_> {
    fn counts(self, rank: usize) -> bool {
        match self {
            Self::All => true,
            Self::Without(out) => out.binary_search(&rank).is_err(),
        }
    }
}

/// What work goes by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Sort<'a> {
    LaunchedBy(&'a str),
    Named(Activity, &'a str),
}

impl<'a> Sort<'a> {
    fn of(key: &'a Key) -> Option<Self> {
        match key.activity {
            Activity::Communication => None,
            Activity::Kernel if !key.operator.is_empty() => Some(Self::LaunchedBy(&key.operator)),
            activity => Some(Self::Named(activity, &key.name)),
        }
    }
}

impl Work {
    /// That of `scene`.
    pub(super) fn of(scene: &Scene<'_>) -> Self {
        let mut places: FxHashMap<Sort<'_>, u32> = FxHashMap::default();
        let mut sorts: Vec<Vec<u32>> = Vec::with_capacity(scene.job.ranks.len());
        for rank in &scene.job.ranks {
            let mut place = |sort| {
                let next = places.len() as u32;
                *places.entry(sort).or_insert(next)
            };
            sorts.push(rank.keys().iter().map(|key| Sort::of(key).map_or(NO_WORK, &mut place)).collect());
        }
        let places = places_of_steps(scene);
        let of_rank = |at: usize| match scene.has_steps() {
            true => steps_of_pieces(scene.job.ranks[at], scene.windows(at), &places[at]),
            // The recording is one.
            false => vec![0; scene.job.ranks[at].len()],
        };
        let steps = (0..places.len()).map(of_rank).collect();
        let steps_of_rank = steps_of_rank(scene, places);
        let ranks_of_step = ranks_of_step(&steps_of_rank);
        let (cells, programs) = Default::default();
        let mut work = Self { sorts, steps, cells, programs, steps_of_rank, ranks_of_step };
        for (at, execution) in scene.job.ranks.iter().enumerate() {
            work.add(at, execution);
            let name = |key: u32| work.sorts[at][key as usize];
            work.programs.add(execution, &work.steps[at], work.ranks_of_step.len(), name);
        }
        work.cells.values_mut().for_each(|cell| cell.sort_unstable());
        work
    }

    fn add(&mut self, at: usize, execution: &Execution) {
        let mut own: FxHashMap<Cell, i64> = FxHashMap::default();
        for id in execution.ids() {
            let step = self.steps[at][id.0 as usize];
            if step == NO_STEP {
                continue;
            }
            for share in execution.shares(id) {
                let sort = self.sorts[at][share.key.0 as usize];
                if sort != NO_WORK {
                    let sum = own.entry((step, sort)).or_default();
                    *sum = sum.saturating_add(share.ns);
                }
            }
        }
        for (cell, ns) in own {
            self.cells.entry(cell).or_default().push((ns, at as u32));
        }
    }

    /// The factors that bring each of the ranks at the indices `of` to the median of the ranks `among`: each median is made once for all.
    pub(super) fn to_medians(&self, scene: &Scene<'_>, of: &[usize], among: Among<'_>) -> Vec<ToMedian> {
        let ranks = self.ranks_that_count(among);
        let mut found = Found { places: vec![None; self.sorts.len()], factors: vec![ToMedian::default(); of.len()] };
        of.iter().enumerate().for_each(|(place, rank)| found.places[*rank] = Some(place));
        let mut counted: Vec<i64> = Vec::with_capacity(self.sorts.len());
        for (cell, times) in &self.cells {
            counted.clear();
            counted.extend(times.iter().filter(|(_, rank)| among.counts(*rank as usize)).map(|(ns, _)| *ns));
            let Some(median_ns) = median(counted.len(), ranks[cell.0 as usize], |at| counted[at]) else { continue };
            for (own_ns, rank) in times.iter().filter(|(ns, _)| *ns > 0) {
                if let Some(own) = found.of(*rank as usize) {
                    own.cells.insert(*cell, median_ns / *own_ns as f64);
                }
            }
        }
        for step in 0..self.ranks_of_step.len() {
            self.pieces_to_medians(scene, step, among, &mut found);
        }
        found.factors
    }

    /// Adds the factors of pieces of a step that other ranks have, too.
    fn pieces_to_medians(&self, scene: &Scene<'_>, step: usize, among: Among<'_>, found: &mut Found) {
        let ns = |rank: usize, id: PieceId| scene.job.ranks[rank].dur_ns(id);
        for alike in self.programs.alike(step) {
            let counted: Vec<_> = alike.iter().filter(|(rank, _)| among.counts(*rank)).collect();
            let own: Vec<_> = alike.iter().filter(|(rank, _)| found.places[*rank].is_some()).collect();
            let pieces = if own.is_empty() { 0 } else { alike[0].1.len() };
            let mut times: Vec<i64> = Vec::with_capacity(counted.len());
            for nth in 0..pieces {
                times.clear();
                times.extend(counted.iter().map(|(rank, pieces)| ns(*rank, pieces[nth])));
                times.sort_unstable();
                let Some(median_ns) = median(times.len(), times.len(), |at| times[at]) else { continue };
                for (rank, pieces) in &own {
                    let (id, own_ns) = (pieces[nth], ns(*rank, pieces[nth]));
                    if let Some(own) = found.of(*rank).filter(|_| own_ns > 0) {
                        own.pieces.insert(id, median_ns / own_ns as f64);
                    }
                }
            }
        }
    }

    /// How many of the ranks `among` have each step.
    fn ranks_that_count(&self, among: Among<'_>) -> Vec<usize> {
        let mut ranks = self.ranks_of_step.clone();
        let out = (0..self.steps_of_rank.len()).filter(|rank| !among.counts(*rank));
        out.flat_map(|rank| &self.steps_of_rank[rank]).for_each(|step| ranks[*step as usize] -= 1);
        ranks
    }

    /// By how much the work of each rank differs from the median of the others, in nanoseconds.
    pub(super) fn differences_ns(&self) -> Vec<f64> {
        let mut differences = vec![0.0; self.sorts.len()];
        for (cell, times) in &self.cells {
            let ranks = self.ranks_of_step[cell.0 as usize].saturating_sub(1);
            for (place, (ns, rank)) in times.iter().enumerate() {
                let others = |at: usize| times[at + usize::from(at >= place)].0;
                if let Some(median_ns) = median(times.len() - 1, ranks, others) {
                    differences[*rank as usize] += (*ns as f64 - median_ns).abs();
                }
            }
        }
        differences
    }

    /// The factor of `to_median` for a share of the key at place `key`, in the piece `id` of the rank at index `at`.
    pub(super) fn factor(&self, to_median: &ToMedian, at: usize, id: PieceId, key: u32) -> f64 {
        if let Some(factor) = to_median.pieces.get(&id) {
            return *factor;
        }
        let cell = (self.steps[at][id.0 as usize], self.sorts[at][key as usize]);
        to_median.cells.get(&cell).copied().unwrap_or(1.0)
    }
}

/// The step of each piece, where the rank has these `windows`, whose `places` among all steps are given. Work of the host is for the
/// step of what is launched next on its thread, which it may be ahead of by any time; where nothing is, for the one it lies in.
fn steps_of_pieces(execution: &Execution, windows: &[StepWindow], places: &[u32]) -> Vec<u32> {
    let at = |ns: i64| {
        let begun = windows.partition_point(|step| step.start_ns <= ns);
        let last = begun.checked_sub(1).filter(|last| ns < windows[*last].end_ns);
        last.map_or(NO_STEP, |last| places[last])
    };
    let mut steps: Vec<u32> = execution.ids().map(|id| at(execution.start_ns(id))).collect();
    let mut launched = vec![NO_STEP; steps.len()];
    for id in execution.ids().rev() {
        if let Some(by) = execution.piece(id).launched_by {
            launched[by.0 as usize] = steps[id.0 as usize];
        }
    }
    let mut next = vec![NO_STEP; execution.lanes().len()];
    for id in execution.ids().rev() {
        let piece = execution.piece(id);
        if execution.lane(piece.lane).kind == LaneKind::Thread {
            let next = &mut next[piece.lane.0 as usize];
            *next = if launched[id.0 as usize] == NO_STEP { *next } else { launched[id.0 as usize] };
            steps[id.0 as usize] = if *next == NO_STEP { steps[id.0 as usize] } else { *next };
        }
    }
    steps
}

/// Place of each window of each rank among all steps.
fn places_of_steps(scene: &Scene<'_>) -> Vec<Vec<u32>> {
    let mut numbers: Vec<i64> = scene.windows.iter().flat_map(|own| own.iter().map(|step| step.number)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let place = |step: &StepWindow| numbers.partition_point(|number| *number < step.number) as u32;
    (0..scene.job.ranks.len()).map(|at| scene.windows(at).iter().map(place).collect()).collect()
}

/// How many ranks have each step.
fn ranks_of_step(steps_of_rank: &[Vec<u32>]) -> Vec<usize> {
    let steps = steps_of_rank.iter().flatten();
    let count = steps.clone().max().map_or(0, |last| *last as usize + 1);
    let mut ranks = vec![0; count];
    steps.for_each(|step| ranks[*step as usize] += 1);
    ranks
}

/// Places of the steps of each rank, ascending, each once; the whole recording is the first one where there are none.
fn steps_of_rank(scene: &Scene<'_>, mut places: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    for own in &mut places {
        if !scene.has_steps() {
            own.push(0);
        }
        own.sort_unstable();
        own.dedup();
    }
    places
}

/// The median of `count` times, which `nth` tells in order, and of nothing for the rest of `ranks`; of two in the middle their mean.
fn median(count: usize, ranks: usize, nth: impl Fn(usize) -> i64) -> Option<f64> {
    let nothing = ranks.saturating_sub(count);
    let nth = |at: usize| at.checked_sub(nothing).map_or(0, &nth);
    (ranks > 0).then(|| (nth((ranks - 1) / 2) as f64 + nth(ranks / 2) as f64) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_do_nothing_count_in_a_median() {
        let of = |times: &[i64], ranks: usize| median(times.len(), ranks, |at| times[at]);
        assert_eq!(of(&[3, 5, 9], 3), Some(5.0));
        assert_eq!(of(&[3, 5, 9], 5), Some(3.0));
        assert_eq!(of(&[3, 5], 2), Some(4.0));
        assert_eq!(of(&[5, 9], 2), Some(7.0));
        assert_eq!(of(&[], 3), Some(0.0));
        assert_eq!(of(&[], 0), None);
    }
}
