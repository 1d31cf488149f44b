//! Sets of time: sorted, disjoint, half-open intervals of integer nanoseconds, and the arithmetic on them.

/// A set of time. Intervals that touch are one; empty ones are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals {
    list: Vec<(i64, i64)>,
}

impl Intervals {
    /// The union of `spans`, given as start and end in any order.
    pub fn union_of(spans: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut list: Vec<_> = spans.into_iter().filter(|(start, end)| start < end).collect();
        list.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::with_capacity(list.len());
        for (start, end) in list {
            match merged.last_mut() {
                Some((_, last)) if start <= *last => *last = (*last).max(end),
                _ => merged.push((start, end)),
            }
        }
        Self { list: merged }
    }

    /// The set of these intervals, which have to be as [`iter`](Self::iter) gives them: in order, none empty, no two that touch.
    pub fn of_sorted(list: Vec<(i64, i64)>) -> Option<Self> {
        // All are looked at, as none is expected to be wrong.
        let apart = list.windows(2).fold(true, |apart, pair| apart & (pair[0].1 < pair[1].0));
        let none_empty = list.iter().fold(true, |none_empty, (start, end)| none_empty & (start < end));
        (apart & none_empty).then_some(Self { list })
    }

    /// The same of a list that is known to be so.
    pub(crate) fn in_order(list: Vec<(i64, i64)>) -> Self {
        debug_assert!(list.is_sorted_by(|a, b| a.1 < b.0) && list.iter().all(|(start, end)| start < end));
        Self { list }
    }

    /// Its intervals, in order.
    pub(crate) fn as_slice(&self) -> &[(i64, i64)] {
        &self.list
    }

    /// The union of both.
    pub fn union(&self, other: &Self) -> Self {
        Self::union_of(self.list.iter().chain(&other.list).copied())
    }

    /// What is in this set and not in `other`.
    pub fn minus(&self, other: &Self) -> Self {
        let mut list = Vec::with_capacity(self.list.len());
        let mut from = 0;
        for &(start, end) in &self.list {
            let mut at = start;
            from += first_after(&other.list[from..], start);
            for &(hole_start, hole_end) in other.list[from..].iter().take_while(|(hole_start, _)| *hole_start < end) {
                if at < hole_start {
                    list.push((at, hole_start));
                }
                at = at.max(hole_end);
            }
            if at < end {
                list.push((at, end));
            }
        }
        Self { list }
    }

    /// The part of the set inside the window from `start` to `end`.
    pub fn within(&self, start: i64, end: i64) -> Self {
        Self { list: self.clipped(start, end).collect() }
    }

    /// How much time the set holds inside the window from `start` to `end`.
    pub fn length_within_ns(&self, start: i64, end: i64) -> i64 {
        self.clipped(start, end).fold(0, |sum: i64, (start, end)| sum.saturating_add(end.saturating_sub(start)))
    }

    fn clipped(&self, start: i64, end: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
        let first = self.list.partition_point(|(_, interval_end)| *interval_end <= start);
        clipped(&self.list[first..], start, end)
    }

    /// For asking about one window after the other.
    pub fn windows(&self) -> WindowCursor<'_> {
        WindowCursor { set: self, first: 0, start: i64::MIN }
    }

    /// How much time the set holds.
    pub fn length_ns(&self) -> i64 {
        self.list.iter().fold(0, |sum: i64, (start, end)| sum.saturating_add(end.saturating_sub(*start)))
    }

    /// Its intervals, in order.
    pub fn iter(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.list.iter().copied()
    }
}

/// Asks a set about one window after the other: a step each where the next one begins a little later, a search else.
#[derive(Clone, Debug)]
pub struct WindowCursor<'a> {
    set: &'a Intervals,
    /// The first interval that ends after `start`.
    first: usize,
    start: i64,
}

/// Intervals that are looked at one by one before all are searched.
const NEAR: usize = 8;

/// The place of the first interval of `list` that ends after `start`, which is mostly near.
fn first_after(list: &[(i64, i64)], start: i64) -> usize {
    let near = list.iter().take(NEAR).position(|(_, end)| *end > start);
    near.unwrap_or_else(|| list.partition_point(|(_, end)| *end <= start))
}

impl WindowCursor<'_> {
    /// How much time the set holds inside the window from `start` to `end`, and how much of that before `until`.
    pub fn lengths_within_ns(&mut self, (start, end): (i64, i64), until: i64) -> (i64, i64) {
        let list = &self.set.list;
        let from = if start >= self.start { self.first } else { 0 };
        let rest = &list[from..];
        self.first = from + first_after(rest, start);
        self.start = start;
        let (mut all_ns, mut before_ns) = (0i64, 0i64);
        for (start, end) in clipped(&list[self.first..], start, end) {
            all_ns = all_ns.saturating_add(end.saturating_sub(start));
            before_ns = before_ns.saturating_add(end.min(until).saturating_sub(start).max(0));
        }
        (all_ns, before_ns)
    }
}

/// What of `list`, of which the first ends after `start`, lies inside the window from `start` to `end`.
fn clipped(list: &[(i64, i64)], start: i64, end: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
    let inside = list.iter().take_while(move |(interval_start, _)| *interval_start < end);
    inside.map(move |(a, b)| ((*a).max(start), (*b).min(end))).filter(|(a, b)| a < b)
}

/// The length of a union whose intervals come nearly in order, without keeping them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Length {
    /// Of what nothing to come can overlap.
    settled_ns: i64,
    /// The rest but for the last that came.
    open: Vec<(i64, i64)>,
    last: (i64, i64),
}

/// Open intervals from which on it is looked which are settled.
const OPEN_MAX: usize = 32;

impl Length {
    /// Adds one. It and all to come start at `from_ns` or later.
    pub(crate) fn add(&mut self, from_ns: i64, span: (i64, i64)) {
        let last = std::mem::replace(&mut self.last, span);
        // One after the other, as they mostly come, none is kept.
        if self.open.is_empty() && last.1 < from_ns {
            self.settled_ns = self.settled_ns.saturating_add(length_ns(last));
            return;
        }
        if self.open.len() >= OPEN_MAX && self.open.len() == self.open.capacity() {
            let union = Intervals::union_of(self.open.drain(..));
            let (settled, open): (Vec<_>, Vec<_>) = union.iter().partition(|(_, end)| *end < from_ns && *end < last.0);
            self.settled_ns = self.settled_ns.saturating_add(Intervals { list: settled }.length_ns());
            self.open.extend(open);
        }
        self.open.push(last);
    }

    /// The length of all.
    pub(crate) fn ns(self) -> i64 {
        let rest = self.open.into_iter().chain([self.last]);
        self.settled_ns.saturating_add(Intervals::union_of(rest).length_ns())
    }
}

/// How long one is that may be empty.
fn length_ns((start, end): (i64, i64)) -> i64 {
    end.saturating_sub(start).max(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spans() -> impl Strategy<Value = Vec<(i64, i64)>> {
        prop::collection::vec((0i64..200, 0i64..30).prop_map(|(start, len)| (start, start + len)), 0..20)
    }

    /// The same set, second by second.
    fn cells(spans: &[(i64, i64)]) -> Vec<bool> {
        (0..240).map(|t| spans.iter().any(|(start, end)| (*start..*end).contains(&t))).collect()
    }

    fn cells_of(set: &Intervals) -> Vec<bool> {
        cells(&set.iter().collect::<Vec<_>>())
    }

    proptest! {
        #[test]
        fn sets_behave_like_sets(a in spans(), b in spans(), window in (0i64..200, 0i64..60)) {
            let (set_a, set_b) = (Intervals::union_of(a.clone()), Intervals::union_of(b.clone()));
            let both = cells(&a).into_iter().zip(cells(&b));
            prop_assert_eq!(cells_of(&set_a.union(&set_b)), both.clone().map(|(a, b)| a || b).collect::<Vec<_>>());
            prop_assert_eq!(cells_of(&set_a.minus(&set_b)), both.map(|(a, b)| a && !b).collect::<Vec<_>>());
            let (start, end) = (window.0, window.0 + window.1);
            let inside: Vec<bool> = cells(&a).into_iter().enumerate().map(|(t, on)| on && (start..end).contains(&(t as i64))).collect();
            prop_assert_eq!(cells_of(&set_a.within(start, end)), inside);
            prop_assert_eq!(Intervals::of_sorted(set_a.iter().collect()), Some(set_a.clone()));
            prop_assert_eq!(set_a.length_ns(), cells(&a).into_iter().filter(|on| *on).count() as i64);
        }
    }

    proptest! {
        #[test]
        fn windows_are_as_long_one_after_the_other_as_each_by_itself(
            spans in prop::collection::vec((0i64..2_000, 0i64..30).prop_map(|(start, len)| (start, start + len)), 0..200),
            windows in prop::collection::vec((0i64..2_100, -5i64..60, 0i64..70), 0..60), are_sorted in any::<bool>()
        ) {
            let set = Intervals::union_of(spans);
            let mut windows = windows;
            if are_sorted {
                windows.sort_unstable();
            }
            let mut cursor = set.windows();
            for (start, len, part) in windows {
                let (end, until) = (start + len, start + part.min(len));
                let expected = (set.length_within_ns(start, end), set.length_within_ns(start, until));
                prop_assert_eq!(cursor.lengths_within_ns((start, end), until), expected);
            }
        }
    }

    proptest! {
        #[test]
        fn a_length_without_its_intervals_is_that_of_the_union(spans in prop::collection::vec((0i64..9, 0i64..40, 0i64..200), 0..400)) {
            let mut from_ns = 0;
            let mut length = Length::default();
            let mut all = Vec::new();
            for (step, late, long) in spans {
                from_ns += step;
                let span = (from_ns + late, from_ns + late + long);
                length.add(from_ns, span);
                all.push(span);
            }
            prop_assert_eq!(length.ns(), Intervals::union_of(all).length_ns());
        }
    }

    #[test]
    fn touching_intervals_are_one() {
        assert_eq!(Intervals::union_of([(5, 9), (1, 5), (9, 9)]).iter().collect::<Vec<_>>(), [(1, 9)]);
        for not_one in [vec![(1, 5), (5, 9)], vec![(9, 9)], vec![(5, 9), (1, 4)], vec![(9, 5)]] {
            assert_eq!(Intervals::of_sorted(not_one), None);
        }
    }
}
