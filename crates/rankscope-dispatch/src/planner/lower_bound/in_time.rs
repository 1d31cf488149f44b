//! Time that any plan of a layout must take for a pass: attention of the slowest rank, and both exchanges, one after the other.
//!
//! A plan whose slowest rank has between two loads has at least the work of the lower one, and moves at least what any plan moves whose
//! limits are the higher one. What moves leaves some rank: if all sent as much, each over the links it has at once, no exchange could
//! be shorter. What moves between nodes is what any plan moves in which nodes are ranks, and passes through their cards. So for every
//! two loads that follow each other there is a bound, and the least of them is one for all plans.
//!
//! Starts of messages and uplinks are not counted, nor that some ranks send more than others: it may be far below.

use std::collections::BTreeSet;

use rankscope_time::{Rank, Span};

use super::{cell_limits, lower_bound, split_lower_bound};
use crate::cost::Work;
use crate::network::{Level, Network};
use crate::planner::Pace;
use crate::planner::bounded::{Limits, Options};
use crate::{Batch, Error, Shard};

/// The plans of which a bound is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Least {
    /// Those with whole contexts.
    Whole,
    /// Those that split keys as well, with log-sum-exps of so many bytes.
    Split {
        /// Beside a query or an output.
        lse_bytes: u64,
    },
}

/// A lower bound on what [`Pace::takes`] says of any plan of `layout` that keeps the same limits as one of `loads`.
///
/// # Errors
/// Those of [`lower_bound`] and [`Limits::new`].
pub fn time_lower_bound(
    pace: &Pace<'_>,
    layout: &Batch,
    options: &Options,
    loads: &[u64],
    plans: Least,
) -> Result<Span, Error> {
    let limits = Limits::new(layout, &options.work, options.eps, &options.weights)?;
    let kept = limits.kept_by(loads);
    let highest = (0..kept.len()).map(|rank| kept[rank] as f64 / options.weight(rank)).filter(|level| level.is_finite());
    let highest = highest.fold(0.0, f64::max);
    let mean = limits.levels.mean;
    let tolerances = TOLERANCES.map(|eps| mean * (1.0 + eps)).into_iter().filter(|level| *level < highest);
    let mut reached = 0.0;
    let mut least = f64::INFINITY;
    for (level, limits) in tolerances.map(|level| (level, limits.levels.limits(level))).chain([(highest, kept)]) {
        let cells = cell_limits(layout, &options.work, &limits);
        let exchanges = exchanges_ns(pace.network, layout, &cells, |layout, cells| match plans {
            Least::Whole => lower_bound(layout, options.prices, cells),
            Least::Split { lse_bytes } => split_lower_bound(layout, options.prices, lse_bytes, cells),
        })?;
        let attention = attention_ns(pace, layout, options, reached)?;
        least = least.min(attention * pace.pass.attention_halves() as f64 / 2.0 + exchanges);
        reached = level;
    }
    // Times that were added up were each rounded, up or down.
    Ok(Span::from_nanos(((least * (1.0 - PRECISION) - ROUNDING_NS).max(0.0)).min(i64::MAX as f64) as i64))
}

/// Attention of a plan whose slowest rank has no less than `level`, and has the mean.
fn attention_ns(pace: &Pace<'_>, layout: &Batch, options: &Options, level: f64) -> Result<f64, Error> {
    let speed: f64 = (0..layout.world_size() as usize).map(|rank| options.weight(rank)).sum();
    let cells: f64 = layout.cells_at_home()?.iter().map(|cells| *cells as f64).sum();
    Ok(match &options.work {
        Work::Cells => {
            let flops = level.max(cells / speed) * 4.0 * f64::from(pace.rows.hidden_q);
            flops * 1e9 / pace.machine.attention_flops_per_second as f64
        }
        // How often the work is cut changes how much it is, but no kernel is faster than the fastest.
        Work::Time(table) => {
            let longest = layout.documents().map(|document| document.iter().map(|shard| shard.tokens).sum()).max();
            let rate = table.most_cells_per_nanosecond(longest.unwrap_or(0));
            level.max(if rate > 0.0 { cells / (rate * speed) } else { 0.0 })
        }
    })
}

/// Both exchanges, if every rank sent as much, and every card; `least` says what is moved within limits of cells.
fn exchanges_ns(
    network: &Network,
    layout: &Batch,
    cells: &[u64],
    least: impl Fn(&Batch, &[u64]) -> Result<u64, Error>,
) -> Result<f64, Error> {
    let (topology, ranks) = (&network.topology, layout.world_size());
    let rate = |level: Level| network.cost(level).bytes_per_second as f64;
    // What tables of small sizes say of the first bytes of a port in each exchange may be anything.
    let small = |level: Level| network.cost(level).small.points().last().map_or(0.0, |point| 2.0 * point.0 as f64);
    let through = |bytes: u64, ports: f64, small: f64, rate: f64| (bytes as f64 / ports - small).max(0.0) * 1e9 / rate;
    let all = least(layout, cells)?;
    let in_one_node = (1..ranks).all(|rank| topology.level(Rank(0), Rank(rank)) == Level::Node);
    if in_one_node {
        return Ok(through(all, f64::from(ranks.max(1)), small(Level::Node), rate(Level::Node)));
    }
    // A card is one port, whatever lies behind it.
    let (card, small_card) = (rate(Level::Rail).max(rate(Level::Spine)), small(Level::Rail) + small(Level::Spine));
    let by_rank = through(all, f64::from(ranks), small(Level::Node) + small_card, rate(Level::Node) + card);
    let cards: BTreeSet<_> = (0..ranks).map(Rank).map(|rank| (topology.node(rank), topology.nic(rank))).collect();
    let (nodes, limits) = as_nodes(network, layout, cells)?;
    let between = through(least(&nodes, &limits)?, cards.len() as f64, small_card, card);
    Ok(by_rank.max(between))
}

/// The layout and the limits where every node is a rank.
fn as_nodes(network: &Network, layout: &Batch, limits: &[u64]) -> Result<(Batch, Vec<u64>), Error> {
    let node = |rank: Rank| network.topology.node(rank);
    let many = (0..layout.world_size()).map(|rank| node(Rank(rank)) + 1).max().unwrap_or(1);
    let mut nodes = Batch::new(many)?;
    for document in layout.documents() {
        let at = |shard: &Shard| Shard { linear: Rank(node(shard.linear)), attention: Rank(node(shard.linear)), ..*shard };
        nodes.push(&document.iter().map(at).collect::<Vec<_>>())?;
    }
    let mut sums = vec![0_u64; many as usize];
    for (rank, limit) in (0..).zip(limits) {
        let sum = &mut sums[node(Rank(rank)) as usize];
        *sum = sum.saturating_add(*limit);
    }
    Ok((nodes, sums))
}

/// Between which loads plans are told apart, over the mean.
const TOLERANCES: [f64; 5] = [0.01, 0.02, 0.05, 0.1, 0.5];
/// Of sums of floating-point numbers.
const PRECISION: f64 = 1e-6;
/// Of a rank's attention and two exchanges.
const ROUNDING_NS: f64 = 4.0;
