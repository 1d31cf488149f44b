//! What every rank's work takes in every step, and the median of that over ranks.
//!
//! Work is the same on two ranks where the same operator launched it, as shapes, and with them kernels, may differ from rank to rank;
//! what no operator launched goes by its own name. Communication is no work: its time is made of the others'. Work outside all
//! steps is not compared, as ranks begin and end their recordings at different times.

use rankscope_analyze::StepWindow;
use rustc_hash::FxHashMap;

use super::Scene;
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
    /// How many ranks have each step.
    ranks_of_step: Vec<usize>,
}

const NO_WORK: u32 = u32::MAX;
const NO_STEP: u32 = u32::MAX;

/// Factors of the work of one rank, by step.
#[derive(Clone, Debug, Default)]
pub(super) struct ToMedian(FxHashMap<Cell, f64>);

/// Whose median it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    /// All ranks'.
    All,
    /// That of the ranks but the one.
    Others,
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
        let (places, ranks_of_step) = steps(scene);
        let of_rank = |at: usize| match scene.has_steps() {
            true => steps_of_pieces(scene.job.ranks[at], scene.windows(at), &places[at]),
            // The recording is one.
            false => vec![0; scene.job.ranks[at].len()],
        };
        let steps = (0..places.len()).map(of_rank).collect();
        let mut work = Self { sorts, steps, cells: FxHashMap::default(), ranks_of_step };
        for (at, execution) in scene.job.ranks.iter().enumerate() {
            work.add(at, execution);
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

    /// The factors that bring the rank at index `at` to the median.
    pub(super) fn to_median(&self, at: usize, among: Among) -> ToMedian {
        let factor = |(cell, times): (&Cell, &Vec<(i64, u32)>)| {
            let place = times.iter().position(|(ns, rank)| *rank as usize == at && *ns > 0)?;
            let median_ns = median(times, place, self.ranks_of_step[cell.0 as usize], among)?;
            Some((*cell, median_ns / times[place].0 as f64))
        };
        ToMedian(self.cells.iter().filter_map(factor).collect())
    }

    /// By how much the work of each rank differs from the median of the others, in nanoseconds.
    pub(super) fn differences_ns(&self) -> Vec<f64> {
        let mut differences = vec![0.0; self.sorts.len()];
        for (cell, times) in &self.cells {
            for (place, (ns, rank)) in times.iter().enumerate() {
                if let Some(median_ns) = median(times, place, self.ranks_of_step[cell.0 as usize], Among::Others) {
                    differences[*rank as usize] += (*ns as f64 - median_ns).abs();
                }
            }
        }
        differences
    }

    /// The factor of `to_median` for a share of the key at place `key`, in the piece `id` of the rank at index `at`.
    pub(super) fn factor(&self, to_median: &ToMedian, at: usize, id: PieceId, key: u32) -> f64 {
        let cell = (self.steps[at][id.0 as usize], self.sorts[at][key as usize]);
        to_median.0.get(&cell).copied().unwrap_or(1.0)
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

/// Place of each window of each rank among all steps, and how many ranks have each of those.
fn steps(scene: &Scene<'_>) -> (Vec<Vec<u32>>, Vec<usize>) {
    let ranks = scene.job.ranks.len();
    if !scene.has_steps() {
        return (vec![Vec::new(); ranks], vec![ranks]);
    }
    let mut numbers: Vec<i64> = scene.windows.iter().flat_map(|own| own.iter().map(|step| step.number)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let place = |step: &StepWindow| numbers.partition_point(|number| *number < step.number) as u32;
    let steps: Vec<Vec<u32>> = (0..ranks).map(|at| scene.windows(at).iter().map(place).collect()).collect();
    let mut ranks_of_step = vec![0; numbers.len()];
    for own in &steps {
        let mut own = own.clone();
        own.sort_unstable();
        own.dedup();
        own.iter().for_each(|step| ranks_of_step[*step as usize] += 1);
    }
    (steps, ranks_of_step)
}

/// The median of `times`, which are in order, and of nothing for the rest of `ranks`; of two in the middle their mean. Of the others
/// where the one at `place` is not to count.
fn median(times: &[(i64, u32)], place: usize, ranks: usize, among: Among) -> Option<f64> {
    let nothing = ranks.saturating_sub(times.len());
    let (count, left_out) = match among {
        Among::All => (ranks, usize::MAX),
        Among::Others => (ranks.saturating_sub(1), nothing + place),
    };
    let nth = |at: usize| {
        let at = at + usize::from(at >= left_out);
        at.checked_sub(nothing).map_or(0, |at| times[at].0)
    };
    (count > 0).then(|| (nth((count - 1) / 2) as f64 + nth(count / 2) as f64) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_do_nothing_count_in_a_median() {
        let times = [(3, 1), (5, 0), (9, 2)];
        assert_eq!(median(&times, 0, 3, Among::All), Some(5.0));
        assert_eq!(median(&times, 0, 5, Among::All), Some(3.0));
        assert_eq!(median(&times, 2, 3, Among::Others), Some(4.0));
        assert_eq!(median(&times, 0, 3, Among::Others), Some(7.0));
        assert_eq!(median(&times[..1], 0, 4, Among::Others), Some(0.0));
        assert_eq!(median(&times[..1], 0, 1, Among::Others), None);
    }
}
