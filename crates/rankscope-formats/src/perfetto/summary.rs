//! What a collapsed group shows: how busy it is over time, as a counter.
//!
//! The share of each bin in which anything runs. A group with device work is as busy as its devices, one without as its
//! operators and runtime calls, and one without those as any span of it; annotations and Python frames would cover everything
//! else. Nothing is added to the spans: a sum over the file's slices stays the sum over its sources.

use rankscope_trace::{CategoryKind, Trace};

use super::derived::{Derived, Unit};

/// Bins of one group at most; a bin is never shorter than [`BIN_MIN_NS`].
const BINS_MAX: u64 = 2_000;
/// Below this a single kernel fills a bin, and the row itself shows more.
const BIN_MIN_NS: u64 = 10_000;

/// How busy `spans` of `trace` keep what they lie on; none where there are none.
pub(super) fn busy(trace: &Trace, spans: impl Iterator<Item = u32> + Clone) -> Option<Derived> {
    let units = [Unit::DeviceBusy, Unit::OperatorsBusy, Unit::SpansBusy];
    let counted = |unit| spans.clone().filter(move |at| counts(unit, trace, *at));
    let unit = units.into_iter().find(|unit| counted(*unit).next().is_some())?;
    let time = |at: u32| {
        let start = trace.spans.start_ns[at as usize];
        (start, start.saturating_add(trace.spans.dur_ns[at as usize]))
    };
    Some(Derived { unit, samples: shares(&merge(counted(unit).map(time).collect()))? })
}

fn counts(unit: Unit, trace: &Trace, span: u32) -> bool {
    let category = trace.categories.get(usize::from(trace.spans.category[span as usize]));
    let kind = category.map_or(CategoryKind::Other, |category| category.kind);
    match unit {
        Unit::DeviceBusy => kind.is_device_work(),
        Unit::OperatorsBusy => matches!(kind, CategoryKind::CpuOp | CategoryKind::Runtime | CategoryKind::Driver),
        Unit::SpansBusy => true,
        Unit::Bytes => false,
    }
}

/// The union, in order of time.
fn merge(mut times: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    times.sort_unstable();
    times.dedup_by(|next, last| {
        let touches = next.0 <= last.1;
        if touches {
            last.1 = last.1.max(next.1);
        }
        touches
    });
    times
}

/// Percent of each bin that `times`, which are apart and in order, cover; only where it changes, and zero at the end.
fn shares(times: &[(i64, i64)]) -> Option<Vec<(i64, f64)>> {
    let (first, last) = (times.first()?.0, times.last()?.1);
    let width = (last.abs_diff(first) / BINS_MAX + 1).max(BIN_MIN_NS);
    let mut shares = Shares { first, width, samples: Vec::new() };
    let (mut bin, mut covered) = (0, 0);
    for (start, end) in times {
        let (mut from, end) = (start.abs_diff(first), end.abs_diff(first));
        loop {
            let at = from / width;
            if at > bin {
                shares.push(bin, covered);
                if at > bin + 1 {
                    shares.push(bin + 1, 0);
                }
                (bin, covered) = (at, 0);
            }
            let bin_end = (at + 1).saturating_mul(width);
            covered += end.min(bin_end) - from;
            if end <= bin_end {
                break;
            }
            from = bin_end;
        }
    }
    shares.push(bin, covered);
    shares.push(bin + 1, 0);
    Some(shares.samples)
}

/// Samples of bins under construction.
struct Shares {
    first: i64,
    width: u64,
    samples: Vec<(i64, f64)>,
}

impl Shares {
    fn push(&mut self, bin: u64, covered_ns: u64) {
        // Rounded up, so that a little work does not look like none.
        let percent = (u128::from(covered_ns) * 100).div_ceil(self.width.into()) as f64;
        if self.samples.last().is_none_or(|(_, before)| *before != percent) {
            self.samples.push((self.first.saturating_add_unsigned(bin.saturating_mul(self.width)), percent));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_gap_is_zero_and_a_full_bin_a_hundred() {
        let bin = |at| at * BIN_MIN_NS as i64;
        let samples = shares(&[(0, bin(1)), (bin(5), bin(11) / 2)]).unwrap();
        assert_eq!(samples, [(0, 100.0), (bin(1), 0.0), (bin(5), 50.0), (bin(6), 0.0)]);
    }

    #[test]
    fn the_ends_of_time_do_not_overflow() {
        let times = merge(vec![(i64::MIN, i64::MIN), (i64::MAX - 1, i64::MAX)]);
        assert!(shares(&times).is_some());
        assert!(shares(&[(i64::MIN, i64::MAX)]).is_some());
    }

    proptest! {
        #[test]
        fn the_area_is_the_covered_time(spans in prop::collection::vec((0i64..2_000_000_000, 0i64..90_000_000), 1..80)) {
            let times = merge(spans.into_iter().map(|(start, dur)| (start, start + dur)).collect());
            let covered: i64 = times.iter().map(|(start, end)| end - start).sum();
            let samples = shares(&times).unwrap();
            let area: f64 = samples.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64 * pair[0].1 / 100.0).sum();
            let extent = (samples.last().unwrap().0 - samples[0].0) as f64;
            prop_assert!(area >= covered as f64 - 1.0 && area <= covered as f64 + extent / 100.0, "{area} for {covered}");
            prop_assert!(samples.iter().all(|(_, percent)| (0.0..=100.0).contains(percent)));
            prop_assert!(samples.is_sorted_by(|a, b| a.0 < b.0 && a.1 != b.1));
        }
    }
}
