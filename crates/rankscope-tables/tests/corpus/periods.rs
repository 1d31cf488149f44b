//! Periods of public traces, beside the steps that they mark.

use rankscope_testkit::{Need, given};
use rankscope_trace::CategoryKind;

use super::{tables, trace, traces};

#[test]
fn periods_are_the_steps_that_were_marked() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let expected = [("a100_nccl_data", 1_258, 3), ("old_dialect_resnet50", 1_527, 6)];
    for (name, work, repetitions) in expected {
        let path = corpus.join(format!("traces/kineto/{name}.json.gz"));
        let found = tables(&path).periods;
        assert_eq!((found.len(), found[0].work, found[0].repetitions), (1, work, repetitions), "{name}: {found:?}");
        assert_eq!(found[0].marked_steps, repetitions, "{name}");
        let trace = trace(&path);
        let marked = trace.steps.iter().filter(|step| trace.kind(step.span) != CategoryKind::GpuUserAnnotation);
        let starts: Vec<i64> = marked.map(|step| trace.spans.start_ns(step.span)).collect();
        let (first, last) = (starts.iter().min().unwrap(), starts.iter().max().unwrap());
        let step_ns = (last - first) as f64 / (repetitions - 1) as f64;
        let differs = (found[0].time.mean_ns() - step_ns).abs() / step_ns;
        assert!(differs < 0.05, "{name}: {} ns, marked {step_ns} ns", found[0].time.mean_ns());
    }
}

#[test]
fn no_period_is_longer_than_the_steps_that_were_marked() {
    let Some(corpus) = given(Need::Corpus) else { return };
    // Two threads launch, in another order in each step; and of the last, steps differ by hundreds of kernels.
    for name in ["sampled_rank-0_of_128", "sampled_rank-1_of_128", "mi300x_resnet_act_checkpoint"] {
        assert_eq!(tables(&corpus.join(format!("traces/kineto/{name}.json.gz"))).periods, [], "{name}");
    }
    for path in traces(&corpus) {
        for row in tables(&path).periods {
            assert!(row.marked_steps <= row.repetitions, "{path:?}: {row:?}");
            assert!(row.covered <= row.all && row.repetitions * row.work <= row.covered, "{path:?}: {row:?}");
        }
    }
}
