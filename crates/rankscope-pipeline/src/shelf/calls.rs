//! What the host threads of a rank called, as a server asks for it.

use rankscope_serve::{Fault, LeftOut, OperatorQuery, OperatorRow, Operators, Tree, TreeQuery, TreeRow};
use rankscope_tables::{CallTree, CalledRow, TreeLimits, TreeNode};
use rankscope_trace::CategoryKind;

use super::reading::RankRead;

/// The operators that are asked for.
pub(super) fn operators(read: &RankRead, query: &OperatorQuery) -> Result<Operators, Fault> {
    let mut rows = read.calls.by_name(window(read, query.step)?);
    let text = query.text.to_lowercase();
    rows.retain(|row| (query.kind.is_empty() || word(row.kind) == query.kind) && row.name.to_lowercase().contains(&text));
    let count = rows.len();
    rows.truncate(query.limit);
    Ok(Operators {
        rank: query.rank,
        step: query.step,
        count: count as u64,
        cut: count > rows.len(),
        operators: rows.into_iter().map(operator).collect(),
    })
}

/// The tree that is asked for.
pub(super) fn tree(read: &RankRead, query: &TreeQuery) -> Result<Tree, Fault> {
    let TreeQuery { rank, step, operator, .. } = query.clone();
    let limits = TreeLimits { nodes: query.limit, depth: query.depth };
    let tree = CallTree::of(&read.calls, &operator, window(read, step)?, limits);
    let Some(CallTree { instances, nested, callers, callees }) = tree else {
        return Err(Fault::NoOperator { operator, rank, step });
    };
    let rows = |nodes: Vec<TreeNode>| nodes.into_iter().map(row).collect();
    Ok(Tree { rank, step, operator, instances, nested, callers: rows(callers), callees: rows(callees) })
}

fn window(read: &RankRead, step: Option<i64>) -> Result<Option<(i64, i64)>, Fault> {
    step.map(|number| read.work.window(number)).transpose()
}

fn operator(row: CalledRow) -> OperatorRow {
    let CalledRow { name, kind, calls, total_ns, self_ns, launched, device_ns, .. } = row;
    OperatorRow { name, kind: word(kind), calls, total_ns, self_ns, launched, device_ns }
}

fn row(node: TreeNode) -> TreeRow {
    let TreeNode { level, name, kind, calls, total_ns, self_ns, launched, device_ns, left_out, .. } = node;
    let left_out = LeftOut {
        calls: left_out.calls,
        total_ns: left_out.host_ns,
        launched: left_out.launched,
        device_ns: left_out.device_ns,
    };
    TreeRow { level, name, kind: word(kind), calls, total_ns, self_ns, launched, device_ns, left_out }
}

/// What a sort of call is called.
fn word(kind: CategoryKind) -> &'static str {
    match kind {
        CategoryKind::CpuOp => "operator",
        CategoryKind::UserAnnotation | CategoryKind::GpuUserAnnotation => "annotation",
        CategoryKind::PythonFunction => "python",
        CategoryKind::Runtime => "runtime",
        CategoryKind::Driver => "driver",
        CategoryKind::Overhead => "profiler",
        CategoryKind::Sync => "synchronisation",
        CategoryKind::Kernel | CategoryKind::Memcpy | CategoryKind::Memset | CategoryKind::CollectiveComm => "work",
        CategoryKind::Other => "span",
    }
}
