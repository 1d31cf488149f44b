//! Which steps answers are means over: those that matched collectives lie in, and the ones between them.

use std::collections::BTreeSet;

use rankscope_collectives::Instance;

use crate::Job;

/// The numbers of the steps, ascending. There are none where the traces mark none.
pub(super) struct Steps<'a> {
    job: &'a Job,
    pub(super) numbers: Vec<i64>,
}

impl<'a> Steps<'a> {
    pub(super) fn of(job: &'a Job) -> Self {
        if job.collectives.iter().all(|rank| rank.steps.is_empty()) {
            return Self { job, numbers: Vec::new() };
        }
        let seen: BTreeSet<i64> = job.matched.instances.iter().filter_map(|instance| step_of(job, instance)).collect();
        let (first, last) = (seen.first().copied().unwrap_or(0), seen.last().copied().unwrap_or(-1));
        let marked = job.collectives.iter().flat_map(|rank| &rank.steps).map(|step| step.number);
        let numbers: BTreeSet<i64> = marked.filter(|number| (first..=last).contains(number)).collect();
        Self { job, numbers: numbers.into_iter().collect() }
    }

    /// The place among them of the step that `instance` lies in.
    pub(super) fn place(&self, instance: &Instance) -> Option<usize> {
        if self.numbers.is_empty() {
            return None;
        }
        self.numbers.binary_search(&step_of(self.job, instance)?).ok()
    }
}

/// By the first rank that marks one.
fn step_of(job: &Job, instance: &Instance) -> Option<i64> {
    instance.members.iter().find_map(|member| {
        let rank = &job.collectives[member.rank()];
        rank.step_at(rank.collectives.start_ns(member.collective()))
    })
}
