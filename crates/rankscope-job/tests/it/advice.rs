//! Advice on jobs whose cause is known: the first names it, on the ranks that have it, and is worth what the job without it saves.

use rankscope_document::Document;
use rankscope_testkit::simulated::{Cause, CauseKind, Job, Layout};

use crate::answered::{analysed, simulated, with_executions};
use crate::planted::{outcome, report};

/// The job of `kind` and `seed`, of eight ranks.
fn drawn(kind: Option<CauseKind>, seed: u64) -> Job {
    Job::drawn_of(kind, seed, 8)
}

/// Seeds of 3 to 12 ranks in as many dimensions as have room; the bench tries all sizes.
const SEEDS: [u64; 2] = [1, 3];

#[test]
fn the_first_advice_names_the_planted_cause_and_what_it_costs() {
    let (mut wrong, mut far) = (Vec::new(), Vec::new());
    for kind in CauseKind::ALL {
        for seed in SEEDS {
            let outcome = outcome(&Job::drawn(Some(kind), seed));
            let said = format!("{kind} {seed}: {:+.1} %, {}", 100.0 * outcome.off, outcome.said);
            far.extend((!outcome.is_near()).then(|| said.clone()));
            wrong.extend((!outcome.is_right()).then_some(said));
        }
    }
    let all = CauseKind::ALL.len() * SEEDS.len();
    assert!(wrong.len() * 20 <= all, "{} of {all}: {wrong:#?}", wrong.len());
    assert!(far.len() * 20 <= all, "{} of {all}: {far:#?}", far.len());
}

#[test]
fn nothing_is_advised_on_clean_jobs() {
    for job in (0..4).map(|seed| Job::drawn(None, seed)).chain([drawn(None, 0)]) {
        let advice = report(&job).advice;
        assert!(advice.is_empty(), "seed {}: {advice:#?}", job.seed);
    }
}

/// Of two nodes there is one link: what it should take, no other one tells.
#[test]
fn a_link_without_another_one_is_not_called_slow() {
    let layout = Layout { ranks: 4, tensor: 1, pipeline: 1, experts: false, gpus_per_node: 2 };
    let cause = Some(Cause::SlowLink { nodes: (0, 1), factor: 8.0 });
    let document = report(&Job { layout, cause, ..Job::default() });
    let says = |rule: &str| document.advice.iter().any(|one| one.rule.as_str() == rule);
    assert!(!says("slow_link") && says("exposed_communication"), "{:#?}", document.advice);
    assert!(
        document.unanswered.iter().any(|why| why.contains("nodes 0 and 1 is slow cannot be told")),
        "{:?}",
        document.unanswered
    );
}

#[test]
fn one_step_alone_gets_no_advice_and_the_reason() {
    let job = drawn(Some(CauseKind::DataLoader), 0);
    let of_step = |step| analysed(with_executions(simulated(&job)), step).document("a job");
    assert!(!of_step(None).advice.is_empty());
    let document = of_step(Some(3));
    assert!(document.advice.is_empty() && document.critical_path.len() == 1, "{:#?}", document.advice);
    assert!(document.unanswered.iter().any(|why| why.contains("leave --step out")), "{:?}", document.unanswered);
}

/// Jobs of ranks on hosts of so many cards, of which rank 2 receives everything late.
fn late_receiver(gpus_per_node: u32) -> Document {
    let layout = Layout { ranks: 4, tensor: 1, pipeline: 1, experts: false, gpus_per_node };
    report(&Job { layout, cause: Some(Cause::LateReceiver { rank: 2, factor: 20.0 }), ..Job::default() })
}

#[test]
fn who_leaves_collectives_last_receives_late() {
    let document = late_receiver(8);
    let found = document.advice.first().expect("it is found");
    assert_eq!((found.rule.as_str(), found.ranks.as_slice()), ("slow_link", [2].as_slice()), "{found:#?}");
    assert!(found.title.starts_with("Rank 2 receives late") && found.check.contains("collective:all_reduce@"), "{found:#?}");
}

/// Clocks of several hosts that nobody measured are known by the collectives themselves, which tell nothing about who left one first.
#[test]
fn nobody_receives_late_by_clocks_that_were_not_measured() {
    let document = late_receiver(1);
    assert!(document.advice.iter().all(|one| one.rule.as_str() != "slow_link"), "{:#?}", document.advice);
}
