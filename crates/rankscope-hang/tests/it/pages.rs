//! Live pages of simulated jobs: who is to blame is found from them alone once the job has stood still for a while, and nobody is named
//! before, nor where pages do not tell.

use std::time::Duration;

use proptest::prelude::*;
use rankscope_document::{Confidence, HangDocument, HangKind};
use rankscope_hang::{Evidence, FoundPages};
use rankscope_recording::{PageMark, PagePhase};

use crate::job::{Fault, Job};

/// Long enough for a save.
const LATER: Duration = Duration::from_secs(70);

fn judged(pages: FoundPages) -> HangDocument {
    let mut evidence = Evidence::default();
    evidence.add_pages(pages);
    evidence.verdict("simulated")
}

fn named(document: &HangDocument) -> Vec<u32> {
    document.verdict.roots.iter().map(|root| root.rank).collect()
}

/// The kind of the verdict, and whom it names.
fn found(document: &HangDocument) -> (HangKind, Vec<u32>) {
    (document.verdict.kind.clone(), named(document))
}

fn sizes() -> impl Strategy<Value = (u32, u32)> {
    prop_oneof![8 => (prop_oneof![Just(2_u32), Just(4), Just(8)], 2_u32..9), 1 => (Just(8_u32), 16_u32..65)]
}

/// What pages can tell.
const FAULTS: [Fault; 6] = [Fault::Missing, Fault::Operation, Fault::Size, Fault::Order, Fault::Dead, Fault::Stuck];

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_planted_fault_is_found_from_pages_alone(
        (tp, dp) in sizes(), at in any::<u64>(), who in any::<u32>(), kind in 0..FAULTS.len()
    ) {
        let (fault, rank) = (FAULTS[kind], who % (tp * dp));
        let job = Job::of_collectives(tp, dp, fault, rank, at);
        let document = judged(job.pages(LATER));
        let wanted = match fault {
            Fault::Missing => HangKind::Missing,
            Fault::Operation | Fault::Size => HangKind::Mismatch,
            Fault::Order => HangKind::Deadlock,
            Fault::Dead => HangKind::Dead,
            _ => HangKind::Library,
        };
        let (named, summary) = (named(&document), &document.verdict.summary);
        prop_assert_eq!(&document.verdict.kind, &wanted, "{:?} of {}: {}", fault, rank, summary);
        prop_assert_ne!(document.verdict.confidence, Confidence::High, "{}", summary);
        match fault {
            Fault::Stuck => prop_assert!(named.is_empty(), "{}", summary),
            Fault::Order => prop_assert!(named.contains(&rank) && named.len() <= tp.max(2) as usize, "{named:?}: {}", summary),
            Fault::Operation | Fault::Size if job.is_a_tie() => prop_assert!(named.contains(&rank), "{}", summary),
            _ => prop_assert_eq!(named, vec![rank], "{}", summary),
        }
    }

    #[test]
    fn nobody_is_named_of_a_job_that_may_run((tp, dp) in sizes(), at in any::<u64>(), who in any::<u32>(), kind in 0..FAULTS.len()) {
        let job = Job::of_collectives(tp, dp, FAULTS[kind], who % (tp * dp), at);
        let runs = [
            judged(job.pages(Duration::from_millis(500))),
            judged(FoundPages { moving: Some(1), ..job.pages(LATER) }),
        ];
        for document in runs {
            prop_assert_eq!(found(&document), (HangKind::Healthy, vec![]), "{}", document.verdict.summary);
        }
        let mut ended = job.pages(LATER);
        ended.pages.iter_mut().for_each(|found| found.is_gone = true);
        let mut ahead = job.pages(LATER);
        ahead.now_ns -= 3_600_000_000_000;
        for pages in [ended, ahead, job.pages(Duration::from_secs(5))] {
            let document = judged(pages);
            prop_assert_eq!(found(&document), (HangKind::Unclear, vec![]), "{}", document.verdict.summary);
        }
    }

    #[test]
    fn a_page_that_is_not_there_makes_nobody_else_guilty((tp, dp) in sizes(), at in any::<u64>(), who in any::<u32>()) {
        let rank = who % (tp * dp);
        let job = Job::of_collectives(tp, dp, Fault::DumpLost, rank, at);
        let document = judged(job.pages(LATER));
        let named = named(&document);
        prop_assert!(named == [rank] || named.is_empty(), "{rank}, not {named:?}: {}", document.verdict.summary);
    }

    #[test]
    fn a_process_that_is_gone_is_named_where_others_wait((tp, dp) in sizes(), at in any::<u64>(), who in any::<u32>(), inside in any::<bool>()) {
        let rank = who % (tp * dp);
        // It ended outside of collectives, or within one.
        let job = Job::of_collectives(tp, dp, if inside { Fault::Stuck } else { Fault::Missing }, rank, at);
        let mut pages = job.pages(LATER);
        pages.pages[rank as usize].is_gone = true;
        let document = judged(pages);
        prop_assert_eq!(found(&document), (HangKind::Dead, vec![rank]), "{}", document.verdict.summary);
        let says = format!("process {} has ended", 100 + rank);
        prop_assert!(document.verdict.roots[0].why.contains(&says), "{:?}", document.verdict.roots);
    }
}

#[test]
fn whoever_is_outside_for_less_than_a_minute_may_be_saving() {
    let job = Job::of_collectives(4, 2, Fault::Missing, 3, 5);
    let at = |seconds| judged(job.pages(Duration::from_secs(seconds))).verdict;
    let (soon, later) = (at(20), at(100));
    assert_eq!((soon.kind, soon.confidence, soon.roots.len()), (HangKind::Missing, Confidence::Low, 1));
    assert!(soon.summary.contains("for 20 s") && soon.summary.contains("may be saving"), "{}", soon.summary);
    assert_eq!((later.confidence, later.roots[0].rank), (Confidence::Medium, 3));
    assert!(!later.summary.contains("saving"), "{}", later.summary);
}

/// The pages with `rank` in `phase` since it came out of its last collective.
fn marked(mut pages: FoundPages, rank: u32, phase: PagePhase, before: u64, longest: Duration) -> FoundPages {
    let state = &mut pages.pages[rank as usize].page.state;
    state.mark = PageMark { phase, began_ns: state.progress_ns, before, longest_ns: longest.as_nanos() as i64 };
    pages
}

const LASTING: [(PagePhase, &str); 3] = [
    (PagePhase::Checkpoint, "is saving a checkpoint"),
    (PagePhase::Evaluation, "is evaluating"),
    (PagePhase::Initialisation, "is initialising"),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_rank_that_says_that_it_saves_is_to_blame_only_when_that_takes_longer_than_it_may(
        (tp, dp) in sizes(), at in any::<u64>(), who in any::<u32>(), phase in 0..LASTING.len(), age_s in 11_u64..4_000,
        before in 0_u64..6, longest_s in 1_u64..200,
    ) {
        let (rank, (phase, says)) = (who % (tp * dp), LASTING[phase]);
        let job = Job::of_collectives(tp, dp, Fault::Missing, rank, at);
        let limit_s = if before < 3 { 1_800 } else { (longest_s * 5).max(30) };
        let document = judged(marked(job.pages(Duration::from_secs(age_s)), rank, phase, before, Duration::from_secs(longest_s)));
        let summary = &document.verdict.summary;
        prop_assert!(summary.contains(&format!("Rank {rank} {says}")) && !summary.contains("may be saving"), "{}", summary);
        prop_assert_eq!(document.ranks[rank as usize].phase.as_deref(), Some(phase.name()));
        // When it began is a little before everybody stood still.
        if age_s < limit_s.saturating_sub(5) {
            prop_assert_eq!(found(&document), (HangKind::Healthy, vec![]), "{}", summary);
        } else if age_s > limit_s {
            prop_assert_eq!(found(&document), (HangKind::Missing, vec![rank]), "{}", summary);
            prop_assert!(document.verdict.roots[0].why.contains("has been"), "{:?}", document.verdict.roots);
        }
    }

    #[test]
    fn a_phase_of_one_rank_excuses_no_other((tp, dp) in sizes(), at in any::<u64>(), who in any::<u32>(), other in 1_u32..1_000) {
        let (rank, ranks) = (who % (tp * dp), tp * dp);
        let other = (rank + 1 + other % (ranks - 1)) % ranks;
        let job = Job::of_collectives(tp, dp, Fault::Missing, rank, at);
        let document = judged(marked(job.pages(LATER), other, PagePhase::Checkpoint, 0, Duration::ZERO));
        prop_assert_eq!(found(&document), (HangKind::Missing, vec![rank]), "{}", document.verdict.summary);
        let trains = judged(marked(job.pages(Duration::from_secs(20)), rank, PagePhase::Training, 0, Duration::ZERO));
        prop_assert_eq!(found(&trains), (HangKind::Missing, vec![rank]), "{}", trains.verdict.summary);
        prop_assert!(!trains.verdict.summary.contains("saving"), "it says that it trains: {}", trains.verdict.summary);
        let mut gone = marked(job.pages(LATER), rank, PagePhase::Checkpoint, 0, Duration::ZERO);
        gone.pages[rank as usize].is_gone = true;
        let document = judged(gone);
        prop_assert_eq!(found(&document), (HangKind::Dead, vec![rank]), "{}", document.verdict.summary);
    }
}

#[test]
fn a_job_all_of_whose_ranks_save_is_well_until_it_takes_too_long() {
    let at = |seconds: u64| {
        let mut pages = Job::of_collectives(4, 2, Fault::Stuck, 0, 5).pages(Duration::from_secs(seconds));
        for one in &mut pages.pages {
            one.page.arrivals.retain(|arrival| arrival.left_ns != 0);
            one.page.state.mark =
                PageMark { phase: PagePhase::Checkpoint, began_ns: one.page.state.progress_ns, ..PageMark::default() };
        }
        judged(pages)
    };
    let (pauses, saves, stuck) = (at(5), at(600), at(2_000));
    assert_eq!(found(&pauses), (HangKind::Healthy, vec![]), "{}", pauses.verdict.summary);
    assert_eq!(found(&saves), (HangKind::Healthy, vec![]), "{}", saves.verdict.summary);
    assert!(
        saves.verdict.summary.contains("Ranks 0 to 7 are saving a checkpoint, for 10 min. That may last up to 30 min."),
        "{}",
        saves.verdict.summary
    );
    assert_eq!(found(&stuck), (HangKind::Outside, (0..8).collect()), "{}", stuck.verdict.summary);
}

#[test]
fn groups_that_share_a_name_and_pages_that_are_full_name_nobody() {
    let job = Job::of_collectives(2, 2, Fault::Missing, 1, 1);
    let mut shared = job.pages(LATER);
    let names = shared.pages.iter_mut().flat_map(|found| &mut found.page.groups);
    names.filter(|group| group.members == 2).for_each(|group| group.name = "tp".to_owned());
    let mut full = job.pages(LATER);
    let groups = &mut full.pages[1].page.groups;
    (groups.len()..rankscope_recording::PAGE_GROUPS).for_each(|_| groups.push(groups[0].clone()));
    for (pages, why) in [(shared, "several groups have that name"), (full, "more than 16 process groups")] {
        let document = judged(pages);
        assert_eq!(found(&document), (HangKind::Unclear, vec![]), "{}", document.verdict.summary);
        assert!(document.verdict.summary.contains(why), "{}", document.verdict.summary);
    }
}

#[test]
fn pages_are_a_witness_beside_dumps() {
    let both = |fault, of: &dyn Fn(&Job) -> FoundPages| {
        let job = Job::of_collectives(4, 2, fault, 3, 5);
        let mut evidence = job.evidence();
        evidence.add_pages(of(&job));
        evidence.verdict("simulated").verdict
    };
    let agree = both(Fault::Missing, &|job| job.pages(LATER));
    let sources: Vec<_> = agree.witnesses.iter().map(|witness| (witness.source.as_str(), witness.agrees)).collect();
    assert_eq!((agree.kind, sources), (HangKind::Missing, vec![("flight_recorder", Some(true)), ("live_pages", Some(true))]));
    // Dumps of a moment ago, of a job that runs by now.
    let runs = both(Fault::Missing, &|job| FoundPages { moving: Some(0), ..job.pages(LATER) });
    assert_eq!((runs.witnesses[1].agrees, runs.confidence), (Some(false), Confidence::Medium), "{}", runs.summary);
}
