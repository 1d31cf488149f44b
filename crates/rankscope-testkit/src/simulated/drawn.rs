//! Jobs drawn from a seed: how many ranks, how they are arranged, how wrong their clocks are, and how bad a cause of a kind is.

use crate::Rng;
use crate::job::NodeClock;

use super::Job;
use super::cause::{Cause, CauseKind};
use super::layout::Layout;
use super::model::Part;

impl Job {
    /// A job of `seed` with a cause of `kind`, or none: 2 to 64 ranks in an arrangement in which the cause can be seen, wrong clocks.
    pub fn drawn(kind: Option<CauseKind>, seed: u64) -> Self {
        // Arrangements take turns, so that few seeds have all of them.
        let all = layouts(kind);
        let layout = all[(seed % all.len() as u64) as usize];
        Self::of(kind, seed, layout, &mut Rng::lane(seed, LANE ^ kind.map_or(0, |kind| 1 + kind as u64)))
    }

    /// Such a job of so many ranks, or as near to that as its arrangements come.
    pub fn drawn_of(kind: Option<CauseKind>, seed: u64, ranks: u32) -> Self {
        let rng = &mut Rng::lane(seed, LANE);
        let nearest = layouts(kind).iter().map(|layout| layout.ranks.abs_diff(ranks)).min();
        let fitting: Vec<Layout> =
            layouts(kind).iter().filter(|layout| Some(layout.ranks.abs_diff(ranks)) == nearest).copied().collect();
        let layout = *pick(rng, &fitting);
        Self::of(kind, seed, layout, rng)
    }

    fn of(kind: Option<CauseKind>, seed: u64, layout: Layout, rng: &mut Rng) -> Self {
        let clocks = (0..layout.nodes()).map(|node| if node == 0 { NodeClock::default() } else { clock(rng) }).collect();
        let cause = kind.map(|kind| cause(kind, &layout, rng));
        let (layers, microbatches) = if layout.pipeline > 1 { (1, 2 * layout.pipeline) } else { (2, 1) };
        let batch_bytes = if kind == Some(CauseKind::PageableCopies) { 8 << 20 } else { 64 << 10 };
        // Profilers record waits only where they are asked to.
        let sync_events = seed.is_multiple_of(2);
        Self { layout, layers, microbatches, batch_bytes, sync_events, clocks, cause, seed, ..Self::default() }
    }
}

fn clock(rng: &mut Rng) -> NodeClock {
    let within = |rng: &mut Rng, reach: u64| rng.below(2 * reach) as i64 - reach as i64;
    NodeClock { offset_ns: within(rng, 5_000_000), drift_ppb: within(rng, 20_000) }
}

fn cause(kind: CauseKind, layout: &Layout, rng: &mut Rng) -> Cause {
    let rank = rng.below(layout.ranks.into()) as u32;
    let mut between = |low: f64, high: f64| low + (high - low) * rng.unit();
    match kind {
        CauseKind::SlowKernel => {
            let factor = between(2.5, 4.0);
            Cause::SlowKernel { rank, part: *pick(rng, &SLOW_PARTS), factor }
        }
        CauseKind::SlowHost => Cause::SlowHost { rank, factor: between(8.0, 11.0) },
        CauseKind::SlowLink => {
            // Between two stages, or between the nodes of the first stage, whose gradients nothing hides.
            let last = if layout.nodes() == layout.pipeline { layout.nodes() - 1 } else { 1 };
            let first = rng.below(last.into()) as u32;
            Cause::SlowLink { nodes: (first, first + 1), factor: 6.0 + 4.0 * rng.unit() }
        }
        CauseKind::LateReceiver => Cause::LateReceiver { rank, factor: between(16.0, 24.0) },
        CauseKind::UnevenDocuments => {
            let factor = between(2.0, 3.5);
            Cause::UnevenDocuments { rank, factor, more_kernels: rng.below(2) == 1 }
        }
        // Only the first stage needs its batch at once.
        CauseKind::DataLoader => Cause::DataLoader { rank: layout.in_stage(rank, 0), ns: between(1e6, 4e6) as i64, every: 1 },
        CauseKind::PeriodicDataLoader => {
            Cause::DataLoader { rank: layout.in_stage(rank, 0), ns: between(6e6, 12e6) as i64, every: 4 }
        }
        CauseKind::HeavyStage => Cause::HeavyStage { stage: rng.below(layout.pipeline.into()) as u32, layers: 1 },
        CauseKind::ThrottledCard => Cause::ThrottledCard { rank, factor: between(1.12, 1.3) },
        CauseKind::GarbageCollection => Cause::GarbageCollection { ns: between(4e6, 8e6) as i64, every: 8 },
        CauseKind::PageableCopies => Cause::PageableCopies,
        CauseKind::Synchronization => Cause::Synchronization,
        CauseKind::TinyKernels => Cause::TinyKernels { count: 120 + rng.below(60) as u32 },
        CauseKind::LateReduction => Cause::LateReduction,
        CauseKind::Recompute => Cause::Recompute,
        CauseKind::UnevenExperts => Cause::UnevenExperts { rank, factor: between(1.5, 2.5) },
        CauseKind::FirstStep => Cause::FirstStep { ns: between(20e6, 60e6) as i64 },
    }
}

/// Arrangements in which a cause of `kind` shows.
fn layouts(kind: Option<CauseKind>) -> &'static [Layout] {
    match kind {
        Some(CauseKind::HeavyStage) => &PIPELINES,
        Some(CauseKind::UnevenExperts) => &EXPERTS,
        Some(CauseKind::SlowLink) => &LINKS,
        Some(CauseKind::LateReceiver) => &ONE_HOST,
        Some(CauseKind::LateReduction) => &DATA,
        _ => &ANY,
    }
}

const fn layout(ranks: u32, tensor: u32, pipeline: u32, gpus_per_node: u32) -> Layout {
    Layout { ranks, tensor, pipeline, experts: false, gpus_per_node }
}

const fn experts(ranks: u32, tensor: u32, pipeline: u32, gpus_per_node: u32) -> Layout {
    Layout { ranks, tensor, pipeline, experts: true, gpus_per_node }
}

/// Gradients are all that is exchanged, or nearly.
const DATA: [Layout; 8] = [
    layout(2, 1, 1, 1),
    layout(3, 1, 1, 1),
    layout(4, 1, 1, 2),
    layout(8, 1, 1, 4),
    layout(12, 1, 1, 4),
    layout(16, 2, 1, 8),
    layout(32, 1, 1, 8),
    layout(64, 4, 1, 8),
];
const PIPELINES: [Layout; 8] = [
    layout(2, 1, 2, 1),
    layout(3, 1, 3, 1),
    layout(4, 1, 4, 2),
    layout(8, 1, 4, 4),
    layout(12, 2, 3, 4),
    layout(16, 2, 4, 4),
    layout(32, 2, 4, 8),
    layout(64, 4, 4, 8),
];
const EXPERTS: [Layout; 8] = [
    experts(2, 1, 1, 1),
    experts(3, 1, 1, 1),
    experts(4, 1, 1, 2),
    experts(8, 1, 1, 4),
    experts(12, 1, 1, 4),
    experts(16, 1, 2, 8),
    experts(32, 2, 2, 8),
    experts(64, 4, 2, 8),
];
/// Clocks that agree without having been measured: who leaves last is certain.
const ONE_HOST: [Layout; 4] = [layout(3, 1, 1, 8), layout(4, 1, 1, 8), layout(6, 1, 1, 8), layout(8, 1, 1, 8)];
/// Several links between nodes, of which groups use different ones.
const LINKS: [Layout; 8] = [
    layout(3, 1, 3, 1),
    layout(8, 2, 2, 2),
    layout(8, 1, 4, 2),
    layout(12, 2, 3, 4),
    layout(16, 4, 2, 4),
    layout(16, 2, 4, 4),
    layout(32, 8, 2, 8),
    layout(64, 8, 4, 8),
];
const ANY: [Layout; 15] = [
    layout(2, 1, 1, 1),
    layout(3, 1, 1, 1),
    layout(4, 1, 1, 4),
    layout(6, 2, 1, 2),
    layout(8, 1, 1, 4),
    layout(8, 2, 1, 4),
    layout(8, 2, 2, 4),
    layout(12, 1, 1, 4),
    layout(12, 2, 3, 4),
    layout(16, 1, 1, 8),
    layout(16, 2, 2, 8),
    layout(16, 4, 2, 4),
    layout(32, 4, 2, 8),
    experts(32, 2, 2, 8),
    layout(64, 4, 2, 8),
];
const SLOW_PARTS: [Part; 4] = [Part::Attention, Part::Up, Part::Down, Part::Qkv];

fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.below(from.len() as u64) as usize]
}

const LANE: u64 = 0x6472_6177_6e00;
