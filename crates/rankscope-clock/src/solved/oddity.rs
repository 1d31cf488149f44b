//! What was odd about the files of clock synchronisation and about what was solved from them: data, with the sentence and the
//! weight of each in one place.

use std::fmt;

use rankscope_time::{MapError, Span};

use crate::files::{Damage, DamagedLine, Witness};
use crate::nodes::RejectedEdge;
use crate::{Edge, NodeId};

/// How much an oddity matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// A fact about the clocks; nothing is wrong with the files.
    Finding,
    /// A limit of what can be said.
    Caution,
    /// Something is wrong with the input.
    Problem,
}

/// Something odd. `Display` is the sentence that users read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Oddity {
    /// A line of a file was passed over.
    DamagedLine {
        /// The file, as it was called.
        file: String,
        /// Which line, and why.
        line: DamagedLine,
    },
    /// More lines of a file were passed over than are named one by one.
    MoreDamagedLines {
        /// The file, as it was called.
        file: String,
        /// How many more.
        lines: usize,
    },
    /// Files that were written without bounds: their edges guarantee nothing.
    FilesWithoutBounds {
        /// How many.
        files: usize,
        /// Of how many.
        of: usize,
    },
    /// The headers name more than one run.
    SeveralRuns {
        /// Their ids, in order.
        runs: Vec<String>,
    },
    /// The round numbers in the windows do not tell rounds apart.
    Renumbered,
    /// Windows carry another number than the round they belong to.
    Misnumbered {
        /// How many.
        windows: usize,
    },
    /// Windows were there more than once.
    Duplicates {
        /// How many were not used.
        windows: usize,
    },
    /// A node sent no window in some rounds.
    MissedRounds {
        /// Which node.
        node: NodeId,
        /// How many rounds.
        missed: usize,
        /// Of how many.
        rounds: usize,
    },
    /// More nodes missed rounds than are named one by one.
    MoreMissedRounds {
        /// How many more.
        nodes: usize,
    },
    /// The clock of a node jumped.
    Step {
        /// In which round.
        round: u64,
        /// Whose clock.
        node: NodeId,
        /// By how much; positive is forwards.
        size: Span,
    },
    /// An edge contradicts others and was left out.
    RejectedEdge {
        /// In which round.
        round: u64,
        /// Which edge, the edges it contradicts, and by how much.
        rejected: RejectedEdge,
    },
    /// Packets between two nodes take longer one way than the other, which the other pairs show.
    LopsidedPath {
        /// The way that takes longer.
        from: NodeId,
        /// Where it leads.
        to: NodeId,
        /// By how much the pair disagrees with all others; half of what the way takes longer.
        surplus_ns: f64,
        /// One standard deviation of that by chance.
        chance_ns: f64,
    },
    /// Edges were measured over TCP, which is less exact.
    EdgesOverTcp {
        /// Which, in order.
        edges: Vec<Edge>,
        /// In how many rounds any of them was.
        rounds: usize,
        /// Of how many.
        of: usize,
    },
    /// Edges of nodes were measured over TCP; which ones is not in the file.
    NodesOverTcp {
        /// The nodes, in order.
        nodes: Vec<NodeId>,
        /// In how many rounds any of them was.
        rounds: usize,
        /// Of how many.
        of: usize,
    },
    /// What a witness says on nodes is as near as its own errors and our bounds let it be.
    WitnessAgrees {
        /// Who.
        witness: Witness,
        /// On how many nodes beside the reference.
        nodes: usize,
        /// Where it is furthest away.
        node: NodeId,
        /// How far.
        apart: Span,
        /// The witness's errors on both and our bound.
        allowed: Span,
    },
    /// What a witness says on a node and on the reference is further apart than its own errors and our bound allow.
    WitnessContradicts {
        /// Who.
        witness: Witness,
        /// Which node.
        node: NodeId,
        /// How far.
        apart: Span,
        /// The witness's errors on both and our bound.
        allowed: Span,
    },
    /// The offsets of a node contradict each other.
    NoClock {
        /// Which node.
        node: NodeId,
        /// How they do.
        error: MapError,
    },
    /// The clock of a node jumped during the run, and its map has all stretches between jumps.
    StretchesJoined {
        /// Which node.
        node: NodeId,
        /// How often its clock jumped.
        jumps: usize,
    },
    /// The clock of a node jumped during the run, and one stretch between jumps is used for all of it.
    OneStretchUsed {
        /// Which node.
        node: NodeId,
        /// How often its clock jumped.
        jumps: usize,
    },
}

impl Oddity {
    /// How much it matters.
    pub fn severity(&self) -> Severity {
        match self {
            Self::Step { .. } | Self::LopsidedPath { .. } | Self::StretchesJoined { .. } | Self::WitnessAgrees { .. } => {
                Severity::Finding
            }
            Self::DamagedLine { line: DamagedLine { damage: Damage::Malformed(_), .. }, .. }
            | Self::MoreDamagedLines { .. }
            | Self::SeveralRuns { .. } => Severity::Problem,
            // A line that was cut off is what kill -9 leaves behind.
            Self::DamagedLine { line: DamagedLine { damage: Damage::CutOff, .. }, .. }
            | Self::FilesWithoutBounds { .. }
            | Self::Renumbered
            | Self::Misnumbered { .. }
            | Self::Duplicates { .. }
            | Self::MissedRounds { .. }
            | Self::MoreMissedRounds { .. }
            | Self::RejectedEdge { .. }
            | Self::EdgesOverTcp { .. }
            | Self::WitnessContradicts { .. }
            | Self::NodesOverTcp { .. }
            | Self::NoClock { .. }
            | Self::OneStretchUsed { .. } => Severity::Caution,
        }
    }
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DamagedLine { file, line } => match line.damage {
                Damage::CutOff => write!(f, "{file}: {line}; all other lines are used"),
                Damage::Malformed(_) => write!(f, "{file}: {line}; skipped"),
            },
            Self::MoreDamagedLines { file, lines } => write!(f, "{file}: {lines} more lines cannot be read"),
            Self::FilesWithoutBounds { files, of } => {
                write!(f, "{files} of {of} files hold no bounds, so their edges guarantee nothing")
            }
            Self::SeveralRuns { runs } => write!(f, "these files come from several runs: {}", runs.join(", ")),
            Self::Renumbered => {
                write!(f, "the round numbers are ambiguous; rounds were grouped by time and numbered from 0")
            }
            Self::Misnumbered { windows } => {
                write!(f, "{windows} windows carry a round number that does not match their time")
            }
            Self::Duplicates { windows } => write!(f, "{windows} windows are duplicates and were used once"),
            Self::MissedRounds { node, missed, rounds } => {
                write!(f, "node {node} sent no window in {missed} of {rounds} rounds")
            }
            Self::MoreMissedRounds { nodes } => write!(f, "and {nodes} more nodes missed rounds"),
            Self::Step { round, node, size } => {
                write!(f, "round {round}: the clock of node {node} jumped by {} ns", size.as_nanos())
            }
            Self::RejectedEdge { round, rejected: RejectedEdge { edge, against, excess } } => {
                let against: Vec<_> = against.iter().map(ToString::to_string).collect();
                let (against, excess_ns) = (against.join(", "), excess.as_nanos());
                write!(f, "round {round}: edge {edge} was left out: it contradicts {against} by {excess_ns} ns")
            }
            Self::LopsidedPath { from, to, surplus_ns, chance_ns } => write!(
                f,
                "packets from node {from} to node {to} take about {:.0} ns longer than those back: what the two measure of each \
                 other disagrees with all other pairs by {surplus_ns:.0} ± {chance_ns:.0} ns",
                2.0 * surplus_ns
            ),
            Self::EdgesOverTcp { edges, rounds, of } => {
                write!(f, "{}: {}", named("edge", edges), over_tcp(*rounds, *of))
            }
            Self::NodesOverTcp { nodes, rounds, of } => {
                write!(f, "edges of {}: {}", named("node", nodes), over_tcp(*rounds, *of))
            }
            Self::WitnessAgrees { witness, nodes, node, apart, allowed } => write!(
                f,
                "{witness} agrees on {nodes} of the nodes: at most {} ns apart from these clocks (node {node}), where its own errors and \
                 the bounds allow {} ns",
                apart.as_nanos(),
                allowed.as_nanos()
            ),
            Self::WitnessContradicts { witness, node, apart, allowed } => write!(
                f,
                "{witness} contradicts the clock of node {node}: the two are {} ns apart, where its own errors and the bound allow {} ns",
                apart.as_nanos(),
                allowed.as_nanos()
            ),
            Self::NoClock { node, error } => write!(
                f,
                "the offsets of node {node} do not form a valid clock: {error}; its ranks keep their recorded timestamps"
            ),
            Self::StretchesJoined { node, jumps } => write!(
                f,
                "the clock of node {node} jumped {}; about each jump timestamps are uncertain by its size, elsewhere they are not \
                 affected",
                times(*jumps)
            ),
            Self::OneStretchUsed { node, jumps } => write!(
                f,
                "the clock of node {node} jumped {}; the longest stretch without a jump is used throughout",
                times(*jumps)
            ),
        }
    }
}

fn over_tcp(rounds: usize, of: usize) -> String {
    format!("measured over TCP instead of UDP in {rounds} of {of} rounds, so the bounds are wider")
}

/// So many are named one by one.
const NAMED_MAX: usize = 12;

fn named(what: &str, all: &[impl fmt::Display]) -> String {
    let plural = if all.len() == 1 { "" } else { "s" };
    let names: Vec<_> = all.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    let more = all.len().saturating_sub(NAMED_MAX);
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{what}{plural} {}{rest}", names.join(", "))
}

fn times(jumps: usize) -> String {
    if jumps == 1 { "once".to_owned() } else { format!("{jumps} times") }
}
