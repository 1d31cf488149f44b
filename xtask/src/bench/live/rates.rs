//! Rates of rare events, delays, and work that is shared among threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde::Serialize;

/// The numbers of events that are to be expected where `count` were seen: the exact interval of 95 % of the Poisson distribution.
pub(super) fn interval(count: u64) -> (f64, f64) {
    let low = if count == 0 { 0.0 } else { solved(|mean| 1.0 - below(count, mean), 0.025) };
    (low, solved(|mean| 1.0 - below(count + 1, mean), 0.975))
}

/// The chance of fewer than `count` events where `mean` are expected.
fn below(count: u64, mean: f64) -> f64 {
    let mut term = (-mean).exp();
    let mut sum = 0.0;
    for number in 0..count {
        sum += term;
        term *= mean / (number + 1) as f64;
    }
    sum
}

/// Where a growing function reaches `wanted`.
fn solved(grows: impl Fn(f64) -> f64, wanted: f64) -> f64 {
    let (mut low, mut high) = (0.0, 700.0);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if grows(middle) < wanted { low = middle } else { high = middle }
    }
    low
}

/// How long alarms took.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Delays {
    pub(super) p50: u64,
    pub(super) p90: u64,
    pub(super) p99: u64,
}

impl Delays {
    pub(super) fn of(mut delays: Vec<u64>) -> Self {
        delays.sort_unstable();
        let at = |percent: usize| {
            delays.get((delays.len() * percent / 100).min(delays.len().saturating_sub(1))).copied().unwrap_or(0)
        };
        Self { p50: at(50), p90: at(90), p99: at(99) }
    }
}

/// What `work` makes of each number, in their order, on all processors.
pub(super) fn shared<T: Send>(count: u64, work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let worker = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let result = work(number);
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((number, result));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_tables() {
        for (count, low, high) in [(0, 0.0, 3.689), (1, 0.025, 5.572), (10, 4.795, 18.390)] {
            let found = interval(count);
            assert!((found.0 - low).abs() < 1e-3 && (found.1 - high).abs() < 1e-3, "{count}: {found:?}");
        }
    }

    #[test]
    fn shared_work_comes_back_in_order() {
        assert_eq!(shared(100, |number| number * 2), (0..100).map(|number| number * 2).collect::<Vec<_>>());
    }
}
