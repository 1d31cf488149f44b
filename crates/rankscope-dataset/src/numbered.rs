//! Which span of which rank is its part in which collective: numbers that `events` and `collectives` share.

use rankscope_job::Job;
use rankscope_trace::SpanId;

/// The collectives of a job by the spans that they are.
#[derive(Clone, Debug, Default)]
pub struct Numbered {
    /// By rank, in order of the span.
    spans: Vec<Vec<(SpanId, i64)>>,
}

impl Numbered {
    /// Those of `job`, whose collectives are still there.
    pub fn of(job: &Job) -> Self {
        let mut spans = vec![Vec::new(); job.ranks.len()];
        for (number, instance) in (0..).zip(&job.matched.instances) {
            for member in instance.members.iter() {
                let span = job.collectives[member.rank()].collectives.span(member.collective());
                spans[member.rank()].push((span, number));
            }
        }
        spans.iter_mut().for_each(|own: &mut Vec<_>| own.sort_unstable());
        Self { spans }
    }

    /// The spans of the rank at `index` that are parts in collectives, in order, each with the number of its collective.
    pub fn of_rank(&self, index: usize) -> &[(SpanId, i64)] {
        self.spans.get(index).map_or(&[], Vec::as_slice)
    }
}
