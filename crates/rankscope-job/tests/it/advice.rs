//! Advice on jobs whose cause is known: the first names it, on the ranks that have it, and is worth what the job without it saves.

use rankscope_document::{Advice, Document};
use rankscope_testkit::simulated::{CauseKind, Job};

use crate::answered::{analysed, answered, simulated, with_executions};

/// The report's document on `job`, with all answers.
fn report(job: &Job) -> Document {
    answered(simulated(job))
}

/// The rules that name a cause. What a trace does not tell apart has several.
fn rules(kind: CauseKind) -> &'static [&'static str] {
    match kind {
        CauseKind::SlowKernel => &["straggler_rank", "uneven_work"],
        CauseKind::SlowHost => &["straggler_rank"],
        CauseKind::SlowLink => &["slow_link"],
        CauseKind::UnevenDocuments => &["uneven_work"],
        CauseKind::UnevenExperts => &["uneven_work", "straggler_rank"],
        CauseKind::DataLoader | CauseKind::PeriodicDataLoader => &["data_loader"],
        CauseKind::HeavyStage => &["heavy_stage"],
        CauseKind::ThrottledCard => &["throttled_device"],
        CauseKind::GarbageCollection => &["garbage_collection"],
        CauseKind::PageableCopies => &["pageable_copies"],
        CauseKind::Synchronization => &["synchronization"],
        CauseKind::TinyKernels => &["small_kernels"],
        CauseKind::LateReduction => &["exposed_communication"],
        CauseKind::Recompute => &["recompute"],
        CauseKind::FirstStep => &["first_steps"],
    }
}

/// How one case came out.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    rule: bool,
    ranks: bool,
    name: bool,
    /// The worth beside the true one, less one.
    off: f64,
}

impl Outcome {
    fn is_right(self) -> bool {
        self.rule && self.ranks && self.name
    }
}

fn outcome(job: &Job, advice: &[Advice]) -> Outcome {
    let truth = job.truth();
    let (Some(kind), Some(first)) = (truth.kind, advice.first()) else { return Outcome { off: -1.0, ..Outcome::default() } };
    let text = format!("{} {} {}", first.name, first.title, first.evidence.join(" "));
    let worth_ns = truth.worth_ns_per_step().max(1) as f64;
    Outcome {
        rule: rules(kind).contains(&first.rule.as_str()),
        ranks: first.ranks.is_empty() || first.ranks.iter().any(|rank| truth.ranks.contains(rank)),
        name: truth.names.is_empty()
            || matches!(kind, CauseKind::SlowLink | CauseKind::HeavyStage)
            || truth.names.iter().any(|name| text.contains(name)),
        off: first.worth_ns_per_step as f64 / worth_ns - 1.0,
    }
}

/// The job of `kind` and `seed`, of eight ranks.
fn drawn(kind: Option<CauseKind>, seed: u64) -> Job {
    Job::drawn_of(kind, seed, 8)
}

/// So many jobs of a cause are tried in one run of the tests; the bench tries more.
const SEEDS: u64 = 2;

#[test]
fn the_first_advice_names_the_planted_cause() {
    let mut wrong = Vec::new();
    for kind in CauseKind::ALL {
        for seed in 0..SEEDS {
            let job = drawn(Some(kind), seed);
            let advice = report(&job).advice;
            if !outcome(&job, &advice).is_right() {
                let first = advice.first().map_or("nothing", |one| one.title.as_str());
                wrong.push(format!("{kind} {seed}: {first}"));
            }
        }
    }
    let all = CauseKind::ALL.len() as u64 * SEEDS;
    assert!(wrong.len() as u64 * 20 <= all, "{} of {all}: {wrong:#?}", wrong.len());
}

#[test]
fn nothing_is_advised_on_clean_jobs() {
    for seed in 0..2 * SEEDS {
        let advice = report(&drawn(None, seed)).advice;
        assert!(advice.is_empty(), "seed {seed}: {advice:#?}");
    }
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

/// What `cargo xtask bench answers` prints.
#[test]
#[ignore = "a bench of minutes: `cargo xtask bench answers --planted` runs it"]
#[expect(clippy::print_stdout, reason = "its table is what it is for")]
fn planted_causes() {
    let seeds: u64 = std::env::var("SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    println!("| cause | jobs | first advice right | worth within 15 % | median error of the worth |");
    println!("|---|--:|--:|--:|--:|");
    for kind in CauseKind::ALL {
        let tried = (0..seeds).map(|seed| drawn(Some(kind), seed));
        let outcomes: Vec<Outcome> = tried.map(|job| outcome(&job, &report(&job).advice)).collect();
        let right = outcomes.iter().filter(|one| one.is_right()).count();
        let near = outcomes.iter().filter(|one| one.off.abs() <= 0.15).count();
        let mut off: Vec<f64> = outcomes.iter().map(|one| one.off).collect();
        off.sort_by(f64::total_cmp);
        println!("| {kind} | {seeds} | {right} | {near} | {:+.1} % |", 100.0 * off[off.len() / 2]);
    }
    let clean = (0..seeds).filter(|seed| report(&drawn(None, *seed)).advice.is_empty()).count();
    println!("| none | {seeds} | {clean} | | |");
}
