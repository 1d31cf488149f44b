//! A known change, made in the traces of a job, is the first contribution: by kind, name and rank.

use rankscope_compare::{Settings, Side, compare};
use rankscope_document::{CompareDocument, Contribution, ContributionKind};
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{Cards, Judging, Rules, TableSet};
use rankscope_pipeline::{Keep, Mapping, Quiet, Reading, Request, SideRequest, read_sides};
use rankscope_testkit::planted::{Device, PlantedJob};
use rankscope_testkit::{Job, Need, given};

/// What is planted, and what has to be said of it first.
struct Case {
    what: &'static str,
    change: fn(&mut PlantedJob),
    /// Whether the planted job is the base.
    reversed: bool,
    kind: ContributionKind,
    name: String,
    /// The rank it has to be said of; any where it was planted in all.
    rank: Option<u32>,
    /// What the reason given contains.
    detail: &'static str,
}

fn case(what: &'static str, kind: ContributionKind, name: &str, rank: Option<u32>, change: fn(&mut PlantedJob)) -> Case {
    Case { what, change, reversed: false, kind, name: name.to_owned(), rank, detail: "" }
}

impl Case {
    fn reversed(self) -> Self {
        Self { reversed: true, ..self }
    }

    fn because(self, detail: &'static str) -> Self {
        Self { detail, ..self }
    }
}

fn side(job: &PlantedJob, label: &str) -> Side {
    let folder = tempfile::tempdir().expect("a temporary directory");
    job.write(folder.path());
    let reading = Reading { args: ArgsPolicy::All, scope: Scope::All };
    let mapping =
        Mapping { reading, rules: Rules::default(), keep: Keep::Nothing, cards: Cards::default(), tables: TableSet::ALL };
    let like = Request { paths: Vec::new(), clocks: None, mapping, judging: Judging::default() };
    let asked = SideRequest { label: label.to_owned(), paths: vec![folder.path().to_owned()] };
    read_sides(&[asked], &like, &Quiet).expect("the job can be judged").remove(0)
}

fn laws(document: &CompareDocument, what: &str) {
    let pair = &document.first;
    let sum: i64 = pair.contributions.iter().map(|part| part.delta_ns).sum();
    assert_eq!(sum, pair.step_delta_ns, "{what}: contributions add up");
    let classes: i64 = pair.classes.iter().map(|class| class.delta_ns).sum();
    assert_eq!(classes, pair.step_delta_ns, "{what}: classes add up");
    for rank in &pair.ranks {
        let parts = rank.computation_delta_ns + rank.exposed_comm_delta_ns + rank.exposed_memcpy_delta_ns + rank.idle_delta_ns;
        assert_eq!(parts, rank.delta_ns, "{what}: rank {} adds up", rank.rank);
    }
}

fn check(job: &PlantedJob, cases: Vec<Case>) {
    let base = side(job, "base");
    let same = compare(&[base.clone(), base.clone()], &Settings::default());
    assert!(same.first.contributions.is_empty() && same.first.step_delta_ns == 0, "nothing was changed");
    let mut missed = Vec::new();
    for case in cases {
        let mut planted = job.clone();
        (case.change)(&mut planted);
        let planted = side(&planted, "test");
        let sides = if case.reversed { [planted, base.clone()] } else { [base.clone(), planted] };
        let document = compare(&sides, &Settings::default());
        laws(&document, case.what);
        let first = document.first.contributions.first().cloned().unwrap_or_default();
        let is_found = |first: &Contribution| {
            first.kind == case.kind
                && first.name.contains(&case.name)
                && case.rank.is_none_or(|rank| first.rank == Some(rank))
                && first.detail.as_deref().unwrap_or("").contains(case.detail)
        };
        if !is_found(&first) {
            let line = |part: &Contribution| {
                format!("  {} {} {} rank {:?}: {:?}", part.delta_ns, part.kind, part.name, part.rank, part.detail)
            };
            let shown: Vec<String> = document.first.contributions.iter().take(6).map(line).collect();
            missed.push(format!("{}: paced by {:?}\n{}", case.what, document.first.paced_by, shown.join("\n")));
        }
    }
    assert!(missed.is_empty(), "{} changes are not named first:\n{}", missed.len(), missed.join("\n"));
}

fn corpus(name: &str) -> Option<Vec<u8>> {
    let path = given(Need::Corpus)?.join("traces/kineto").join(name);
    Some(std::fs::read(path).expect("the corpus has it"))
}

#[test]
fn changes_in_a_trace_of_data_parallel_training_are_named_first() {
    use ContributionKind::{CollectiveTransfer, Copy, Idle, Operator, Overlap, StepMarks};
    let Some(trace) = corpus("a100_nccl_data.json.gz") else { return };
    let convolution = "aten::cudnn_convolution";
    let cases = vec![
        case("an operator is slower on one rank", Operator, convolution, Some(1), |job| {
            job.slow(1, Device::Operator("aten::cudnn_convolution"), 1.5);
        })
        .because("slower by 50.0 %"),
        case("a small operator is slower on one rank", Operator, "aten::addmm", Some(1), |job| {
            job.slow(1, Device::Operator("aten::addmm"), 1.5);
        }),
        case("an operator is faster on one rank", Operator, "aten::add_", Some(0), |job| {
            job.slow(0, Device::Operator("aten::add_"), 1.5);
        })
        .reversed(),
        case("an operator is slower on all ranks", Operator, "aten::cudnn_batch_norm_backward", None, |job| {
            job.slow_on_all(Device::Operator("aten::cudnn_batch_norm_backward"), 1.5);
        }),
        case("a collective's size is doubled", CollectiveTransfer, "all_reduce.Float.2049000", None, |job| {
            job.double_collective(2_049_000);
        })
        .because("all_reduce.Float.4098000"),
        case("a kernel is swapped for one that is as fast", Operator, "aten::cudnn_batch_norm", Some(1), |job| {
            job.rename(&[1], Device::Operator("aten::cudnn_batch_norm"), "another_batch_norm(float*)");
        })
        .because("another_batch_norm"),
        case("a kernel is swapped for one that is slower", Operator, "aten::threshold_backward", None, |job| {
            job.slow_on_all(Device::Operator("aten::threshold_backward"), 1.4);
            job.rename(&[0, 1], Device::Operator("aten::threshold_backward"), "another_threshold(float*)");
        })
        .because("another_threshold"),
        case("the mark of an inner step is lost", StepMarks, "step 5", None, |job| job.lose_mark(&[0, 1], 5)),
        case("the mark of the first step is lost on one rank", StepMarks, "step 4", Some(1), |job| job.lose_mark(&[1], 4)),
        case("the mark of the last step is lost", StepMarks, "step 6", None, |job| job.lose_mark(&[0, 1], 6)),
        case("an operator is new on one rank", Operator, "planted::work", Some(0), |job| {
            job.add_operator(0, "aten::mean", "planted::work", 2_000_000);
        })
        .because("new, 1 a step"),
        case("an operator is gone from one rank", Operator, "planted::work", Some(1), |job| {
            job.add_operator(1, "aten::mean", "planted::work", 2_000_000);
        })
        .because("gone, was 1 a step")
        .reversed(),
        case("the host of one rank is late", Idle, "host_wait", Some(1), |job| job.delay_launches(1, 30, 400_000)),
        case("no kernel runs beside a collective any more", Overlap, "all_reduce.Float.6563840@", None, |job| {
            job.lose_overlap(&[0, 1], 6_563_840);
        })
        .because("→ 0.0 % of it"),
        case("no kernel runs beside a collective any more on one rank", Overlap, "all_reduce.Float.7875584@", Some(1), |job| {
            job.lose_overlap(&[1], 7_875_584);
        })
        .because("→ 0.0 % of it"),
        case("kernels run beside a collective that was alone", Overlap, "all_reduce.Float.6637568@", None, |job| {
            job.lose_overlap(&[0, 1], 6_637_568);
        })
        .because("0.0 → ")
        .reversed(),
        case("copies are slower on one rank", Copy, "Memcpy", Some(1), |job| {
            job.slow(1, Device::Named("Memcpy DtoD (Device -> Device)"), 3.0);
        }),
    ];
    check(&PlantedJob::alike(&trace, 2), cases);
}

#[test]
fn changes_in_a_trace_with_shapes_are_named_first() {
    use ContributionKind::{Operator, StepMarks};
    let Some(trace) = corpus("sampled_rank-0_of_128.json.gz") else { return };
    let job = PlantedJob::alike(&trace, 4);
    let (operator, _) = longest(&job);
    let cases = vec![
        case("an operator of one shape is slower on one rank", Operator, &operator, Some(2), |job| {
            let (operator, shapes) = longest(job);
            job.slow(2, Device::Shapes(&operator, &shapes), 1.5);
        }),
        case("an operator of all shapes is slower on one rank", Operator, &operator, Some(3), |job| {
            let (operator, _) = longest(job);
            job.slow(3, Device::Operator(&operator), 1.5);
        }),
        case("shapes are others, and as fast", Operator, &operator, None, |job| {
            let (operator, shapes) = longest(job);
            job.change_shapes(&[0, 1, 2, 3], &operator, &shapes, "[[77,7],[7,77]]");
        })
        .because("77x7"),
        case("shapes are others on one rank, and slower", Operator, &operator, Some(1), |job| {
            let (operator, shapes) = longest(job);
            job.slow(1, Device::Shapes(&operator, &shapes), 1.3);
            job.change_shapes(&[1], &operator, &shapes, "[[77,7],[7,77]]");
        })
        .because("77x7"),
        case("the mark of the first of two steps is lost", StepMarks, "step 551", None, |job| {
            job.lose_mark(&[0, 1, 2, 3], 551);
        }),
        case("a kernel is swapped on one rank", Operator, &operator, Some(2), |job| {
            let (operator, _) = longest(job);
            job.rename(&[2], Device::Operator(&operator), "another_kernel(float*)");
        }),
    ];
    check(&job, cases);
}

#[test]
fn a_missing_rank_is_said_first_and_the_others_are_compared() {
    let Some(trace) = corpus("sampled_rank-0_of_128.json.gz") else { return };
    let whole = PlantedJob::alike(&trace, 4);
    let mut without = whole.clone();
    without.lose_rank(2);
    let said = "rank 2 is missing from test, so only the 3 ranks that all runs have can be compared";
    for (base, test, said) in [(&whole, &without, said), (&without, &whole, &said.replace("test", "base"))] {
        let document = compare(&[side(base, "base"), side(test, "test")], &Settings::default());
        assert!(document.notes[0].text.starts_with(said), "{:?}", document.notes);
        assert_eq!(document.first.ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>(), [0, 1, 3]);
        assert!(document.first.contributions.is_empty() && document.first.step_delta_ns == 0, "{:?}", document.first);
    }
    // Of two ranks one is left, whose collectives have no counterpart: its own work is compared all the same.
    let two = PlantedJob::alike(&trace, 2);
    let mut alone = two.clone();
    alone.lose_rank(1);
    let document = compare(&[side(&two, "base"), side(&alone, "test")], &Settings::default());
    assert!(document.notes[0].text.starts_with("rank 1 is missing from test, so only rank 0 can be compared"));
    assert!(document.first.contributions.is_empty(), "{:?}", document.first.contributions);
    let (operator, _) = longest(&whole);
    without.slow(1, Device::Operator(&operator), 1.5);
    let document = compare(&[side(&whole, "base"), side(&without, "test")], &Settings::default());
    laws(&document, "a rank is missing");
    let first = &document.first.contributions[0];
    assert!(first.kind == ContributionKind::Operator && first.name.contains(&operator), "{first:?}");
    assert_eq!(first.rank, Some(1), "{first:?}");
}

/// The operator with shapes that devices work longest for.
fn longest(job: &PlantedJob) -> (String, String) {
    job.operators(0).into_iter().find(|(_, shapes)| shapes.starts_with("[[")).expect("shapes are recorded")
}

#[test]
fn changes_in_a_synthetic_job_are_named_first() {
    use ContributionKind::{CollectiveTransfer, Idle, Operator, StepMarks};
    let job = PlantedJob::of(&Job { ranks: 4, steps: 6, ..Job::default() }.all_ranks());
    let (operator, _) = job.operators(0).swap_remove(0);
    let cases = vec![
        case("an operator is slower on the last rank", Operator, &operator, Some(3), |job| {
            let (operator, _) = job.operators(0).swap_remove(0);
            job.slow(3, Device::Operator(&operator), 1.5);
        }),
        case("an operator is slower on the first rank", Operator, &operator, Some(0), |job| {
            let (operator, _) = job.operators(0).swap_remove(0);
            job.slow(0, Device::Operator(&operator), 1.5);
        }),
        case("the mark of an inner step is lost on one rank", StepMarks, "step 3", Some(2), |job| job.lose_mark(&[2], 3)),
        case("a collective's size is doubled", CollectiveTransfer, "all_reduce.BFloat16.131072", None, |job| {
            job.double_collective(131_072);
        }),
        case("the host of one rank is late", Idle, "host_wait", Some(1), |job| job.delay_launches(1, 4, 1_000_000)),
    ];
    check(&job, cases);
}
