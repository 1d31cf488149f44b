//! Sets of time beside the collectives of the same rank, whose starts and ends are known when the sets are read.
//!
//! Most of what a rank's devices do begins when a collective ended or ends when one begins, and communication is the collectives
//! themselves. So an interval begins so long after the last moment that is known: the end of the interval before, or when a
//! collective started or ended. And it ends near the next such moment, if that tells it in a smaller number than its length.

use rankscope_analyze::Intervals;

use crate::Columns;
use crate::columns::ColumnsWriter;
use crate::error::Error;

/// When anything happened that is known already, in order and each once.
#[derive(Debug, Default)]
pub(super) struct Known(Vec<i64>);

impl Known {
    /// The starts and ends of stays, in any order.
    pub(super) fn of(mut moments_ns: Vec<i64>) -> Self {
        // A sort that merges runs: starts and ends mostly come in two.
        moments_ns.sort();
        moments_ns.dedup();
        Self(moments_ns)
    }

    pub(super) fn write(&self, columns: &mut ColumnsWriter, set: &Intervals) {
        let (mut passed, mut gaps_ns, mut by_known) = (Vec::new(), Vec::new(), Vec::new());
        let (mut lengths_ns, mut ends_ns) = (Vec::new(), Vec::new());
        let mut walk = Walk::of(&self.0);
        for (start_ns, end_ns) in set.iter() {
            passed.push(walk.pass_until(start_ns));
            gaps_ns.push(start_ns.wrapping_sub(walk.at_ns).cast_unsigned());
            let length_ns = end_ns.wrapping_sub(start_ns).cast_unsigned();
            let by_ns = walk.ahead.first().map(|next_ns| end_ns.wrapping_sub(*next_ns));
            let by_ns = by_ns.filter(|by_ns| by_ns.unsigned_abs() < length_ns);
            by_known.push(by_ns.is_some());
            by_ns.map_or_else(|| lengths_ns.push(length_ns), |by_ns| ends_ns.push(by_ns));
            walk.end(end_ns);
        }
        columns.unsigned(&passed);
        columns.unsigned(&gaps_ns);
        columns.bits(&by_known);
        columns.unsigned(&lengths_ns);
        columns.signed(&ends_ns);
    }

    pub(super) fn read(&self, columns: &mut Columns<'_>) -> Result<Intervals, Error> {
        let (passed, gaps_ns, by_known) = (columns.narrow::<usize>()?, columns.unsigned()?, columns.bits()?);
        let (lengths_ns, ends_ns) = (columns.unsigned()?, columns.signed()?);
        columns.fit(passed.len(), &[gaps_ns.len(), by_known.len(), lengths_ns.len() + ends_ns.len()])?;
        let (mut lengths_ns, mut ends_ns) = (lengths_ns.into_iter(), ends_ns.into_iter());
        let mut walk = Walk::of(&self.0);
        let mut interval = |passed: usize, gap_ns: u64, by_known: bool| {
            walk.pass(passed)?;
            let start_ns = walk.at_ns.wrapping_add_unsigned(gap_ns);
            let end_ns = match by_known {
                true => walk.ahead.first()?.wrapping_add(ends_ns.next()?),
                false => start_ns.wrapping_add_unsigned(lengths_ns.next()?),
            };
            walk.end(end_ns);
            Some((start_ns, end_ns))
        };
        let rows = passed.into_iter().zip(gaps_ns).zip(by_known);
        let list: Option<Vec<_>> = rows.map(|((passed, gap_ns), by_known)| interval(passed, gap_ns, by_known)).collect();
        let list = list.ok_or_else(|| columns.misfit("an interval begins or ends by a collective that is not there"))?;
        Intervals::of_sorted(list).ok_or_else(|| columns.misfit("an interval is empty, or touches the one before"))
    }
}

/// A way through what is known, from interval to interval.
struct Walk<'a> {
    /// The last known moment, or the end of the last interval.
    at_ns: i64,
    /// What is known after that.
    ahead: &'a [i64],
}

impl<'a> Walk<'a> {
    fn of(known: &'a [i64]) -> Self {
        Self { at_ns: 0, ahead: known }
    }

    /// Passes what is known up to an interval that starts at `start_ns`, and returns how many that are.
    fn pass_until(&mut self, start_ns: i64) -> u64 {
        let passed = self.ahead.iter().take_while(|known_ns| **known_ns <= start_ns).count();
        let _there = self.pass(passed);
        passed as u64
    }

    /// Passes so many, if there are so many.
    fn pass(&mut self, count: usize) -> Option<()> {
        let (passed, ahead) = self.ahead.split_at_checked(count)?;
        self.at_ns = passed.last().copied().unwrap_or(self.at_ns);
        self.ahead = ahead;
        Some(())
    }

    /// An interval ended.
    fn end(&mut self, end_ns: i64) {
        self.pass_until(end_ns);
        self.at_ns = end_ns;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Kind, Reader, Writer};

    const SETS: Kind = Kind(1);

    fn written(known: &Known, set: &Intervals) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.block(SETS, |columns| known.write(columns, set)).unwrap();
        writer.finish()
    }

    fn read(known: &Known, bytes: &[u8]) -> Result<Intervals, Error> {
        let reader = Reader::open(bytes).unwrap();
        let block = reader.block(SETS).unwrap();
        let mut columns = block.columns();
        let set = known.read(&mut columns)?;
        columns.end()?;
        Ok(set)
    }

    fn moments(of: impl Strategy<Value = i64>) -> impl Strategy<Value = Vec<i64>> {
        prop::collection::vec(of, 0..40)
    }

    fn set(moments: &[i64]) -> Intervals {
        Intervals::union_of(moments.chunks_exact(2).map(|pair| (pair[0].min(pair[1]), pair[0].max(pair[1]))))
    }

    proptest! {
        #[test]
        fn a_set_comes_back_whatever_is_known(known in moments(-60..60i64), edges in moments(-60..60i64)) {
            let (known, set) = (Known::of(known), set(&edges));
            prop_assert_eq!(read(&known, &written(&known, &set)).unwrap(), set);
        }

        #[test]
        fn stamps_may_be_any(known in moments(any::<i64>()), edges in moments(any::<i64>())) {
            let (known, set) = (Known::of(known), set(&edges));
            prop_assert_eq!(read(&known, &written(&known, &set)).unwrap(), set);
        }

        #[test]
        fn beside_other_collectives_it_is_refused_or_a_set(
            known in moments(-60..60i64), others in moments(-60..60i64), edges in moments(-60..60i64),
        ) {
            let bytes = written(&Known::of(known), &set(&edges));
            if let Ok(set) = read(&Known::of(others), &bytes) {
                prop_assert!(set.iter().all(|(start_ns, end_ns)| start_ns < end_ns));
            }
        }
    }

    /// Communication is the collectives, and computing begins a moment after them: neither takes more than a few bits an interval.
    #[test]
    fn what_goes_by_collectives_takes_next_to_nothing() {
        let stays: Vec<(i64, i64)> =
            (0..4_096i64).map(|at| (at * 100_003 + at * at % 977, at * 100_003 + 40_000 + at * at % 7_919)).collect();
        let known = Known::of(stays.iter().flat_map(|(start_ns, end_ns)| [*start_ns, *end_ns]).collect());
        let computing = Intervals::union_of(stays.windows(2).map(|pair| (pair[0].1 + 1_500, pair[1].0 - 700)));
        for set in [Intervals::union_of(stays.iter().copied()), computing] {
            assert!(written(&known, &set).len() < stays.len(), "{}", written(&known, &set).len());
        }
    }
}
