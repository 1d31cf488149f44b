//! What a query asks of a shelf. A value that cannot be read is refused, with what is taken in its place; one that asks for more than an
//! answer holds gets that.

use crate::calls::{OperatorQuery, TreeQuery};
use crate::shelf::{Fault, KernelQuery, NameQuery};
use crate::target::Target;

/// Kernels in one answer.
const KERNELS_MAX: usize = 10_000;
const KERNELS_DEFAULT: usize = 2_000;
/// Names in one answer.
const NAMES_MAX: usize = 1_000;
const NAMES_DEFAULT: usize = 100;

/// Nodes of a tree, each way.
const NODES_MAX: usize = 2_000;
const NODES_DEFAULT: usize = 200;
/// Levels of a tree, each way.
const DEPTH_MAX: usize = 256;
const DEPTH_DEFAULT: usize = 64;

pub(crate) fn kernel_query(target: &Target) -> Result<KernelQuery, Fault> {
    Ok(KernelQuery {
        rank: rank(target)?,
        step: step(target)?,
        name: target.value("name").unwrap_or_default().to_owned(),
        limit: limit(target, KERNELS_DEFAULT, KERNELS_MAX)?,
    })
}

pub(crate) fn name_query(target: &Target) -> Result<NameQuery, Fault> {
    let text = target.value("q").unwrap_or_default().to_owned();
    Ok(NameQuery { rank: rank(target)?, text, limit: limit(target, NAMES_DEFAULT, NAMES_MAX)? })
}

pub(crate) fn operator_query(target: &Target) -> Result<OperatorQuery, Fault> {
    let text = target.value("q").unwrap_or_default().to_owned();
    let limit = limit(target, NAMES_DEFAULT, NAMES_MAX)?;
    let kind = target.value("kind").unwrap_or_default().to_owned();
    Ok(OperatorQuery { rank: rank(target)?, step: step(target)?, text, kind, limit })
}

pub(crate) fn tree_query(target: &Target) -> Result<TreeQuery, Fault> {
    let operator = target.value("operator").filter(|name| !name.is_empty());
    Ok(TreeQuery {
        rank: rank(target)?,
        step: step(target)?,
        operator: operator.ok_or(Fault::BadQuery { key: "operator", takes: "the name of an operator" })?.to_owned(),
        limit: limit(target, NODES_DEFAULT, NODES_MAX)?.max(1),
        depth: at_most(target, "depth", "a number of levels", DEPTH_DEFAULT, DEPTH_MAX)?,
    })
}

fn step(target: &Target) -> Result<Option<i64>, Fault> {
    let step = target.value("step").filter(|text| !text.is_empty());
    step.map(|text| number(Some(text), "step", "a whole number")).transpose()
}

fn rank(target: &Target) -> Result<u32, Fault> {
    number(target.value("rank"), "rank", "the number of a rank")
}

fn limit(target: &Target, default: usize, most: usize) -> Result<usize, Fault> {
    at_most(target, "limit", "a number of rows", default, most)
}

fn at_most(target: &Target, key: &'static str, takes: &'static str, default: usize, most: usize) -> Result<usize, Fault> {
    let said = target.value(key).map(|text| number::<usize>(Some(text), key, takes));
    Ok(said.transpose()?.unwrap_or(default).min(most))
}

fn number<N: std::str::FromStr>(text: Option<&str>, key: &'static str, takes: &'static str) -> Result<N, Fault> {
    text.and_then(|text| text.parse().ok()).ok_or(Fault::BadQuery { key, takes })
}
