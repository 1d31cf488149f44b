//! Several exports of one rank: their parts joined say what the part of the joined trace would.

use proptest::prelude::*;
use rankscope_analyze::StepWindow;
use rankscope_document::CautionKind;
use rankscope_formats::Scope;
use rankscope_job::{Job, Part, Parts, Rules};
use rankscope_testkit::{Dialect, Job as Synthetic, Metadata};
use rankscope_trace::Trace;

use crate::bench::{document, judged, little, moved, part, place, trace};

const MINUTE_NS: i64 = 60_000_000_000;

/// The traces that `rank` of `job` left, a minute and all its steps apart.
fn exports(job: &Synthetic, rank: u32, dialect: &Dialect, count: i64) -> Vec<Trace> {
    let whole = trace(&format!("rank{rank}.json"), job.rank_bytes(rank, dialect), Scope::All);
    (0..count).map(|export| moved(whole.clone(), export * MINUTE_NS, export * i64::from(job.steps))).collect()
}

fn alone(parts: Vec<Part>) -> Job {
    let mut all = Parts::new(Rules::default());
    for (number, part) in parts.into_iter().enumerate() {
        all.add(place(number), part).expect("one part a place");
    }
    judged(all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn parts_joined_are_the_part_of_the_joined_trace(
        dialect in 0usize..14, count in 2i64..6, seed in 0u64..50,
        metadata in prop::sample::select(vec![Metadata::None, Metadata::Args, Metadata::ArgsAndSeq]),
    ) {
        let job = Synthetic { metadata, seed, group_size: Some(2), ranks: 4, ..little() };
        let exports = exports(&job, 1, &Dialect::all()[dialect].1, count);
        let own: Vec<Vec<StepWindow>> = exports.iter().map(|one| part(one.clone()).report.steps).collect();
        let mut whole = exports[0].clone();
        exports[1..].iter().for_each(|later| whole.join_export(later.clone()));
        let (mut mine, mut theirs) = (alone(exports.into_iter().map(part).collect()), alone(vec![part(whole)]));
        // Steps are those of the reports, which are looked at below.
        let of_collectives = std::mem::take(&mut mine.collectives[0].steps);
        prop_assert_eq!(of_collectives, mine.ranks[0].report.steps.iter().map(StepWindow::as_step).collect::<Vec<_>>());
        theirs.collectives[0].steps.clear();
        prop_assert_eq!(&mine.collectives, &theirs.collectives);
        let (mine, theirs) = (&mine.ranks[0], &theirs.ranks[0]);
        prop_assert_eq!(&mine.report.accounting, &theirs.report.accounting);
        prop_assert_eq!(&mine.report.names, &theirs.report.names);
        prop_assert_eq!(mine.report.copies, theirs.report.copies);
        prop_assert_eq!(&mine.report.exposed_ns, &theirs.report.exposed_ns);
        prop_assert_eq!(mine.report.step_source, theirs.report.step_source);
        // A rank's steps are those of its exports: the last one of each ends with its own work, where that of the joined trace
        // would last until the next export.
        prop_assert_eq!(&mine.report.steps, &own.concat());
        let begun = |steps: &[StepWindow]| steps.iter().map(|step| (step.number, step.start_ns)).collect::<Vec<_>>();
        prop_assert_eq!(begun(&mine.report.steps), begun(&theirs.report.steps));
        let outline = |rank: &rankscope_job::JobRank| {
            let about = &rank.about;
            let spans: u32 = rank.exports.iter().map(|export| export.spans).sum();
            (about.bytes, about.events, about.bounds_ns, about.marked_steps.clone(), about.clock_readings.clone(), about.problems.clone(), spans)
        };
        prop_assert_eq!(outline(mine), outline(theirs));
    }
}

#[test]
fn hundreds_of_exports_of_one_rank_are_joined() {
    let count = 600;
    let job = Synthetic { ranks: 1, steps: 1, layers: 1, ops_per_step: 2, ..little() };
    let found = document(
        {
            let mut all = Parts::new(Rules::default());
            for (number, one) in exports(&job, 0, &Dialect::default(), count).into_iter().enumerate() {
                all.add(place(number), part(one)).expect("one part a place");
            }
            all
        },
        None,
    );
    assert_eq!(found.ranks[0].steps.iter().map(|step| step.step).collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
    assert_eq!(found.windows.len() as i64, count);
}

#[test]
fn what_only_a_later_export_says_of_the_host_is_kept() {
    let mut parts: Vec<Part> = exports(&little(), 1, &Dialect::default(), 2).into_iter().map(part).collect();
    let said = parts[1].about.clone();
    let first = &mut parts[0].about;
    (first.host, first.device, first.world_size) = (None, None, None);
    let about = &alone(parts).ranks[0].about;
    assert!(said.host.is_some() && said.device.is_some() && said.world_size.is_some());
    assert_eq!((&about.host, &about.device, about.world_size), (&said.host, &said.device, said.world_size));
}

#[test]
fn a_rank_that_left_another_window_left_a_trace() {
    let job = little();
    let mut all = Parts::new(Rules::default());
    // Rank 0 recorded the first window, rank 2 the second, rank 1 both.
    let left = [(0, 0), (1, 0), (1, 1), (2, 1)];
    for (number, (rank, export)) in left.into_iter().enumerate() {
        all.add(place(number), part(exports(&job, rank, &Dialect::default(), 2).swap_remove(export)))
            .expect("one part a place");
    }
    let found = document(all, None);
    assert_eq!((found.world_size, found.missing_ranks.as_slice()), (Some(3), &[][..]));
    assert!(found.cautions.iter().all(|caution| caution.kind != CautionKind::MissingRank), "{:?}", found.cautions);
    let notes: Vec<&str> = found.notes.iter().map(|note| note.text.as_str()).collect();
    assert!(notes.iter().any(|note| note.contains("Rank 0 recorded none of the windows compared")), "{notes:?}");
    assert!(notes.iter().all(|note| !note.contains("left no trace") && !note.contains("stands out")), "{notes:?}");
}

/// Ranks that nothing names, each with one span: too little to tell a copy by.
#[test]
fn two_spans_are_taken_for_copies_and_one_is_not() {
    let of = |spans: u32, ranks: usize| {
        let mut all = Parts::new(Rules::default());
        let whole = trace("a.json", little().rank_bytes(0, &Dialect::default()), Scope::All);
        for number in 0..ranks {
            let mut one = part(whole.clone());
            one.about.rank = None;
            one.about.world_size = None;
            one.about.file = format!("rank{number}.json");
            one.exports[0].spans = spans;
            all.add(place(number), one).expect("one part a place");
        }
        let found = document(all, None);
        found.cautions.iter().any(|caution| caution.kind == CautionKind::SameBytes)
    };
    assert!(of(2, 2));
    assert!(!of(1, 2));
    assert!(!of(2, 1));
}
