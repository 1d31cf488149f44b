//! The clocks of a whole run from the files that its agents left: read, put into rounds, solved.
//!
//! Each step takes values and returns values: names and bytes become [`RunWindows`] and [`RunOffsets`], those become [`Solved`]
//! rounds or the [`Measured`] clock of each node. What was odd on the way is data ([`Oddity`]), never a reason to lose what was
//! good. Nothing here opens a path.
//!
//! ```
//! use rankscope_clock::NodeId;
//! use rankscope_clock::solved::{HowSolved, RunWindows, SolveError, Unreadable, solved};
//!
//! let file = r#"{"window_start_ns":0,"window_end_ns":1000000000,"node_id":0,"edges":[
//!     {"dst":1,"alpha":0.000001,"beta":5000,"pairs":100,"lost":0}]}"#.replace('\n', "");
//! let windows = RunWindows::read([("clock/probe_windows_node0.jsonl", file + "\n")])?;
//! let solved = solved(windows, &HowSolved::for_reference(NodeId(0)))?;
//! let node = solved.solutions[0].nodes.iter().find(|node| node.node == NodeId(1)).expect("an edge leads to it");
//! assert_eq!(node.offset.as_nanos(), 5_500, "in the middle of the window");
//! assert!(solved.oddities[0].to_string().contains("hold no bounds"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod files;
mod measured;
mod oddity;
mod witness;

use std::collections::BTreeSet;
use std::fmt;

use crate::files::{NodeOrigin, OffsetRow, OffsetsHeader, WindowsHeader};
use crate::nodes::{Agreement, PairSurplus, Solution, SolveOptions, agreement, solve};
use crate::rounds::{Round, Rounds, ease, rounds};
use crate::{Edge, NodeId, NodeWindow};

pub use files::{Readings, RunOffsets, RunWindows, Sought, Unreadable, WindowsReader};
pub use measured::{Measured, MeasuredClock, measured};
pub use oddity::{Oddity, Severity};
pub use witness::beside;

/// How the nodes of a run are placed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HowSolved {
    /// How each round is solved.
    pub round: SolveOptions,
    /// Weight of a new offset against the prediction of the round before: greater than 0 and at most 1, which uses the new
    /// offset alone.
    pub smoothing_factor: f64,
    /// Nodes 0 to this are expected, whether or not a file mentions them.
    pub nodes_expected: u32,
}

impl HowSolved {
    /// As usual, in the clock of `reference`.
    pub fn for_reference(reference: NodeId) -> Self {
        Self { round: SolveOptions::for_reference(reference), smoothing_factor: 1.0, nodes_expected: 0 }
    }
}

impl Default for HowSolved {
    /// As usual, in the clock of node 0.
    fn default() -> Self {
        Self::for_reference(NodeId(0))
    }
}

/// Why windows cannot be solved as asked. The caller asked for something that cannot be.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SolveError {
    /// The smoothing factor is out of its range.
    SmoothingFactor(f64),
    /// No window comes from the reference or measures it.
    NoReference {
        /// The reference.
        reference: NodeId,
        /// The nodes that are there.
        nodes: BTreeSet<NodeId>,
    },
}

impl SolveError {
    /// What is wrong with the value, without the value.
    pub fn reason(&self) -> String {
        match self {
            Self::SmoothingFactor(_) => "must be greater than 0 and at most 1".to_owned(),
            Self::NoReference { nodes, .. } => {
                format!("no window comes from this node or measures it; the nodes are {}", list(nodes))
            }
        }
    }
}

impl fmt::Display for SolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SmoothingFactor(factor) => write!(f, "smoothing factor {factor}: {}", self.reason()),
            Self::NoReference { reference, .. } => write!(f, "reference node {reference}: {}", self.reason()),
        }
    }
}

impl std::error::Error for SolveError {}

/// The clocks of all nodes in all rounds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Solved {
    /// The header of a file of `rows`.
    pub header: OffsetsHeader,
    /// A line for each node and round.
    pub rows: Vec<OffsetRow>,
    /// The rounds that the rows are of, in order of time.
    pub solutions: Vec<Solution>,
    /// How the edges of all rounds agree.
    pub agreement: Agreement,
    /// What was odd about the files, the rounds and the solutions.
    pub oddities: Vec<Oddity>,
}

/// Puts the windows of all nodes into rounds and solves them one after the other.
///
/// # Errors
/// [`SolveError`].
pub fn solved(mut read: RunWindows, how: &HowSolved) -> Result<Solved, SolveError> {
    if !(how.smoothing_factor > 0.0 && how.smoothing_factor <= 1.0) {
        return Err(SolveError::SmoothingFactor(how.smoothing_factor));
    }
    let reference = how.round.reference;
    let windows = std::mem::take(&mut read.windows);
    let mut nodes = mentioned(&windows);
    nodes.extend((0..how.nodes_expected).map(NodeId));
    if !nodes.contains(&reference) {
        return Err(SolveError::NoReference { reference, nodes });
    }
    let header = offsets_header(&read, &nodes, reference);
    let found = rounds(windows, reference);
    let mut oddities = read.oddities;
    oddities.extend(of_rounds(&found, &nodes));
    let solutions = solutions(&found, &nodes, how, &mut oddities);
    let of_round =
        |(round, solution): (&Round, &Solution)| OffsetRow::of_solution(round.id, round.length, solution).collect::<Vec<_>>();
    let rows = found.rounds.iter().zip(&solutions).flat_map(of_round).collect();
    let with_windows = found.rounds.iter().map(|round| round.windows.as_slice()).zip(&solutions);
    let agreement = agreement(with_windows, &how.round);
    oddities.extend(agreement.pairs.iter().filter_map(of_pair));
    oddities.extend(over_tcp(&solutions));
    Ok(Solved { header, rows, solutions, agreement, oddities })
}

fn solutions(found: &Rounds, nodes: &BTreeSet<NodeId>, how: &HowSolved, oddities: &mut Vec<Oddity>) -> Vec<Solution> {
    let mut solutions: Vec<Solution> = Vec::with_capacity(found.rounds.len());
    for round in &found.rounds {
        let before = solutions.last();
        let mut solution = solve(&round.windows, before, &how.round);
        // A node that is expected and was not placed is unreachable, whether or not it took part.
        solution.unreachable = nodes.iter().filter(|node| !is_placed(&solution, **node)).copied().collect();
        if let Some(before) = before.filter(|_| how.smoothing_factor < 1.0) {
            ease(before, &mut solution, how.smoothing_factor);
        }
        oddities.extend(of_solution(round.id, &solution));
        solutions.push(solution);
    }
    solutions
}

fn is_placed(solution: &Solution, node: NodeId) -> bool {
    solution.nodes.iter().any(|estimate| estimate.node == node)
}

/// Nodes that sent windows, and those that they probed.
fn mentioned(windows: &[NodeWindow]) -> BTreeSet<NodeId> {
    let probed = |window: &NodeWindow| window.edges.iter().map(|record| record.edge.dst).collect::<Vec<_>>();
    windows.iter().flat_map(|window| std::iter::once(window.node).chain(probed(window))).collect()
}

fn offsets_header(read: &RunWindows, nodes: &BTreeSet<NodeId>, reference: NodeId) -> OffsetsHeader {
    let origin = |node: &NodeId| {
        let said = |what: fn(&WindowsHeader) -> Option<i64>| read.header(*node).and_then(what);
        NodeOrigin {
            node: *node,
            start_walltime_ns: said(|header| header.start_walltime_ns),
            start_gpu_ns: said(|header| header.start_gpu_ns),
        }
    };
    OffsetsHeader {
        nodes: nodes.iter().map(origin).collect(),
        reference: Some(reference),
        run_id: read.headers.iter().find_map(|(_, header)| header.run_id.clone()),
    }
}

/// Oddities of rounds that are named one by one.
const ROUND_ODDITIES_NAMED: usize = 12;

/// What was odd about rounds.
fn of_rounds(found: &Rounds, nodes: &BTreeSet<NodeId>) -> Vec<Oddity> {
    let mut oddities = Vec::new();
    if found.renumbered && found.rounds.len() > 1 {
        oddities.push(Oddity::Renumbered);
    } else if found.misnumbered > 0 {
        oddities.push(Oddity::Misnumbered { windows: found.misnumbered });
    }
    if found.duplicates > 0 {
        oddities.push(Oddity::Duplicates { windows: found.duplicates });
    }
    let rounds = found.rounds.len();
    for node in nodes.iter().copied() {
        let missed = found.rounds.iter().filter(|round| round.windows.iter().all(|window| window.node != node)).count();
        if missed > 0 {
            oddities.push(Oddity::MissedRounds { node, missed, rounds });
        }
    }
    let more = oddities.len().saturating_sub(ROUND_ODDITIES_NAMED);
    if more > 0 {
        oddities.truncate(ROUND_ODDITIES_NAMED);
        oddities.push(Oddity::MoreMissedRounds { nodes: more });
    }
    oddities
}

/// What was odd about one round.
fn of_solution(round: u64, solution: &Solution) -> impl Iterator<Item = Oddity> {
    let steps = solution.steps.iter().map(move |step| Oddity::Step { round, node: step.node, size: step.size });
    let rejected = solution.rejected.iter().map(move |rejected| Oddity::RejectedEdge { round, rejected: rejected.clone() });
    steps.chain(rejected)
}

/// Edges that streams carried.
fn over_tcp(solutions: &[Solution]) -> Option<Oddity> {
    let edges: BTreeSet<Edge> = solutions.iter().flat_map(|solution| &solution.over_tcp).copied().collect();
    let rounds = solutions.iter().filter(|solution| !solution.over_tcp.is_empty()).count();
    let edges: Vec<Edge> = edges.into_iter().collect();
    (rounds > 0).then_some(Oddity::EdgesOverTcp { edges, rounds, of: solutions.len() })
}

/// What is odd about a pair of nodes.
fn of_pair(pair: &PairSurplus) -> Option<Oddity> {
    let ((first, second), surplus_ns) = (pair.nodes, pair.surplus_ns.filter(|_| pair.is_suspect)?);
    let (from, to) = if surplus_ns > 0.0 { (first, second) } else { (second, first) };
    Some(Oddity::LopsidedPath { from, to, surplus_ns: surplus_ns.abs(), chance_ns: pair.chance_ns })
}

/// Some nodes, for a message.
fn list(nodes: &BTreeSet<NodeId>) -> String {
    let shown: Vec<_> = nodes.iter().take(12).map(ToString::to_string).collect();
    let more = nodes.len().saturating_sub(12);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

#[cfg(test)]
mod tests;
