//! The place that divides a series into the two parts furthest apart, by the distances between values.
//!
//! Energy of a place: twice the mean distance between a value before and one after, less the mean distances within each part,
//! weighed by `nm/(n+m)`. When the place moves on by a value, the three sums change by that value's distances to both parts, and
//! those are had from counts and sums by rank (Fenwick's trees), so that all places cost `n log n`.

use crate::ranks::ranks;

/// All values, some before the place and the others after it.
pub(crate) struct Split {
    before: ByRank,
    after: ByRank,
    /// Sums of distances of all pairs.
    within_before: f64,
    within_after: f64,
    between: f64,
}

impl Split {
    /// Where the energy is largest, with `least` values or more on both sides. None for too few.
    pub(crate) fn best(values: &[f64], least: usize) -> Option<usize> {
        let n = values.len();
        if n < 2 * least {
            return None;
        }
        let centred = centred(values);
        let places = places(&centred);
        let mut split = Self::all_after(&centred, &places);
        let mut best = (0.0, None);
        for at in 1..=n - least {
            split.moves(centred[at - 1], places[at - 1]);
            let energy = split.energy(at as f64, (n - at) as f64);
            if at >= least && energy > best.0 {
                best = (energy, Some(at));
            }
        }
        best.1
    }

    fn all_after(values: &[f64], places: &[usize]) -> Self {
        let mut split = Self {
            before: ByRank::new(values.len()),
            after: ByRank::new(values.len()),
            within_before: 0.0,
            within_after: 0.0,
            between: 0.0,
        };
        for (value, place) in values.iter().zip(places) {
            split.within_after += split.after.distance(*value, *place);
            split.after.add(*value, *place, 1.0);
        }
        split
    }

    /// The first value after the place goes before it.
    fn moves(&mut self, value: f64, place: usize) {
        self.after.add(value, place, -1.0);
        let (to_before, to_after) = (self.before.distance(value, place), self.after.distance(value, place));
        self.within_after -= to_after;
        self.within_before += to_before;
        self.between += to_after - to_before;
        self.before.add(value, place, 1.0);
    }

    fn energy(&self, n: f64, m: f64) -> f64 {
        let mean = |sum: f64, count: f64| if count > 1.0 { 2.0 * sum / (count * (count - 1.0)) } else { 0.0 };
        let apart = 2.0 * self.between / (n * m) - mean(self.within_before, n) - mean(self.within_after, m);
        n * m / (n + m) * apart
    }
}

/// Values less their median: sums of distances between large numbers would lose what is small between them.
fn centred(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = crate::estimate::median(&sorted);
    values.iter().map(|value| value - middle).collect()
}

/// Each value's place in the order of all, from 0, equal values one after the other or the same.
fn places(values: &[f64]) -> Vec<usize> {
    ranks(values).into_iter().map(|rank| rank as usize - 1).collect()
}

/// Counts and sums of values by their rank.
struct ByRank {
    count: Fenwick,
    sum: Fenwick,
}

impl ByRank {
    fn new(size: usize) -> Self {
        Self { count: Fenwick::new(size), sum: Fenwick::new(size) }
    }

    fn add(&mut self, value: f64, place: usize, times: f64) {
        self.count.add(place, times);
        self.sum.add(place, times * value);
    }

    /// The sum of the distances of `value` to all values here.
    fn distance(&self, value: f64, place: usize) -> f64 {
        let (count, sum) = (self.count.up_to(place), self.sum.up_to(place));
        let (all, total) = (self.count.total, self.sum.total);
        value * count - sum + (total - sum) - value * (all - count)
    }
}

/// Sums over the first elements of an array that changes, each in logarithmic time.
struct Fenwick {
    tree: Vec<f64>,
    total: f64,
}

impl Fenwick {
    fn new(size: usize) -> Self {
        Self { tree: vec![0.0; size + 1], total: 0.0 }
    }

    fn add(&mut self, place: usize, amount: f64) {
        self.total += amount;
        let mut node = place + 1;
        while node < self.tree.len() {
            self.tree[node] += amount;
            node += node & node.wrapping_neg();
        }
    }

    /// The sum of all places up to this one.
    fn up_to(&self, place: usize) -> f64 {
        let (mut node, mut sum) = (place + 1, 0.0);
        while node > 0 {
            sum += self.tree[node];
            node -= node & node.wrapping_neg();
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By every pair, as it is defined.
    fn naive(values: &[f64], at: usize) -> f64 {
        let (before, after) = values.split_at(at);
        let mean = |a: &[f64], b: &[f64], pairs: usize| {
            let sum: f64 = a.iter().flat_map(|x| b.iter().map(move |y| (x - y).abs())).sum();
            if pairs == 0 { 0.0 } else { sum / pairs as f64 }
        };
        let (n, m) = (before.len(), after.len());
        let within = mean(before, before, n * (n - 1)) + mean(after, after, m * (m - 1));
        (n * m) as f64 / (n + m) as f64 * (2.0 * mean(before, after, n * m) - within)
    }

    proptest! {
        #[test]
        fn the_best_place_is_the_one_that_trying_all_pairs_gives(values in proptest::collection::vec(-100..100_i32, 6..60)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let best = (3..=values.len() - 3).map(|at| naive(&values, at)).fold(0.0, f64::max);
            match Split::best(&values, 3) {
                Some(at) => prop_assert!((naive(&values, at) - best).abs() < 1e-9 * best.max(1.0)),
                None => prop_assert!(best < 1e-9),
            }
        }
    }

    #[test]
    fn too_few_values_are_not_divided() {
        assert_eq!(Split::best(&[1.0, 1.0, 5.0, 5.0], 3), None);
    }
}
