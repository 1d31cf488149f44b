//! How often the same row of device work repeats, and how long one repetition takes: steps of a loop that nobody marked.
//!
//! Work in the order in which it was launched is a sequence of names. A period is a number of pieces after which every name comes
//! again, over a long stretch and without exception. It is told only where it leaves no doubt: three repetitions or more over half of
//! all work, or two over nine tenths. What repeats may be the steps of training, the layers of a model or requests; this is not told.

use std::hash::{BuildHasher, BuildHasherDefault};

use rankscope_trace::{SpanId, StrId, Trace};
use rustc_hash::{FxHashMap, FxHasher};
use serde::{Deserialize, Serialize};

use crate::attribution::dur_ns;
use crate::{Attribution, Spread};

/// Pieces of work that a period has at least: shorter ones are loops within an operator.
pub const PERIOD_MIN: usize = 8;

/// Names in a row that are looked for again, to find lengths worth trying.
const ROW: usize = 6;

/// Lengths that are tried.
const TRIED: usize = 64;

/// A row of work that repeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeriodRow {
    /// Kernels, copies and fills of one repetition.
    pub work: u64,
    /// Whole repetitions, one after the other.
    pub repetitions: u64,
    /// Pieces of work in the stretch that repeats, and in all.
    pub covered: u64,
    /// All work of the trace.
    pub all: u64,
    /// When the stretch begins, in nanoseconds since the start of the trace.
    pub at_ns: i64,
    /// From the start of each repetition to that of the next.
    pub time: Spread,
    /// Sum of the lengths of the work of each repetition.
    pub kernel: Spread,
    /// The work that each begins with. Where in a loop that lies is chance: it is where the recording or the repeating begins.
    pub first: String,
    /// Steps of the training loop that the trace marks.
    pub marked_steps: u64,
}

/// The period of `trace`, if there is one without doubt.
pub fn periods(trace: &Trace, attribution: &Attribution) -> Vec<PeriodRow> {
    let starts = |span: SpanId| trace.spans.start_ns(span);
    let mut work: Vec<(i64, i64, SpanId)> =
        attribution.work.iter().map(|one| (one.launch.map_or(starts(one.work), starts), starts(one.work), one.work)).collect();
    work.sort_unstable();
    let names: Vec<StrId> = work.iter().map(|(.., span)| trace.spans.name[span.0 as usize]).collect();
    let Some(found) = found(&names) else { return Vec::new() };
    let repetitions = || work[found.first..].chunks_exact(found.period).take(found.repetitions());
    let (mut time, mut kernel) = (Spread::default(), Spread::default());
    let begins: Vec<i64> = repetitions().filter_map(|one| one.iter().map(|(_, start_ns, _)| *start_ns).min()).collect();
    begins.windows(2).for_each(|pair| time.add(pair[1].saturating_sub(pair[0])));
    for one in repetitions() {
        kernel.add(one.iter().map(|(.., span)| dur_ns(trace, *span)).fold(0, i64::saturating_add));
    }
    let trace_ns = trace.bounds_ns().map_or(0, |(start_ns, _)| start_ns);
    let mut steps: Vec<i64> = trace.steps.iter().map(|step| step.number).collect();
    steps.sort_unstable();
    steps.dedup();
    vec![PeriodRow {
        work: found.period as u64,
        repetitions: found.repetitions() as u64,
        covered: found.length as u64,
        all: work.len() as u64,
        at_ns: begins.first().map_or(0, |start_ns| start_ns.saturating_sub(trace_ns)),
        time,
        kernel,
        first: trace.strings.text(names[found.first]).to_owned(),
        marked_steps: steps.len() as u64,
    }]
}

/// A stretch in which every name comes again after as many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    period: usize,
    first: usize,
    length: usize,
}

impl Found {
    fn repetitions(self) -> usize {
        self.length / self.period
    }

    fn is_beyond_doubt(self, all: usize) -> bool {
        match self.repetitions() {
            0 | 1 => false,
            2 => self.length * 10 >= all * 9,
            _ => self.length * 2 >= all,
        }
    }
}

/// The period that the most of `names` have, the shortest of these.
fn found(names: &[StrId]) -> Option<Found> {
    let tried = candidates(names).into_iter().map(|period| longest(names, period));
    let beyond = tried.filter(|found| found.is_beyond_doubt(names.len()));
    beyond.max_by_key(|found| (found.length, std::cmp::Reverse(found.period)))
}

/// How far apart rows of names come again: the distances that most rows have, weighed by their length.
fn candidates(names: &[StrId]) -> Vec<usize> {
    let hasher = BuildHasherDefault::<FxHasher>::default();
    let mut last: FxHashMap<u64, usize> = FxHashMap::default();
    let mut distances: FxHashMap<usize, usize> = FxHashMap::default();
    for (at, row) in names.windows(ROW).enumerate() {
        // Two rows of one hash would only make a distance be tried in vain.
        if let Some(before) = last.insert(hasher.hash_one(row), at).filter(|before| at - before >= PERIOD_MIN) {
            *distances.entry(at - before).or_default() += 1;
        }
    }
    let mut distances: Vec<(usize, usize)> = distances.into_iter().collect();
    distances.sort_unstable_by_key(|(distance, count)| (std::cmp::Reverse(distance.saturating_mul(*count)), *distance));
    distances.truncate(TRIED);
    distances.into_iter().map(|(distance, _)| distance).collect()
}

/// The longest stretch of `names` with `period`.
fn longest(names: &[StrId], period: usize) -> Found {
    let mut best = Found { period, first: 0, length: 0 };
    let mut first = 0;
    for at in 0..names.len().saturating_sub(period) {
        if names[at] == names[at + period] {
            let length = at + 1 - first + period;
            if length > best.length {
                best = Found { period, first, length };
            }
        } else {
            first = at + 1;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::made::Made;

    /// A trace of kernels called by these letters, a microsecond each.
    fn rows(names: &str) -> Vec<PeriodRow> {
        let mut made = Made::default();
        for (at, name) in names.chars().enumerate() {
            made.kernel(&name.to_string(), 7, 10 * at as i64, 1, 0);
        }
        periods(&made.trace, &Attribution::of(&made.trace))
    }

    #[test]
    fn steps_are_found_and_layers_within_them_are_not() {
        let layer = "abcdefgh";
        let step = format!("0123{}456789", layer.repeat(4));
        let found = &rows(&format!("xyz{}", step.repeat(3)))[0];
        assert_eq!((found.work, found.repetitions, found.covered, found.all), (42, 3, 126, 129));
        assert_eq!((found.at_ns, found.first.as_str(), found.marked_steps), (30_000, "0", 0));
        assert_eq!((found.time.count, found.time.min_ns, found.time.max_ns), (2, 420_000, 420_000));
        assert_eq!((found.kernel.count, found.kernel.sum_ns), (3, 126_000));
    }

    #[test]
    fn what_leaves_doubt_is_no_period() {
        assert_eq!(rows("abcdefghijklmnop"), []);
        // Twice, with much around it; and a short loop.
        assert_eq!(rows("0123456789abcdefghabcdefgh"), []);
        assert_eq!(rows(&"ab".repeat(3)), []);
        assert_eq!(rows(""), []);
        // One kernel more in each step than in the one before.
        assert_eq!(rows("abcdefghijabcdefghijXabcdefghijXYabcdefghijXYZ"), []);
    }

    proptest! {
        #[test]
        fn whatever_repeats_is_found(step in prop::collection::vec(0u8..200, 20..60), times in 3usize..6) {
            let names: String = step.iter().map(|name| char::from(b'0' + name % 75)).collect();
            let text = names.repeat(times);
            let found = rows(&text);
            prop_assert_eq!(found.len(), 1);
            let period = found[0].work as usize;
            // The step itself, or what it consists of.
            prop_assert_eq!(step.len() % period, 0);
            let letters: Vec<char> = text.chars().collect();
            prop_assert!(letters.iter().zip(&letters[period..]).all(|(a, b)| a == b));
            prop_assert_eq!(found[0].covered, found[0].all);
        }
    }
}
