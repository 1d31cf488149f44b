//! What is asked of the calls of a rank's host threads, and what is answered: operators by name, and who calls one and what it calls.

use serde::Serialize;

/// Which operators are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorQuery {
    /// Of this rank.
    pub rank: u32,
    /// Those called in this step; of the whole trace without one.
    pub step: Option<i64>,
    /// Those that contain this, in any case.
    pub text: String,
    /// Those of this sort, as answers call it; of all sorts where it is empty.
    pub kind: String,
    /// So many, those that take longest.
    pub limit: usize,
}

/// Operators, annotations and other calls of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Operators {
    /// The rank.
    pub rank: u32,
    /// The step; none of a whole trace.
    pub step: Option<i64>,
    /// How many there are.
    pub count: u64,
    /// Whether there are more than are listed.
    pub cut: bool,
    /// Those first that take longest, on the host or on devices.
    pub operators: Vec<OperatorRow>,
}

/// All calls of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OperatorRow {
    /// It.
    pub name: String,
    /// What sort of call it is: `operator`, `annotation`, `python`, `runtime` and so on.
    pub kind: &'static str,
    /// How many calls.
    pub calls: u64,
    /// Time of those that lie in no other of the name, with all that they called.
    pub total_ns: i64,
    /// Time that is no other call's.
    pub self_ns: i64,
    /// Kernels, copies and fills that were launched in them.
    pub launched: u64,
    /// Sum of the lengths of those.
    pub device_ns: i64,
}

/// Which tree is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeQuery {
    /// Of this rank.
    pub rank: u32,
    /// Of the calls that begin in this step; of all of them without one.
    pub step: Option<i64>,
    /// Of the calls of this name.
    pub operator: String,
    /// So many nodes each way, those that take longest.
    pub limit: usize,
    /// So many levels each way.
    pub depth: usize,
}

/// Who calls an operator, and what it calls, added up over its calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tree {
    /// The rank.
    pub rank: u32,
    /// The step; none of a whole trace.
    pub step: Option<i64>,
    /// Its name.
    pub operator: String,
    /// Calls of it that lie in no other one.
    pub instances: u64,
    /// Calls of it that lie in those, and are nodes below it.
    pub nested: u64,
    /// From the operator outwards.
    pub callers: Vec<TreeRow>,
    /// From the operator inwards.
    pub callees: Vec<TreeRow>,
}

/// One node of a tree: below the last one before it of the level before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TreeRow {
    /// 0 is the operator.
    pub level: usize,
    /// What is called, or who calls.
    pub name: String,
    /// What sort of call it is.
    pub kind: &'static str,
    /// Of a callee its calls; of a caller the operator's calls that came from it.
    pub calls: u64,
    /// Of a callee its time with all that it called; of a caller the time of those calls.
    pub total_ns: i64,
    /// Of a callee its time that is no other call's; of a caller the time of those calls that nobody further out made.
    pub self_ns: i64,
    /// Kernels, copies and fills that were launched meanwhile.
    pub launched: u64,
    /// Sum of the lengths of those.
    pub device_ns: i64,
    /// What is below it and no node.
    pub left_out: LeftOut,
}

/// Nodes that are not told, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Calls.
    pub calls: u64,
    /// Their time.
    pub total_ns: i64,
    /// Kernels, copies and fills that were launched in them.
    pub launched: u64,
    /// Sum of the lengths of those.
    pub device_ns: i64,
}
