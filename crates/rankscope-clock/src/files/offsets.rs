//! `offsets.jsonl`: where every node's clock stood in every round, a line a node and round.
//!
//! The origin took `offset_ns` to hold in the middle of the window that the line gives, on that node's clock. Ours holds at
//! `at_ns`, and the window written is the round's, laid around that instant, so that both are the same. Every digit of an
//! offset is written. A node that hangs on no edge has a line, too: `"reachable": false`, and its numbers are zeros that
//! mean nothing.

use std::collections::BTreeMap;

use rankscope_time::Span;
use serde::{Deserialize, Serialize};

use super::SCHEMA;
use super::lines::{DamagedLine, each_line, line};
use super::nanos::Nanos;
use super::parts::{believable, bounded, finite, interval, rates};
use crate::nodes::{NodeEstimate, Solution};
use crate::{HostInstant, NodeId};

/// The first line of a file of offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetsHeader {
    /// All nodes.
    pub nodes: Vec<NodeOrigin>,
    /// Whose clock offsets are against.
    pub reference: Option<NodeId>,
    /// What tells this run from others.
    pub run_id: Option<String>,
}

/// When a node's collector started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeOrigin {
    /// Which node.
    pub node: NodeId,
    /// On its wall clock.
    pub start_walltime_ns: Option<i64>,
    /// On its accelerator's clock.
    pub start_gpu_ns: Option<i64>,
}

/// One node in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffsetRow {
    /// Number of the round.
    pub round: u64,
    /// Number of the window.
    pub window_id: u64,
    /// Length of the round.
    pub window: Span,
    /// Which node.
    pub node: NodeId,
    /// Where its clock stood; none if it hangs on no edge.
    pub estimate: Option<NodeEstimate>,
    /// Whether an edge of the node was measured over TCP.
    pub over_tcp: bool,
}

/// A file of offsets, as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OffsetsFile {
    /// The last header.
    pub header: Option<OffsetsHeader>,
    /// In the order of the file.
    pub rows: Vec<OffsetRow>,
    /// Lines passed over.
    pub damaged: Vec<DamagedLine>,
}

impl OffsetRow {
    /// The lines of a round that took `window`.
    pub fn of_solution(round: u64, window: Span, solution: &Solution) -> impl Iterator<Item = Self> {
        let row = move |node: NodeId, estimate| {
            let over_tcp = solution.over_tcp.iter().any(|edge| edge.src == node || edge.dst == node);
            Self { round, window_id: round, window, node, estimate, over_tcp }
        };
        let placed = solution.nodes.iter().map(move |estimate| row(estimate.node, Some(unless_idle(*estimate))));
        placed.chain(solution.unreachable.iter().map(move |node| row(*node, None)))
    }
}

/// A bound this far from its offset is what remains where edges bound nothing.
const IDLE_NS: i64 = 86_400_000_000_000;

/// The estimate without a bound that says nothing.
fn unless_idle(mut estimate: NodeEstimate) -> NodeEstimate {
    let reach = Span::from_nanos(IDLE_NS);
    if estimate.offset - estimate.bound.lo > reach {
        estimate.bound.lo = Span::from_nanos(i64::MIN);
    }
    if estimate.bound.hi - estimate.offset > reach {
        estimate.bound.hi = Span::MAX;
    }
    estimate
}

/// The header as a line.
pub fn encode_offsets_header(header: &OffsetsHeader) -> String {
    let nodes = header.nodes.iter().map(|node| NodeRow {
        node_id: node.node.0,
        start_walltime_ns: node.start_walltime_ns.map(Nanos),
        start_gpu_ns: node.start_gpu_ns.map(Nanos),
    });
    line(&HeaderRow {
        meta: true,
        nodes: nodes.collect(),
        schema: Some(SCHEMA),
        reference: header.reference.map(|node| node.0),
        run_id: header.run_id.clone(),
    })
}

/// The row as a line.
pub fn encode_offset(row: &OffsetRow) -> String {
    line(&Row::of(row))
}

/// Reads a file of offsets: ours, the origin's, or its older rows that hold only `midpoint_sys_ns`, `offset_ns` and `node_id`.
pub fn read_offsets(bytes: &[u8]) -> OffsetsFile {
    let mut file = OffsetsFile::default();
    let mut counted: BTreeMap<u32, u64> = BTreeMap::new();
    let damaged = each_line(bytes, |text| {
        match serde_json::from_slice::<Row>(text) {
            Ok(row) => {
                let next = counted.entry(row.node_id).or_default();
                file.rows.push(row.offset(*next)?);
                *next += 1;
            }
            Err(not_a_row) => {
                let header = serde_json::from_slice::<HeaderRow>(text).ok().filter(|header| header.meta);
                file.header = Some(header.ok_or_else(|| not_a_row.to_string())?.header());
            }
        }
        Ok(())
    });
    file.damaged = damaged;
    file
}

/// The rounds that `rows` are of, as far as rows tell: edges left out, jumps and loops are not in files. In order of time on
/// the clock of each round's first node.
pub fn solutions(rows: &[OffsetRow]) -> Vec<Solution> {
    let mut rounds: BTreeMap<u64, Solution> = BTreeMap::new();
    for row in rows {
        let round = rounds.entry(row.round).or_default();
        match row.estimate {
            // A master that took over may have solved a round that its predecessor had solved.
            Some(estimate) if round.nodes.iter().all(|known| known.node != row.node) => round.nodes.push(estimate),
            Some(_) => {}
            None => round.unreachable.push(row.node),
        }
    }
    let mut rounds: Vec<Solution> = rounds.into_values().collect();
    rounds.iter_mut().for_each(|round| round.nodes.sort_unstable_by_key(|estimate| estimate.node));
    rounds.sort_by_key(|round| round.nodes.first().map(|estimate| estimate.at));
    rounds
}

#[derive(Serialize, Deserialize)]
struct HeaderRow {
    meta: bool,
    #[serde(default)]
    nodes: Vec<NodeRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
}

impl HeaderRow {
    fn header(self) -> OffsetsHeader {
        let nodes = self.nodes.into_iter().map(|row| NodeOrigin {
            node: NodeId(row.node_id),
            start_walltime_ns: row.start_walltime_ns.map(|ns| ns.0),
            start_gpu_ns: row.start_gpu_ns.map(|ns| ns.0),
        });
        OffsetsHeader { nodes: nodes.collect(), reference: self.reference.map(NodeId), run_id: self.run_id }
    }
}

#[derive(Serialize, Deserialize)]
struct NodeRow {
    node_id: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_walltime_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_gpu_ns: Option<Nanos>,
}

#[derive(Serialize, Deserialize)]
struct Row {
    round_id: Option<u64>,
    window_id: Option<u64>,
    window_start_ns: Option<Nanos>,
    window_end_ns: Option<Nanos>,
    node_id: u32,
    offset_ns: Nanos,
    #[serde(default)]
    drift_ppm: f64,
    residual: Option<f64>,
    #[serde(default = "yes")]
    reachable: bool,
    #[serde(default = "yes")]
    converged: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skew_ppb: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_lo_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_hi_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skew_lo_ppb: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skew_hi_ppb: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sigma_ns: Option<f64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    degraded: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    tcp: bool,
    #[serde(default, skip_serializing)]
    midpoint_sys_ns: Option<Nanos>,
}

fn yes() -> bool {
    true
}

impl Row {
    fn of(row: &OffsetRow) -> Self {
        let half = Span::from_nanos(row.window.as_nanos() / 2);
        let start = row.estimate.map_or(HostInstant::from_nanos_since_epoch(0), |estimate| estimate.at - half);
        let estimate = row.estimate.as_ref();
        Self {
            round_id: Some(row.round),
            window_id: Some(row.window_id),
            window_start_ns: Some(Nanos(start.nanos_since_epoch())),
            window_end_ns: Some(Nanos((start + row.window).nanos_since_epoch())),
            node_id: row.node.0,
            offset_ns: Nanos(estimate.map_or(0, |estimate| estimate.offset.as_nanos())),
            drift_ppm: estimate.map_or(0.0, |estimate| estimate.skew_ppb / 1e3),
            residual: Some(estimate.and_then(|estimate| finite(estimate.residual_ns)).unwrap_or(0.0)),
            reachable: estimate.is_some(),
            converged: estimate.is_some(),
            at_ns: estimate.map(|estimate| Nanos(estimate.at.nanos_since_epoch())),
            skew_ppb: estimate.map(|estimate| estimate.skew_ppb),
            bound_lo_ns: estimate.and_then(|estimate| bounded(estimate.bound.lo)),
            bound_hi_ns: estimate.and_then(|estimate| bounded(estimate.bound.hi)),
            skew_lo_ppb: estimate.and_then(|estimate| believable(estimate.skew_bound_ppb.0)),
            skew_hi_ppb: estimate.and_then(|estimate| believable(estimate.skew_bound_ppb.1)),
            sigma_ns: estimate.and_then(|estimate| finite(estimate.sigma_ns)),
            degraded: estimate.is_some_and(|estimate| estimate.degraded),
            tcp: row.over_tcp,
            midpoint_sys_ns: None,
        }
    }

    /// `next` numbers a row that has no number.
    fn offset(&self, next: u64) -> Result<OffsetRow, String> {
        let (start, end) = (self.window_start_ns.map(|ns| ns.0), self.window_end_ns.map(|ns| ns.0));
        let window_ns = start.zip(end).map_or(0, |(start, end)| end.saturating_sub(start));
        if window_ns < 0 {
            return Err("the window ends before it starts".to_owned());
        }
        let round = self.round_id.unwrap_or(next);
        Ok(OffsetRow {
            round,
            window_id: self.window_id.unwrap_or(round),
            window: Span::from_nanos(window_ns),
            node: NodeId(self.node_id),
            estimate: if self.reachable { Some(self.estimate(start, window_ns)?) } else { None },
            over_tcp: self.tcp,
        })
    }

    fn estimate(&self, start: Option<i64>, window_ns: i64) -> Result<NodeEstimate, String> {
        let middle = start.map(|start| start.saturating_add(window_ns / 2));
        let at = self.at_ns.or(self.midpoint_sys_ns).map(|ns| ns.0).or(middle);
        Ok(NodeEstimate {
            node: NodeId(self.node_id),
            at: HostInstant::from_nanos_since_epoch(at.ok_or("the time of the offset is missing")?),
            offset: Span::from_nanos(self.offset_ns.0),
            skew_ppb: self.skew_ppb.unwrap_or(self.drift_ppm * 1e3),
            bound: interval(self.bound_lo_ns, self.bound_hi_ns)?,
            skew_bound_ppb: rates(self.skew_lo_ppb, self.skew_hi_ppb),
            sigma_ns: self.sigma_ns.unwrap_or(f64::INFINITY),
            residual_ns: self.residual.unwrap_or(0.0),
            degraded: self.degraded,
        })
    }
}

#[cfg(test)]
mod tests;
