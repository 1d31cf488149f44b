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

    /// The number of the collective that `span` of the rank at `index` is a part in.
    pub(crate) fn get(&self, index: usize, span: SpanId) -> Option<i64> {
        let own = self.spans.get(index)?;
        own.binary_search_by_key(&span, |(span, _)| *span).ok().map(|at| own[at].1)
    }
}
