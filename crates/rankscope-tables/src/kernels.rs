//! Kernels by name, stream and the operator that launched them.

use rankscope_trace::{StrId, Trace, Track, TrackId, TrackKey, TrackKind};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::attribution::dur_ns;
use crate::rows::join_rows;
use crate::{Attribution, Category, Spread};

/// All runs of one kernel on one stream for one sort of operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelRow {
    /// The operator that launched it, or the call where no operator is around that; none where nothing tells.
    pub parent_op: Option<String>,
    /// The sort of that operator.
    pub category: Category,
    /// The kernel's name.
    pub name: String,
    /// The stream, as the file writes it; where there are streams of several devices, `DEVICE:STREAM`.
    pub stream: String,
    /// How long it ran.
    pub time: Spread,
}

/// The kernels of `trace`, those that ran longest in all first; ties by name, operator and stream.
pub fn kernels(trace: &Trace, attribution: &Attribution) -> Vec<KernelRow> {
    type Key = (Option<(StrId, Category)>, StrId, TrackId);
    let mut sums: FxHashMap<Key, Spread> = FxHashMap::default();
    for one in &attribution.work {
        let at = one.work.0 as usize;
        let owner = one.owner.name(trace).map(|name| (name, attribution.owners.category(one.owner)));
        let key = (owner, trace.spans.name[at], trace.spans.track[at]);
        sums.entry(key).or_default().add(dur_ns(trace, one.work));
    }
    let text = |name: StrId| trace.strings.text(name).to_owned();
    let row = |((owner, name, track), time): (Key, Spread)| KernelRow {
        parent_op: owner.map(|(name, _)| text(name)),
        category: owner.map_or(Category::Other, |(_, category)| category),
        name: text(name),
        stream: stream(trace, track),
        time,
    };
    let mut rows: Vec<KernelRow> = sums.into_iter().map(row).collect();
    sort(&mut rows);
    rows
}

/// Adds the rows of another stretch of time.
pub(crate) fn join(rows: &mut Vec<KernelRow>, later: Vec<KernelRow>) {
    let key = |row: &KernelRow| (row.parent_op.clone(), row.name.clone(), row.stream.clone(), row.category);
    join_rows(rows, later, key, |row, more| row.time.join(more.time));
    sort(rows);
}

fn sort(rows: &mut [KernelRow]) {
    rows.sort_by(|a, b| {
        let key = |row: &KernelRow| std::cmp::Reverse(row.time.sum_ns);
        (key(a), &a.name, &a.parent_op, &a.stream, a.category).cmp(&(key(b), &b.name, &b.parent_op, &b.stream, b.category))
    });
}

/// The number or name of the stream that is `track`, with that of its device where there are streams of several: each counts its own.
pub(crate) fn stream(trace: &Trace, track: TrackId) -> String {
    let key = |track: TrackId| match trace.tracks.get(track).key {
        TrackKey::Number(number) => number.to_string(),
        TrackKey::Text(text) => trace.strings.text(text).to_owned(),
    };
    let device = trace.tracks.get(track).parent;
    let is_elsewhere = |(_, other): (TrackId, &Track)| other.kind == TrackKind::Stream && other.parent != device;
    match device.filter(|_| trace.tracks.iter().any(is_elsewhere)) {
        Some(device) => format!("{}:{}", key(device), key(track)),
        None => key(track),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    #[test]
    fn streams_of_two_devices_with_one_number_are_two() {
        let mut made = Made::default();
        made.launch("cudaLaunchKernel", 0, 2, 1);
        made.kernel("k", 7, 10, 5, 1);
        let streams = |made: &Made| -> Vec<(String, i64)> {
            let rows = kernels(&made.trace, &Attribution::of(&made.trace));
            rows.into_iter().map(|row| (row.stream, row.time.sum_ns)).collect()
        };
        assert_eq!(streams(&made), [("7".to_owned(), 5_000)]);
        made.launch("cudaLaunchKernel", 20, 2, 2);
        made.on_other_device(3, "k", 7, 30, 9, 2);
        assert_eq!(streams(&made), [("3:7".to_owned(), 9_000), ("0:7".to_owned(), 5_000)]);
    }

    #[test]
    fn a_graph_is_one_launch_of_many_kernels() {
        let mut made = Made::default();
        made.operator("my::step", 0, 50);
        made.launch("cudaGraphLaunch", 10, 5, 9);
        for (name, start_us) in [("gemm", 20), ("gemm", 40), ("add", 60)] {
            made.kernel(name, 7, start_us, 10, 9);
        }
        let rows = kernels(&made.trace, &Attribution::of(&made.trace));
        let told: Vec<_> = rows.iter().map(|row| (row.parent_op.as_deref(), row.name.as_str(), row.time.count)).collect();
        assert_eq!(told, [(Some("my::step"), "gemm", 2), (Some("my::step"), "add", 1)]);
    }
}
