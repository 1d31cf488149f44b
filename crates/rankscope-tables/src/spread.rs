//! Count, sum, least and most of some lengths: what tables tell of work that ran many times.

use serde::{Deserialize, Serialize};

/// Lengths of work of one sort, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum_ns: i64,
    /// The shortest; 0 of none.
    pub min_ns: i64,
    /// The longest; 0 of none.
    pub max_ns: i64,
}

impl Spread {
    /// One more.
    pub fn add(&mut self, ns: i64) {
        self.join(Self { count: 1, sum_ns: ns, min_ns: ns, max_ns: ns });
    }

    /// All of `others` too.
    pub fn join(&mut self, others: Self) {
        if others.count == 0 {
            return;
        }
        *self = Self {
            count: self.count + others.count,
            sum_ns: self.sum_ns.saturating_add(others.sum_ns),
            min_ns: if self.count == 0 { others.min_ns } else { self.min_ns.min(others.min_ns) },
            max_ns: if self.count == 0 { others.max_ns } else { self.max_ns.max(others.max_ns) },
        };
    }

    /// The mean; 0 of none.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }
}

/// A [`Spread`] and its median.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lengths {
    /// Count, sum, least and most.
    pub spread: Spread,
    /// The middle one, the lower of two, in nanoseconds; none of none, nor where several exports were joined.
    pub median_ns: Option<i64>,
}

impl Lengths {
    /// Those of `lengths`, in nanoseconds.
    pub fn of(mut lengths: Vec<i64>) -> Self {
        let mut spread = Spread::default();
        lengths.iter().for_each(|ns| spread.add(*ns));
        let middle = lengths.len().saturating_sub(1) / 2;
        let median_ns = (!lengths.is_empty()).then(|| *lengths.select_nth_unstable(middle).1);
        Self { spread, median_ns }
    }

    /// All of `others` too. The median of two lists does not follow from theirs.
    pub fn join(&mut self, others: Self) {
        let median_ns = match (self.spread.count, others.spread.count) {
            (_, 0) => self.median_ns,
            (0, _) => others.median_ns,
            _ => None,
        };
        self.spread.join(others.spread);
        self.median_ns = median_ns;
    }
}
