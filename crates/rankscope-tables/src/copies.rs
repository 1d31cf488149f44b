//! Copies and fills by direction and name: how many, how much, how fast.
//!
//! Bandwidth is of those alone whose bytes are recorded and that took any time; ROCm does some copies with kernels, of which it
//! records no bytes.

use rankscope_analyze::{Class, Direction, Work};
use rankscope_trace::{StrId, Trace};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::rows::join_rows;

/// All copies or fills of one name in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyRow {
    /// Which way they went; none of fills.
    #[serde(with = "crate::stored::direction")]
    pub direction: Option<Direction>,
    /// The name.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Sum of their lengths, in nanoseconds.
    pub sum_ns: i64,
    /// Bytes moved, as far as they are recorded.
    pub bytes: u64,
    /// How fast those were whose bytes are recorded.
    pub bandwidth: Bandwidth,
}

/// How fast some copies were, in bytes per nanosecond: decimal gigabytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their lengths, in nanoseconds.
    pub sum_ns: i64,
    /// Sum of the bandwidths of each.
    pub sum: f64,
    /// The greatest of them.
    pub max: f64,
}

impl Bandwidth {
    /// Of all bytes in all time; none of none.
    pub fn of_all(&self) -> Option<f64> {
        (self.count > 0).then(|| self.bytes as f64 / self.sum_ns as f64)
    }

    /// The mean of those of each copy, small ones counting as much as great ones; none of none.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The greatest; none of none.
    pub fn greatest(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }

    fn add(&mut self, bytes: u64, ns: i64) {
        let bandwidth = bytes as f64 / ns as f64;
        self.join(Self { count: 1, bytes, sum_ns: ns, sum: bandwidth, max: bandwidth });
    }

    fn join(&mut self, others: Self) {
        self.count += others.count;
        self.bytes = self.bytes.saturating_add(others.bytes);
        self.sum_ns = self.sum_ns.saturating_add(others.sum_ns);
        self.sum += others.sum;
        self.max = self.max.max(others.max);
    }
}

/// The copies and fills among the device work of `trace`, classed as `work`; those that took longest in all first.
pub fn copies(trace: &Trace, work: &[Work]) -> Vec<CopyRow> {
    let mut rows: FxHashMap<(Option<Direction>, StrId), CopyRow> = FxHashMap::default();
    for piece in work {
        let direction = match piece.class {
            Class::Memcpy(direction) => Some(direction),
            Class::Memset => None,
            Class::Compute | Class::Comm => continue,
        };
        let name = trace.spans.name[piece.span.0 as usize];
        let row = rows.entry((direction, name)).or_insert_with(|| CopyRow {
            direction,
            name: trace.strings.text(name).to_owned(),
            count: 0,
            sum_ns: 0,
            bytes: 0,
            bandwidth: Bandwidth::default(),
        });
        let ns = piece.end_ns.saturating_sub(piece.start_ns);
        row.count += 1;
        row.sum_ns = row.sum_ns.saturating_add(ns);
        if let Some(bytes) = trace.bytes.get(piece.span) {
            row.bytes = row.bytes.saturating_add(bytes);
            if ns > 0 {
                row.bandwidth.add(bytes, ns);
            }
        }
    }
    let mut rows: Vec<CopyRow> = rows.into_values().collect();
    sort(&mut rows);
    rows
}

/// Adds the rows of a later export of the same rank.
pub(crate) fn join(rows: &mut Vec<CopyRow>, later: Vec<CopyRow>) {
    join_rows(
        rows,
        later,
        |row| (row.direction, row.name.clone()),
        |row, more| {
            row.count += more.count;
            row.sum_ns = row.sum_ns.saturating_add(more.sum_ns);
            row.bytes = row.bytes.saturating_add(more.bytes);
            row.bandwidth.join(more.bandwidth);
        },
    );
    sort(rows);
}

fn sort(rows: &mut [CopyRow]) {
    rows.sort_by(|a, b| (b.sum_ns, a.direction, &a.name).cmp(&(a.sum_ns, b.direction, &b.name)));
}

#[cfg(test)]
mod tests {
    use rankscope_analyze::Classes;

    use super::*;
    use crate::made::Made;

    #[test]
    fn bandwidth_is_of_what_has_bytes_and_takes_time() {
        let mut made = Made::default();
        for (start_us, dur_us, bytes) in [(0, 1, Some(2_000)), (10, 3, Some(12_000)), (20, 0, Some(5)), (30, 7, None)] {
            let copy = made.on_device("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7, start_us, dur_us, 0);
            if let Some(bytes) = bytes {
                made.trace.bytes.push(copy, bytes);
            }
        }
        made.on_device("gpu_memset", "Memset (Device)", 7, 50, 2, 0);
        made.kernel("gemm", 7, 60, 100, 0);
        let rows = copies(&made.trace, &Classes::default().work(&made.trace).1);
        let [copies, fills] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((copies.direction, copies.count, copies.sum_ns), (Some(Direction::HostToDevice), 4, 11_000));
        assert_eq!(copies.bytes, 14_005);
        let bandwidth = copies.bandwidth;
        assert_eq!((bandwidth.of_all(), bandwidth.mean(), bandwidth.greatest()), (Some(3.5), Some(3.0), Some(4.0)));
        assert_eq!((fills.direction, fills.count, fills.bandwidth.mean()), (None, 1, None));
        let mut twice = rows.clone();
        join(&mut twice, rows);
        assert_eq!((twice[0].count, twice[0].bytes, twice[0].bandwidth.of_all()), (8, 28_010, Some(3.5)));
    }
}
