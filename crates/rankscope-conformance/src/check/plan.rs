//! A plan file says who computes what; its metadata are derived here, in both orders of tasks, and put to every property. The
//! original has no metadata for plans that split keys: of those every score is counted when they are read, and here what each rank
//! sends must be what the other expects.

use rankscope_dispatch::plan::{Index, LogicalPlan, TaskOrder};
use rankscope_dispatch::properties;
use rankscope_dispatch::{Assignment, Direction, Error, Rows};

use super::findings::{Findings, Found};

/// Everything about the metadata of a plan.
///
/// # Errors
/// [`Error`] where the metadata do not fit their integers.
pub fn check<'a>(plan: impl Into<Assignment<'a>>) -> Result<Findings, Error> {
    let plan = plan.into();
    let mut findings = Findings::default();
    if plan.split().is_some() {
        for direction in Direction::ALL {
            plan.exchange(&Rows::LLAMA_8B.with_lse_of(32), direction)?.validate()?;
            findings.add(&format!("exchange {}", direction.as_str()), None, Vec::new());
        }
        return Ok(findings);
    }
    let batch = plan.layout();
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
