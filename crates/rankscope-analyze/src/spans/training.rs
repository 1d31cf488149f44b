//! Whether a trace is of a training job at all.

use rankscope_collectives::RankCollectives;
use rankscope_trace::{CategoryKind, Trace};

/// Whether anything in `trace` is what a training job leaves: steps, collectives, device work, operators or frames of a
/// framework. Where nothing is, shares of computation and late ranks are no answers.
pub fn is_training(trace: &Trace, collectives: &RankCollectives) -> bool {
    let tells =
        |kind: CategoryKind| !matches!(kind, CategoryKind::UserAnnotation | CategoryKind::Overhead | CategoryKind::Other);
    !trace.steps.is_empty() || !collectives.collectives.is_empty() || trace.spans.ids().any(|span| tells(trace.kind(span)))
}

#[cfg(test)]
mod tests {
    use rankscope_collectives::{CommPatterns, extract};
    use rankscope_time::Rank;

    use super::super::nesting::tests::trace_of;
    use super::*;

    fn judged(trace: &Trace) -> bool {
        is_training(trace, &extract(Rank(0), trace, &CommPatterns::default()))
    }

    #[test]
    fn one_operator_or_step_makes_it_a_training_job() {
        let spans = [(1, 0, 10, "serve"), (1, 20, 10, "parse")];
        assert!(!judged(&trace_of(&spans)));
        let mut with_operator = trace_of(&spans);
        with_operator.spans.category[1] = with_operator.category("cpu_op", CategoryKind::CpuOp);
        assert!(judged(&with_operator));
        let mut with_step = trace_of(&[(1, 0, 10, "ProfilerStep#3")]);
        with_step.mark_profiler_steps();
        assert!(judged(&with_step));
    }
}
