//! A plan file says who computes what; its metadata are derived here, in both orders of tasks, and put to every property.

use rankscope_dispatch::plan::{Index, LogicalPlan, TaskOrder};
use rankscope_dispatch::properties;
use rankscope_dispatch::{Batch, Error};

use super::findings::{Findings, Found};

/// Everything about the metadata of a plan.
///
/// # Errors
/// [`Error`] where the metadata do not fit their integers.
pub fn check(batch: &Batch) -> Result<Findings, Error> {
    let mut findings = Findings::default();
    for (order, name) in
        [(TaskOrder::Documents, "tasks in the order of documents"), (TaskOrder::Slots, "tasks in the order of slots")]
    {
        let index = Index::new(batch, order)?;
        let mut plan = LogicalPlan::default();
        plan.refill(&index);
        let violations = properties::check(batch, order, &plan);
        findings.add(
            name,
            None,
            violations.into_iter().map(|violation| Found::of(&violation, |what| what.to_owned())).collect(),
        );
    }
    Ok(findings)
}
