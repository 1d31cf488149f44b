//! Which kernels follow each other on a stream again and again: where fusing them or a CUDA graph may pay.
//!
//! Runs of three to five, by name. Runs of one sequence that overlap are counted once, from the left, so that no kernel's time is in
//! a sequence twice; different sequences share kernels. Only the most frequent are kept, so those of two exports do not add up.

use rankscope_trace::{SpanId, StrId, Trace, TrackId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::Attribution;
use crate::attribution::dur_ns;

/// How many kernels a sequence has.
const LENGTHS: std::ops::RangeInclusive<usize> = 3..=5;

/// Places for the names of the longest sequence.
const PLACES: usize = *LENGTHS.end();

/// How many sequences are kept.
pub const SEQUENCES: usize = 20;

/// A sequence of kernels that occurs more than once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceRow {
    /// The kernels, copies and fills in order.
    pub names: Vec<String>,
    /// How often they follow each other.
    pub count: u64,
    /// Sum of their lengths, in nanoseconds.
    pub kernel_ns: i64,
}

/// The names of a sequence; what follows those of a shorter one is empty.
type Names = [StrId; PLACES];

/// The runs of one sequence so far.
#[derive(Clone, Copy, Default)]
struct Runs {
    count: u64,
    kernel_ns: i64,
    /// The place behind the last one.
    end: usize,
}

/// A piece of work: the stream it ran on, its start and its span.
type Piece = (TrackId, i64, SpanId);

/// The sequences of `trace` that occur most often, at most [`SEQUENCES`]: by count, then by time, then the longer one, then by name.
pub fn sequences(trace: &Trace, attribution: &Attribution) -> Vec<SequenceRow> {
    let piece = |span: SpanId| (trace.spans.track[span.0 as usize], trace.spans.start_ns(span), span);
    let mut work: Vec<Piece> = attribution.work.iter().map(|one| piece(one.work)).collect();
    work.sort_unstable();
    let mut most: Vec<SequenceRow> = LENGTHS.flat_map(|length| of_length(trace, &work, length)).collect();
    most.sort_by(|a, b| {
        let key = |row: &SequenceRow| std::cmp::Reverse((row.count, row.kernel_ns, row.names.len()));
        key(a).cmp(&key(b)).then_with(|| a.names.cmp(&b.names))
    });
    most.truncate(SEQUENCES);
    most
}

/// The most frequent sequences of `length` in `work`, which comes by stream and start.
fn of_length(trace: &Trace, work: &[Piece], length: usize) -> Vec<SequenceRow> {
    let mut found: FxHashMap<Names, Runs> = FxHashMap::default();
    for (at, run) in work.windows(length).enumerate().filter(|(_, run)| run[0].0 == run[length - 1].0) {
        let mut names: Names = [StrId::EMPTY; PLACES];
        names.iter_mut().zip(run).for_each(|(name, (.., span))| *name = trace.spans.name[span.0 as usize]);
        let runs = found.entry(names).or_default();
        if at >= runs.end {
            runs.count += 1;
            runs.end = at + length;
            runs.kernel_ns = run.iter().map(|(.., span)| dur_ns(trace, *span)).fold(runs.kernel_ns, i64::saturating_add);
        }
    }
    let texts = |names: &Names| names.map(|name| trace.strings.text(name));
    let mut found: Vec<(Names, Runs)> = found.into_iter().filter(|(_, runs)| runs.count > 1).collect();
    found.sort_unstable_by(|(a, a_runs), (b, b_runs)| {
        (b_runs.count, b_runs.kernel_ns).cmp(&(a_runs.count, a_runs.kernel_ns)).then_with(|| texts(a).cmp(&texts(b)))
    });
    let row = |(names, runs): &(Names, Runs)| SequenceRow {
        names: texts(names)[..length].iter().map(|name| (*name).to_owned()).collect(),
        count: runs.count,
        kernel_ns: runs.kernel_ns,
    };
    found.iter().take(SEQUENCES).map(row).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::made::Made;

    fn sequences_of(kernels: &[(&str, i64)]) -> Vec<(String, u64, i64)> {
        let mut made = Made::default();
        for (at, (name, stream)) in kernels.iter().enumerate() {
            made.kernel(name, *stream, 10 * at as i64, 1, 0);
        }
        let rows = sequences(&made.trace, &Attribution::of(&made.trace));
        rows.iter().map(|row| (row.names.concat(), row.count, row.kernel_ns)).collect()
    }

    #[test]
    fn what_follows_each_other_on_a_stream_is_a_sequence() {
        let kernels = [("a", 7), ("b", 7), ("x", 8), ("c", 7), ("y", 7), ("a", 7), ("b", 7), ("x", 8), ("c", 7)];
        assert_eq!(sequences_of(&kernels), [("abc".to_owned(), 2, 6_000)]);
    }

    #[test]
    fn of_as_many_the_longer_is_first_and_runs_that_overlap_count_once() {
        let found = sequences_of(&[("a", 7); 10]);
        assert_eq!(found, [("aaa".to_owned(), 3, 9_000), ("aaaaa".to_owned(), 2, 10_000), ("aaaa".to_owned(), 2, 8_000)]);
    }

    proptest! {
        #[test]
        fn no_kernel_is_in_a_sequence_twice(names in prop::collection::vec(0usize..3, 0..60)) {
            let kernels: Vec<(&str, i64)> = names.iter().map(|name| (["a", "b", "c"][*name], 7)).collect();
            let text: String = kernels.iter().map(|(name, _)| *name).collect();
            for (sequence, count, kernel_ns) in sequences_of(&kernels) {
                // Which is how text is searched.
                prop_assert_eq!(text.matches(&sequence).count() as u64, count);
                prop_assert_eq!(kernel_ns, count as i64 * sequence.len() as i64 * 1_000);
            }
        }
    }
}
