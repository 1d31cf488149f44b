//! What is found in a trace is found in its collectives alone.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::io::Cursor;

use proptest::prelude::*;
use rankscope_collectives::{CommPatterns, RankCollectives, collectives_alone, extract};
use rankscope_formats::{ArgsPolicy, ReadOptions, Scope, read};
use rankscope_testkit::{Job, Metadata};
use rankscope_time::Rank;
use rankscope_trace::{SpanId, Trace};

fn ranks(job: &Job, args: ArgsPolicy, scope: Scope) -> Vec<Trace> {
    let options = ReadOptions::default().with_args(args).with_scope(scope);
    job.all_ranks().into_iter().map(|bytes| read(Cursor::new(bytes), &options).unwrap().remove(0).trace.unwrap()).collect()
}

/// Without the ids of spans, which are each trace's own.
fn found(trace: &Trace) -> RankCollectives {
    let mut found = extract(Rank(0), trace, &CommPatterns::default());
    found.collectives.iter_mut().for_each(|collective| collective.span = SpanId(0));
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_same_is_found_in_less(
        metadata in prop_oneof![Just(Metadata::None), Just(Metadata::Args), Just(Metadata::ArgsAndSeq)],
        everything in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let job = Job { ranks: 2, steps: 2, layers: 3, ops_per_step: 24, metadata, seed, ..Job::default() };
        let (args, scope) = if everything { (ArgsPolicy::All, Scope::All) } else { (ArgsPolicy::Analysis, Scope::Device) };
        for trace in ranks(&job, args, scope) {
            let alone = collectives_alone(&trace, &CommPatterns::default());
            prop_assert!(!found(&trace).collectives.is_empty());
            prop_assert_eq!(found(&alone), found(&trace));
            prop_assert_eq!(alone.bounds_ns(), trace.bounds_ns());
            prop_assert_eq!(&alone.provenance, &trace.provenance);
            prop_assert!(alone.spans.len() < trace.spans.len(), "{} of {}", alone.spans.len(), trace.spans.len());
            // Nothing more can be left out.
            let again = collectives_alone(&alone, &CommPatterns::default());
            prop_assert_eq!(again.spans.start_ns, alone.spans.start_ns);
        }
    }
}

#[test]
fn the_correlation_of_a_collective_stays() {
    let job = Job { ranks: 2, metadata: Metadata::Args, ..Job::default() };
    let trace = ranks(&job, ArgsPolicy::Analysis, Scope::Device).remove(0);
    let alone = collectives_alone(&trace, &CommPatterns::default());
    let correlations = |trace: &Trace| -> Vec<Option<u64>> {
        let found = extract(Rank(0), trace, &CommPatterns::default()).collectives;
        found.iter().map(|collective| trace.correlations.get(collective.span)).collect()
    };
    assert!(correlations(&trace).iter().any(Option::is_some));
    assert_eq!(correlations(&alone), correlations(&trace));
}

#[test]
fn collectives_that_do_the_same_share_what_they_do() {
    let job = Job { ranks: 1, steps: 4, layers: 3, metadata: Metadata::ArgsAndSeq, ..Job::default() };
    let found = found(&ranks(&job, ArgsPolicy::Analysis, Scope::All)[0]);
    let mut operations: Vec<_> = found.collectives.iter().map(|of| std::sync::Arc::as_ptr(&of.operation)).collect();
    operations.sort_unstable();
    operations.dedup();
    let mut told: Vec<String> = found.collectives.iter().map(|of| format!("{:?}", of.operation)).collect();
    told.sort_unstable();
    told.dedup();
    assert_eq!(operations.len(), told.len());
    assert!(told.len() * 4 <= found.collectives.len());
}
