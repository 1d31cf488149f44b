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
    /// The starts and ends of stays, each in any order: mostly both are in order of time already.
    pub(super) fn of(mut starts_ns: Vec<i64>, mut ends_ns: Vec<i64>) -> Self {
        // Mostly one ended before the next started, and each took its time.
        let in_turn = |apart: bool, (start_ns, end_ns): (&i64, &i64)| apart & (start_ns < end_ns);
        let are_in_turn = starts_ns.len() == ends_ns.len()
            && starts_ns.iter().zip(&ends_ns).fold(true, in_turn)
            && ends_ns.iter().zip(starts_ns.iter().skip(1)).fold(true, in_turn);
        if are_in_turn {
            return Self(starts_ns.into_iter().zip(ends_ns).flat_map(|(start_ns, end_ns)| [start_ns, end_ns]).collect());
        }
        starts_ns.sort();
        ends_ns.sort();
        Self(union(&starts_ns, &ends_ns))
    }

    pub(super) fn write(&self, columns: &mut ColumnsWriter, set: &Intervals) {
        let (mut passed, mut gaps_ns, mut by_known) = (Vec::new(), Vec::new(), Vec::new());
        let (mut lengths_ns, mut ends_ns) = (Vec::new(), Vec::new());
        let mut walk = Walk::of(&self.0);
        for (start_ns, end_ns) in set.iter() {
            passed.push(walk.pass_until(start_ns) as u64);
            gaps_ns.push(start_ns.wrapping_sub(walk.at_ns).cast_unsigned());
            let length_ns = end_ns.wrapping_sub(start_ns).cast_unsigned();
            let by_ns = walk.ahead().map(|next_ns| end_ns.wrapping_sub(next_ns));
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
        let (passed, gaps_ns, by_known) = (columns.narrow::<usize>()?, columns.unsigned()?, columns.flags()?);
        let (lengths_ns, ends_ns) = (columns.unsigned()?, columns.signed()?);
        columns.fit(passed.len(), &[gaps_ns.len(), by_known.len(), lengths_ns.len() + ends_ns.len()])?;
        let mut walk = Walk::of(&self.0);
        let (mut list, mut is_there) = (Vec::with_capacity(passed.len()), by_known.count() == ends_ns.len());
        let (mut length, mut end) = (0, 0);
        for ((passed, gap_ns), by_known) in passed.into_iter().zip(gaps_ns).zip(by_known.iter()) {
            is_there &= walk.pass(passed).is_some();
            let start_ns = walk.at_ns.wrapping_add_unsigned(gap_ns);
            // Nobody can tell which of the two it is, so both are looked up.
            let length_ns = lengths_ns.get(length).copied().unwrap_or(0);
            let (ahead_ns, by_ns) = (walk.ahead(), ends_ns.get(end).copied().unwrap_or(0));
            is_there &= !by_known | ahead_ns.is_some();
            let by_length_ns = start_ns.wrapping_add_unsigned(length_ns);
            let end_ns = if by_known { ahead_ns.unwrap_or(0).wrapping_add(by_ns) } else { by_length_ns };
            (length, end) = (length + usize::from(!by_known), end + usize::from(by_known));
            walk.end(end_ns);
            list.push((start_ns, end_ns));
        }
        if !is_there {
            return Err(columns.misfit("an interval begins or ends by a collective that is not there"));
        }
        Intervals::of_sorted(list).ok_or_else(|| columns.misfit("an interval is empty, or touches the one before"))
    }
}

/// What is in either of two lists in order, each once.
fn union(a: &[i64], b: &[i64]) -> Vec<i64> {
    let mut both = Vec::with_capacity(a.len() + b.len());
    let (mut own, mut others) = (a.iter().peekable(), b.iter().peekable());
    let mut last = None;
    let mut put = |ns: i64| {
        if last != Some(ns) {
            both.push(ns);
            last = Some(ns);
        }
    };
    while let (Some(a), Some(b)) = (own.peek(), others.peek()) {
        let next = if a <= b { own.next() } else { others.next() };
        next.into_iter().for_each(|ns| put(*ns));
    }
    own.chain(others).for_each(|ns| put(*ns));
    both
}

/// A way through what is known, from interval to interval.
struct Walk<'a> {
    /// The last known moment, or the end of the last interval.
    at_ns: i64,
    known: &'a [i64],
    /// How many of those are before.
    passed: usize,
}

/// Known moments that are compared with another one without asking after each.
const TOGETHER: usize = 4;

impl<'a> Walk<'a> {
    fn of(known: &'a [i64]) -> Self {
        Self { at_ns: 0, known, passed: 0 }
    }

    /// The known moment after the last one that was passed.
    fn ahead(&self) -> Option<i64> {
        self.known.get(self.passed).copied()
    }

    /// Passes what is known up to an interval that starts at `start_ns`, and returns how many that are.
    fn pass_until(&mut self, start_ns: i64) -> usize {
        let passed = self.count_until(start_ns);
        let _there = self.pass(passed);
        passed
    }

    /// How many known moments that were not passed are no later than `ns`: mostly none to two, so some are looked at together.
    fn count_until(&self, ns: i64) -> usize {
        let ahead = &self.known[self.passed..];
        let mut count = 0;
        for some in ahead.chunks(TOGETHER) {
            let passed = some.iter().map(|known_ns| usize::from(*known_ns <= ns)).sum::<usize>();
            count += passed;
            if passed < TOGETHER {
                break;
            }
        }
        count
    }

    /// Passes so many, if there are so many.
    fn pass(&mut self, count: usize) -> Option<()> {
        let passed = self.passed.checked_add(count).filter(|passed| *passed <= self.known.len())?;
        if count > 0 {
            self.at_ns = self.known[passed - 1];
        }
        self.passed = passed;
        Some(())
    }

    /// An interval ended.
    fn end(&mut self, end_ns: i64) {
        self.passed += match self.ahead() {
            // With the next known moment or before that, as mostly.
            Some(next_ns) if end_ns <= next_ns => usize::from(end_ns == next_ns),
            _ => self.count_until(end_ns),
        };
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

    /// What is known from such starts and ends, in any order.
    fn halves(mut moments: Vec<i64>) -> Known {
        let ends = moments.split_off(moments.len() / 2);
        Known::of(moments, ends)
    }

    fn set(moments: &[i64]) -> Intervals {
        Intervals::union_of(moments.chunks_exact(2).map(|pair| (pair[0].min(pair[1]), pair[0].max(pair[1]))))
    }

    proptest! {
        #[test]
        fn what_is_known_is_in_order_and_each_once(moments in moments(-20..20i64)) {
            let expected: std::collections::BTreeSet<i64> = moments.iter().copied().collect();
            prop_assert_eq!(halves(moments).0, expected.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn what_comes_in_turn_is_known_as_what_does_not(moments in moments(-60..60i64), other in 0usize..40) {
            let mut in_turn = moments;
            in_turn.sort_unstable();
            in_turn.dedup();
            let (starts, ends): (Vec<i64>, Vec<i64>) = in_turn.chunks_exact(2).map(|pair| (pair[0], pair[1])).unzip();
            let at = other % starts.len().max(1);
            let turned = |list: &[i64]| [&list[at..], &list[..at]].concat();
            prop_assert_eq!(Known::of(starts.clone(), ends.clone()).0, Known::of(turned(&starts), turned(&ends)).0);
        }

        #[test]
        fn a_set_comes_back_whatever_is_known(known in moments(-60..60i64), edges in moments(-60..60i64)) {
            let (known, set) = (halves(known), set(&edges));
            prop_assert_eq!(read(&known, &written(&known, &set)).unwrap(), set);
        }

        #[test]
        fn stamps_may_be_any(known in moments(any::<i64>()), edges in moments(any::<i64>())) {
            let (known, set) = (halves(known), set(&edges));
            prop_assert_eq!(read(&known, &written(&known, &set)).unwrap(), set);
        }

        #[test]
        fn beside_other_collectives_it_is_refused_or_a_set(
            known in moments(-60..60i64), others in moments(-60..60i64), edges in moments(-60..60i64),
        ) {
            let bytes = written(&halves(known), &set(&edges));
            if let Ok(set) = read(&halves(others), &bytes) {
                prop_assert!(set.iter().all(|(start_ns, end_ns)| start_ns < end_ns));
            }
        }
    }

    /// Communication is the collectives, and computing begins a moment after them: neither takes more than a few bits an interval.
    #[test]
    fn what_goes_by_collectives_takes_next_to_nothing() {
        let stays: Vec<(i64, i64)> =
            (0..4_096i64).map(|at| (at * 100_003 + at * at % 977, at * 100_003 + 40_000 + at * at % 7_919)).collect();
        let known = Known::of(stays.iter().map(|stay| stay.0).collect(), stays.iter().map(|stay| stay.1).collect());
        let computing = Intervals::union_of(stays.windows(2).map(|pair| (pair[0].1 + 1_500, pair[1].0 - 700)));
        for set in [Intervals::union_of(stays.iter().copied()), computing] {
            assert!(written(&known, &set).len() < stays.len(), "{}", written(&known, &set).len());
        }
    }
}
