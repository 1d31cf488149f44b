//! The steps of a run: those that every rank marked, so that the job's time of each is known.
//!
//! A rank may mark a number twice, where several windows were recorded: its first is paired with the other ranks' first. What one rank
//! lacks is no step of the job. A run without any mark is one step as long as its trace.

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
}

/// A last step shorter than this share of the median step is cut off.
const CUT_SHARE: i64 = 2;

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
        for key in all {
            let places: Vec<Option<usize>> = by_rank.iter().map(|keys| keys.get(&key).copied()).collect();
            let absent = places.iter().zip(ranks).filter(|(place, _)| place.is_none()).map(|(_, rank)| rank.rank);
            let absent: Vec<u32> = absent.collect();
            if absent.is_empty() {
                steps.at.push((key, places.into_iter().flatten().collect()));
            } else {
                steps.lacking.push((key.0, absent));
            }
        }
        // Numbers may begin anew in a second window: time orders them.
        let start = |places: &[usize]| places.first().map_or(0, |place| ranks[0].steps[*place].window_ns[0]);
        steps.at.sort_by_key(|(key, places)| (start(places), *key));
        steps.marked = steps.at.len();
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

    /// Numbers of the steps, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = StepKey> {
        self.at.iter().map(|(key, _)| *key)
    }

    /// The account of the rank at `index` in each step.
    pub(crate) fn accounts<'a>(&'a self, document: &'a Document, index: usize) -> impl Iterator<Item = &'a Time> {
        let rank = &document.ranks[index];
        self.at.iter().map(move |(_, places)| if self.whole { &rank.time_ns } else { &rank.steps[places[index]].time_ns })
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
