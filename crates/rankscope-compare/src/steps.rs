//! The steps of a run: those that every rank marked, so that the job's time of each is known.
//!
//! A rank may mark a number twice, where several windows were recorded: its first is paired with the other ranks' first. What one rank
//! lacks is no step of the job, and where a mark is lost, the step before it lasts until the next mark there is: that is no step, either.
//! A run without any mark is one step as long as its trace.

use std::collections::BTreeMap;

use rankscope_document::{Document, Rank, Time};
use rustc_hash::FxHashMap;

/// Which step: its number, and how many of that number came before it on the rank.
pub(crate) type StepKey = (i64, u32);

/// Steps of a run, in order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    /// The steps that are compared before warm-up is dropped, and where each rank has them: indices into its steps.
    at: Vec<(StepKey, Vec<usize>)>,
    marked: usize,
    last_is_cut: bool,
    whole: bool,
    /// Steps that some ranks marked and others did not, and the ranks that did not.
    lacking: Vec<(i64, Vec<u32>)>,
    /// Steps that last until the mark after one that is lost.
    stretched: Vec<i64>,
}

/// A last step shorter than the median step divided by this is cut off.
const CUT_SHARE: i64 = 2;

/// A step before a lost mark that is at least as long as the median step times this, over two, lasts until the mark after it.
const STRETCHED_HALVES: i64 = 3;

impl Steps {
    pub(crate) fn of(document: &Document) -> Self {
        let ranks = &document.ranks;
        if ranks.iter().all(|rank| rank.steps.is_empty()) {
            return Self { at: vec![((0, 0), Vec::new())], whole: true, ..Self::default() };
        }
        let by_rank: Vec<FxHashMap<StepKey, usize>> = ranks.iter().map(keyed).collect();
        let mut all: Vec<StepKey> = by_rank.iter().flat_map(|keys| keys.keys().copied()).collect();
        all.sort_unstable();
        all.dedup();
        let mut steps = Self::default();
        let stretched = Stretched::of(document, &all);
        for key in all {
            let places: Vec<Option<usize>> = by_rank.iter().map(|keys| keys.get(&key).copied()).collect();
            let absent = places.iter().zip(ranks).filter(|(place, _)| place.is_none()).map(|(_, rank)| rank.rank);
            let absent: Vec<u32> = absent.collect();
            if !absent.is_empty() {
                steps.lacking.push((key.0, absent));
            } else if stretched.is(key, &places) {
                steps.stretched.push(key.0);
            } else {
                steps.at.push((key, places.into_iter().flatten().collect()));
            }
        }
        // Numbers may begin anew in a second window: time orders them.
        let start = |places: &[usize]| places.first().map_or(0, |place| ranks[0].steps[*place].window_ns[0]);
        steps.at.sort_by_key(|(key, places)| (start(places), *key));
        steps.marked = steps.at.len() + steps.stretched.len();
        steps.last_is_cut = steps.is_cut(document);
        if steps.last_is_cut {
            steps.at.pop();
        }
        steps
    }

    /// Whether the last step's mark was cut off by the end of the recording: it is much shorter than the others are.
    fn is_cut(&self, document: &Document) -> bool {
        let mut lengths: Vec<i64> = self.at.iter().map(|(_, places)| self.longest(document, places)).collect();
        let Some(last) = lengths.pop().filter(|_| lengths.len() >= 2) else { return false };
        lengths.sort_unstable();
        last < lengths[lengths.len() / 2] / CUT_SHARE
    }

    fn longest(&self, document: &Document, places: &[usize]) -> i64 {
        places.iter().zip(&document.ranks).map(|(place, rank)| rank.steps[*place].time_ns.total).max().unwrap_or(0)
    }

    /// How many are compared before warm-up is dropped.
    pub(crate) fn len(&self) -> usize {
        self.at.len()
    }

    /// How many all ranks marked.
    pub(crate) fn marked(&self) -> usize {
        self.marked
    }

    /// Whether the last of them was left out.
    pub(crate) fn last_is_cut(&self) -> bool {
        self.last_is_cut
    }

    /// How many at the beginning are left out.
    pub(crate) fn warm_up(&self) -> usize {
        rankscope_stats::warm_up(self.len())
    }

    /// Whether nothing marks steps, and the whole trace counts as one.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Numbers of steps that some ranks lack, and these ranks.
    pub(crate) fn lacking(&self) -> &[(i64, Vec<u32>)] {
        &self.lacking
    }

    /// Numbers of steps that were left out because the mark after them is lost.
    pub(crate) fn stretched(&self) -> &[i64] {
        &self.stretched
    }

    /// Numbers of the steps, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = StepKey> {
        self.at.iter().map(|(key, _)| *key)
    }

    /// When each step that is left without warm-up begins and ends on any rank, by its number: where that occurs twice, the first.
    pub(crate) fn windows(&self, document: &Document) -> BTreeMap<i64, [i64; 2]> {
        let kept = self.at.iter().skip(self.warm_up()).filter(|((_, before), _)| *before == 0 && !self.whole);
        let window = |places: &[usize]| {
            let windows = places.iter().zip(&document.ranks).map(|(place, rank)| rank.steps[*place].window_ns);
            windows.reduce(|[begin, end], other| [begin.min(other[0]), end.max(other[1])])
        };
        kept.filter_map(|((number, _), places)| Some((*number, window(places)?))).collect()
    }

    /// The account of the rank at `index` in each step.
    pub(crate) fn accounts<'a>(&'a self, document: &'a Document, index: usize) -> impl Iterator<Item = &'a Time> {
        let rank = &document.ranks[index];
        self.at.iter().map(move |(_, places)| if self.whole { &rank.time_ns } else { &rank.steps[places[index]].time_ns })
    }
}

/// Which steps last until the mark after a lost one.
struct Stretched<'a> {
    document: &'a Document,
    /// Every mark of any rank, in order.
    marks: Vec<StepKey>,
    /// The median of all steps of all ranks.
    median_ns: i64,
}

impl<'a> Stretched<'a> {
    fn of(document: &'a Document, marks: &[StepKey]) -> Self {
        let mut lengths: Vec<i64> = document.ranks.iter().flat_map(|rank| &rank.steps).map(|step| step.time_ns.total).collect();
        lengths.sort_unstable();
        let mut marks = marks.to_vec();
        marks.sort_unstable_by_key(|(number, before)| (*before, *number));
        Self { document, marks, median_ns: lengths.get(lengths.len() / 2).copied().unwrap_or(0) }
    }

    /// Whether `key`, which each rank has at its place of `places`, is such a step on any of them.
    fn is(&self, key: StepKey, places: &[Option<usize>]) -> bool {
        let order = |(number, before): &StepKey| (*before, *number);
        let Ok(at) = self.marks.binary_search_by_key(&order(&key), order) else { return false };
        // The next mark of any rank, in the same pass through the numbers.
        let next = self.marks.get(at + 1).filter(|next| next.1 == key.1);
        let follows = next.map_or(key.0, |next| next.0);
        places.iter().zip(&self.document.ranks).any(|(place, rank)| {
            let Some(place) = *place else { return false };
            let own_next = rank.steps.get(place + 1).map(|step| step.step).filter(|own| *own > key.0);
            let is_lost = follows > key.0 + 1 || own_next.is_some_and(|own| own > follows);
            is_lost && rank.steps[place].time_ns.total * 2 >= self.median_ns * STRETCHED_HALVES
        })
    }
}

fn keyed(rank: &Rank) -> FxHashMap<StepKey, usize> {
    let mut seen: FxHashMap<i64, u32> = FxHashMap::default();
    let mut keys = FxHashMap::default();
    for (place, step) in rank.steps.iter().enumerate() {
        let before = seen.entry(step.step).or_default();
        keys.insert((step.step, *before), place);
        *before += 1;
    }
    keys
}

#[cfg(test)]
mod tests {
    use rankscope_document::Step;

    use super::*;

    fn rank(number: u32, steps: &[(i64, i64)]) -> Rank {
        let step = |&(step, total): &(i64, i64)| Step {
            step,
            window_ns: [step * 1_000, step * 1_000 + total],
            time_ns: Time { total, ..Time::default() },
        };
        Rank { rank: number, steps: steps.iter().map(step).collect(), ..Rank::default() }
    }

    fn numbers(ranks: Vec<Rank>) -> (Vec<i64>, Vec<i64>) {
        let steps = Steps::of(&Document { ranks, ..Document::default() });
        (steps.keys().map(|(number, _)| number).collect(), steps.stretched)
    }

    #[test]
    fn the_step_before_a_lost_mark_is_left_out() {
        let whole: Vec<(i64, i64)> = (1..=6).map(|step| (step, 1_000)).collect();
        let lost = [(1, 1_000), (2, 2_000), (4, 1_000), (5, 1_000), (6, 1_000)];
        assert_eq!(numbers(vec![rank(0, &whole), rank(1, &lost)]), (vec![1, 4, 5, 6], vec![2]));
        assert_eq!(numbers(vec![rank(0, &lost)]), (vec![1, 4, 5, 6], vec![2]));
    }

    #[test]
    fn a_step_before_a_lost_mark_that_ends_where_it_should_stays() {
        let whole: Vec<(i64, i64)> = (1..=6).map(|step| (step, 1_000)).collect();
        let lost: Vec<(i64, i64)> = whole.iter().copied().filter(|(step, _)| *step != 3).collect();
        assert_eq!(numbers(vec![rank(0, &whole), rank(1, &lost)]), (vec![1, 2, 4, 5, 6], vec![]));
    }

    #[test]
    fn marks_of_every_tenth_step_are_not_lost_ones() {
        let tenth: Vec<(i64, i64)> = (0..6).map(|step| (step * 10, 1_000)).collect();
        assert_eq!(numbers(vec![rank(0, &tenth)]), ((0..6).map(|step| step * 10).collect(), vec![]));
    }

    #[test]
    fn a_last_step_that_is_cut_off_is_left_out() {
        let mut steps: Vec<(i64, i64)> = (1..=6).map(|step| (step, 1_000)).collect();
        steps[5].1 = 300;
        assert_eq!(numbers(vec![rank(0, &steps)]).0, [1, 2, 3, 4, 5]);
    }
}
