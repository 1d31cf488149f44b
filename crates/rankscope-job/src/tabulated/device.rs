//! Device work.

use rankscope_analyze::Direction;
use rankscope_document::{
    BandwidthPoint, CopySummary, CounterSummary, KernelOverlap, KernelSummary, OverlapSummary, PeriodSummary, SequenceSummary,
    ShortKernelBin, ShortKernelSummary,
};
use rankscope_tables::{
    CopyRow, CounterRow, KernelRow, Level, Overlap, OverlapRow, PeriodRow, RankTables, SequenceRow, ShortKernelRow,
};

use super::share;

pub(super) fn kernel(row: &KernelRow) -> KernelSummary {
    KernelSummary {
        parent_op: row.parent_op.clone(),
        category: row.category.name().to_owned(),
        name: row.name.clone(),
        stream: row.stream.clone(),
        count: row.time.count,
        sum_ns: row.time.sum_ns,
        mean_ns: row.time.mean_ns(),
        min_ns: row.time.min_ns,
        max_ns: row.time.max_ns,
    }
}

pub(super) fn short_kernels(tables: &RankTables) -> Vec<ShortKernelSummary> {
    let summary = |row: &ShortKernelRow| ShortKernelSummary {
        parent_op: row.parent_op.clone(),
        input_dims: row.dims.clone(),
        input_strides: row.strides.clone(),
        concrete_inputs: row.concrete.clone(),
        name: row.name.clone(),
        count: row.time.count,
        sum_ns: row.time.sum_ns,
        mean_ns: row.time.mean_ns(),
        share: share(row.time.sum_ns, tables.kernel_ns),
    };
    tables.short_kernels.rows.iter().map(summary).collect()
}

pub(super) fn short_kernel_bin((from_ns, to_ns, count): (i64, i64, u64)) -> ShortKernelBin {
    ShortKernelBin { from_ns, to_ns, count }
}

pub(super) fn overlap(overlap: &Overlap) -> OverlapSummary {
    let kernel = |row: &OverlapRow| KernelOverlap {
        name: row.name.clone(),
        count: row.count,
        comm_ns: row.time.comm_ns,
        hidden_ns: row.time.hidden_ns,
        share: row.time.share(),
    };
    OverlapSummary {
        comm_ns: overlap.whole.comm_ns,
        hidden_ns: overlap.whole.hidden_ns,
        share: overlap.whole.share(),
        kernels: overlap.kernels.iter().map(kernel).collect(),
    }
}

pub(super) fn copies(row: &CopyRow) -> CopySummary {
    CopySummary {
        direction: row.direction.map_or("memset", direction).to_owned(),
        name: row.name.clone(),
        count: row.count,
        bytes: row.bytes,
        sum_ns: row.sum_ns,
        sized: row.bandwidth.count,
        gb_per_s: row.bandwidth.of_all(),
        mean_gb_per_s: row.bandwidth.mean(),
        max_gb_per_s: row.bandwidth.greatest(),
    }
}

/// The words of the keys of a rank's copies.
fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::HostToDevice => "host_to_device",
        Direction::DeviceToHost => "device_to_host",
        Direction::DeviceToDevice => "device_to_device",
        Direction::PeerToPeer => "peer_to_peer",
        Direction::Other => "other",
    }
}

pub(super) fn bandwidth_points(directions: &[(Option<Direction>, Vec<Level>)]) -> Vec<BandwidthPoint> {
    let points = directions.iter().flat_map(|(way, levels)| levels.iter().map(move |level| (way, level)));
    let point = |(way, level): (&Option<Direction>, &Level)| BandwidthPoint {
        direction: way.map_or("memset", direction).to_owned(),
        at_ns: level.at_ns,
        gb_per_s: level.level as f64 / 1e9,
    };
    points.map(point).collect()
}

pub(super) fn sequence(row: &SequenceRow) -> SequenceSummary {
    SequenceSummary { names: row.names.clone(), count: row.count, kernel_ns: row.kernel_ns }
}

pub(super) fn period(row: &PeriodRow) -> PeriodSummary {
    PeriodSummary {
        work: row.work,
        repetitions: row.repetitions,
        share: row.covered as f64 / row.all.max(1) as f64,
        at_ns: row.at_ns,
        mean_ns: row.time.mean_ns(),
        min_ns: row.time.min_ns,
        max_ns: row.time.max_ns,
        kernel_mean_ns: row.kernel.mean_ns(),
        first: row.first.clone(),
        marked_steps: row.marked_steps,
    }
}

pub(super) fn counter(row: &CounterRow) -> CounterSummary {
    CounterSummary {
        operator: row.operator.clone(),
        name: row.name.clone(),
        counter: row.counter.clone(),
        count: row.count,
        sum: row.sum,
        mean: row.mean(),
        min: row.min,
        max: row.max,
    }
}
