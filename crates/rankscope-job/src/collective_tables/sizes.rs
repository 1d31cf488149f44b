//! Transfer times by size, beside the line through them: what a collective takes however small it is, and what each byte adds.
//!
//! The line is that of Theil and Sen through the medians of the size classes, so that a class that is far off moves it little: a slope for
//! each pair of classes, of which the median counts, and then the median of what is left at no bytes. Nothing takes less than no time: where
//! that is what is left, the line begins at zero.

use std::collections::BTreeMap;

use rankscope_collectives::Kind;
use rankscope_document::{LineFit, SizeClassRow};

use super::Gathers;
use super::seen::{Scene, Seen};
use super::spread::{Spread, median};

/// Different sizes up to which each is a class; of more, classes are powers of two.
const SIZES_MAX: usize = 64;

/// Size classes without which there is no line: two points lie on a line whatever they are.
const CLASSES_MIN: usize = 3;

#[derive(Default)]
pub(super) struct Sizes {
    /// Bytes and transfer of each, by process group and kind.
    rows: BTreeMap<(usize, Kind), Sized>,
}

#[derive(Default)]
struct Sized {
    size: u32,
    list: Vec<(u64, i64)>,
}

/// One size class.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Class {
    bytes: u64,
    min_bytes: u64,
    max_bytes: u64,
    count: u64,
    transfer_ns: f64,
}

/// `latency_ns + bytes * ns_per_byte`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    latency_ns: f64,
    ns_per_byte: f64,
}

impl<'a> Gathers<'a> for Sizes {
    fn add(&mut self, _: &Scene<'a>, seen: &Seen<'a>) {
        let transfer_ns = seen.arrival.transfer_ns;
        let Some(bytes) = seen.bytes.filter(|bytes| *bytes > 0 && transfer_ns > 0 && seen.is_matched()) else { return };
        let sized = self.rows.entry((seen.group(), seen.first.kind)).or_default();
        sized.size = seen.size;
        sized.list.push((bytes, transfer_ns));
    }
}

impl Sizes {
    /// By process group and kind, and then by size.
    pub(super) fn rows(self, scene: &Scene<'_>) -> Vec<SizeClassRow> {
        let mut rows = Vec::new();
        for ((group, kind), Sized { size, list }) in self.rows {
            let classes = classes(list);
            let (line, fit) = line(&classes);
            for class in &classes {
                let line_ns = line.map(|line| line.at(class.bytes));
                rows.push(SizeClassRow {
                    process_group: scene.groups[group].label.clone(),
                    kind: kind.name().into(),
                    group_size: size,
                    bytes: class.bytes,
                    min_bytes: class.min_bytes,
                    max_bytes: class.max_bytes,
                    count: class.count,
                    transfer_median_ns: class.transfer_ns,
                    line_ns,
                    over_line: line_ns.map(|ns| class.transfer_ns / ns - 1.0),
                    latency_ns: line.map(|line| line.latency_ns),
                    bandwidth_gbps: line.map(|line| line.ns_per_byte.recip()),
                    sizes: classes.len() as u64,
                    fit: fit.clone(),
                });
            }
        }
        rows
    }
}

/// The classes of sizes and transfers, ascending.
fn classes(mut list: Vec<(u64, i64)>) -> Vec<Class> {
    list.sort_unstable();
    let sizes = list.chunk_by(|a, b| a.0 == b.0).count();
    let same = |a: &(u64, i64), b: &(u64, i64)| if sizes <= SIZES_MAX { a.0 == b.0 } else { a.0.ilog2() == b.0.ilog2() };
    let class = |chunk: &[(u64, i64)]| {
        let transfer = Spread::of(chunk.iter().map(|(_, transfer_ns)| *transfer_ns as f64))?;
        Some(Class {
            bytes: chunk[chunk.len() / 2].0,
            min_bytes: chunk[0].0,
            max_bytes: chunk[chunk.len() - 1].0,
            count: chunk.len() as u64,
            transfer_ns: transfer.median,
        })
    };
    list.chunk_by(same).filter_map(class).collect()
}

/// The line through `classes`, and how it came about or why it did not.
fn line(classes: &[Class]) -> (Option<Line>, LineFit) {
    if classes.len() < CLASSES_MIN {
        return (None, LineFit::TooFewSizes);
    }
    let middle = |mut values: Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        median(&values).unwrap_or_default()
    };
    let pairs = classes.iter().enumerate().flat_map(|(at, a)| classes[at + 1..].iter().map(move |b| (a, b)));
    let slope = |(a, b): (&Class, &Class)| (b.transfer_ns - a.transfer_ns) / (b.bytes - a.bytes) as f64;
    let ns_per_byte = middle(pairs.map(slope).collect());
    if ns_per_byte <= 0.0 {
        return (None, LineFit::NoGrowth);
    }
    let latency_ns = middle(classes.iter().map(|class| class.transfer_ns - ns_per_byte * class.bytes as f64).collect());
    if latency_ns >= 0.0 {
        return (Some(Line { latency_ns, ns_per_byte }), LineFit::TheilSen);
    }
    let ns_per_byte = middle(classes.iter().map(|class| class.transfer_ns / class.bytes as f64).collect());
    (Some(Line { latency_ns: 0.0, ns_per_byte }), LineFit::ThroughZero)
}

impl Line {
    fn at(self, bytes: u64) -> f64 {
        self.latency_ns + self.ns_per_byte * bytes as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn through(points: &[(u64, i64)]) -> (Option<Line>, LineFit) {
        line(&classes(points.to_vec()))
    }

    proptest! {
        #[test]
        fn a_line_is_found_again_though_one_class_is_far_off(
            latency_ns in 1_000i64..100_000, ns_per_kib in 1i64..100, sizes in prop::collection::btree_set(1u64..4_000, 5..40),
            which in any::<prop::sample::Index>(), off_ns in 1i64..10_000_000,
        ) {
            let sizes: Vec<u64> = sizes.into_iter().collect();
            let mut points: Vec<(u64, i64)> = sizes.iter().map(|kib| (kib * 1_024, latency_ns + *kib as i64 * ns_per_kib)).collect();
            let (line, fit) = through(&points);
            let line = line.unwrap();
            prop_assert_eq!(fit, LineFit::TheilSen);
            prop_assert!((line.latency_ns - latency_ns as f64).abs() < 1e-3 * latency_ns as f64);
            prop_assert!((line.ns_per_byte * 1_024.0 / ns_per_kib as f64 - 1.0).abs() < 1e-6);
            let off = which.index(points.len());
            points[off].1 += off_ns;
            let (moved, _) = through(&points);
            // With five classes, four of the ten slopes are of the one that is off.
            let moved = moved.unwrap();
            prop_assert!((moved.ns_per_byte / line.ns_per_byte - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn two_sizes_make_no_line_and_a_falling_one_is_none() {
        assert_eq!(through(&[(10, 5), (20, 6), (20, 7)]), (None, LineFit::TooFewSizes));
        assert_eq!(through(&[(10, 7), (20, 6), (30, 5)]), (None, LineFit::NoGrowth));
        let steep = Line { latency_ns: 0.0, ns_per_byte: 1.0 };
        assert_eq!(through(&[(10, 5), (20, 20), (30, 45)]), (Some(steep), LineFit::ThroughZero));
    }

    #[test]
    fn many_sizes_are_put_into_classes() {
        let classes = classes((1..=100).map(|bytes| (bytes, 1_000 + bytes as i64)).collect());
        assert_eq!(classes.len(), 7);
        assert_eq!(classes.iter().map(|class| class.count).sum::<u64>(), 100);
        assert_eq!((classes[6].min_bytes, classes[6].max_bytes, classes[6].count), (64, 100, 37));
    }
}
