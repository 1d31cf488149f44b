//! Jobs that are simulated until they stand still, each with one planted fault: it is found in every one of them, whatever the size,
//! and nobody is named where the evidence does not say who it was.

use crate::job::{Fault, Job};
use proptest::prelude::*;
use rankscope_document::{Confidence, HangKind};

/// The verdict over what is left of a job, and the ranks that it names.
fn judged(job: &Job) -> (HangKind, Vec<u32>, Confidence, String) {
    let document = job.evidence().verdict("simulated");
    let verdict = document.verdict;
    (verdict.kind, verdict.roots.iter().map(|root| root.rank).collect(), verdict.confidence, verdict.summary)
}

fn sizes() -> impl Strategy<Value = (u32, u32)> {
    prop_oneof![
        8 => (prop_oneof![Just(2_u32), Just(4), Just(8)], 2_u32..9),
        1 => (Just(8_u32), 16_u32..65),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_planted_fault_is_found(
        (tp, dp) in sizes(), at in any::<u64>(), who in any::<u32>(), kind in 0..9_usize, queued in any::<bool>(), style in any::<bool>()
    ) {
        let ranks = tp * dp;
        let rank = who % ranks;
        let fault = [
            Fault::Missing, Fault::Operation, Fault::Size, Fault::Type, Fault::Order, Fault::Dead, Fault::Stuck, Fault::Message, Fault::DumpLost,
        ][kind];
        let job = Job::run(tp, dp, fault, rank, at, queued, style);
        let (found, named, _, summary) = judged(&job);
        let wanted = match fault {
            Fault::Missing | Fault::DumpLost => HangKind::Missing,
            Fault::Operation | Fault::Size | Fault::Type => HangKind::Mismatch,
            Fault::Order => HangKind::Deadlock,
            Fault::Dead => HangKind::Dead,
            Fault::Stuck => HangKind::Library,
            Fault::Message => HangKind::P2p,
            Fault::None => HangKind::Healthy,
        };
        prop_assert_eq!(&found, &wanted, "{:?} of {}: {}", fault, rank, summary);
        match fault {
            Fault::Stuck => prop_assert!(named.is_empty(), "{}", summary),
            // All of a circle are in it; of a message, both of its ends.
            Fault::Order | Fault::Message => prop_assert!(named.contains(&rank) && named.len() <= tp.max(2) as usize, "{named:?}: {}", summary),
            // Of two that differ neither is the majority.
            Fault::Operation | Fault::Size | Fault::Type if job.is_a_tie() => prop_assert!(named.contains(&rank), "{}", summary),
            _ => prop_assert_eq!(named, vec![rank], "{}", summary),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_job_that_ended_is_healthy((tp, dp) in sizes(), style in any::<bool>()) {
        let job = Job::run(tp, dp, Fault::None, 0, 0, false, style);
        let (found, named, confidence, _) = judged(&job);
        prop_assert_eq!((found, named, confidence), (HangKind::Healthy, vec![], Confidence::High));
    }

    #[test]
    fn nobody_is_named_by_the_few_who_are_left((tp, dp) in sizes(), at in any::<u64>(), who in any::<u32>(), kept in any::<u32>()) {
        let ranks = tp * dp;
        let mut job = Job::run(tp, dp, Fault::Stuck, who % ranks, at, false, true);
        job.keep_dumps_of(&[kept % ranks]);
        let (found, named, _, _) = judged(&job);
        prop_assert!(named.is_empty() && [HangKind::Unclear, HangKind::Library, HangKind::Healthy].contains(&found), "{:?} {:?}", found, named);
    }

    #[test]
    fn a_dump_of_an_attempt_before_names_nobody((tp, dp) in sizes(), at in any::<u64>(), who in any::<u32>()) {
        let mut job = Job::run(tp, dp, Fault::Stuck, who % (tp * dp), at, false, true);
        job.age_dump_of(who % (tp * dp));
        let (_, named, _, summary) = judged(&job);
        prop_assert!(named.is_empty(), "{:?} {}", named, summary);
    }
}
