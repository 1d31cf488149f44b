//! Jobs whose cause is known: whether the first advice names it, on the ranks that have it, and what it says that is worth.

use rankscope_document::{Advice, Document};
use rankscope_testkit::simulated::{Cause, CauseKind, Job, Truth};

use crate::answered::{answered, simulated};

/// The report's document on `job`, with all answers.
pub(crate) fn report(job: &Job) -> Document {
    answered(simulated(job))
}

/// The rules that name a cause. What a trace does not tell apart has several.
fn rules(kind: CauseKind) -> &'static [&'static str] {
    match kind {
        CauseKind::SlowKernel => &["straggler_rank", "uneven_work"],
        CauseKind::SlowHost => &["straggler_rank"],
        CauseKind::SlowLink | CauseKind::LateReceiver => &["slow_link"],
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) rule: bool,
    pub(crate) ranks: bool,
    pub(crate) name: bool,
    /// The worth beside the true one, less one.
    pub(crate) off: f64,
    /// What the cause costs, as a share of the step without it.
    pub(crate) cost: f64,
    /// The title of the first advice.
    pub(crate) said: String,
}

/// A worth this far from the truth is right.
pub(crate) const WORTH_OFF: f64 = 0.15;

impl Outcome {
    pub(crate) fn is_right(&self) -> bool {
        self.rule && self.ranks && self.name
    }

    pub(crate) fn is_near(&self) -> bool {
        self.off.abs() <= WORTH_OFF
    }
}

/// What came of `job`, which has a cause.
pub(crate) fn outcome(job: &Job) -> Outcome {
    of_advice(job, &report(job).advice)
}

fn of_advice(job: &Job, advice: &[Advice]) -> Outcome {
    let truth = job.truth();
    let worth_ns = truth.worth_ns_per_step().max(1) as f64;
    let cost = worth_ns / truth.clean_step_ns.max(1) as f64;
    let nothing = || Outcome { off: -1.0, cost, said: "nothing".to_owned(), ..Outcome::default() };
    let (Some(kind), Some(first)) = (truth.kind, advice.first()) else { return nothing() };
    let text = format!("{} {} {}", first.name, first.title, first.evidence.join(" "));
    let is_everybody = truth.ranks.len() == job.layout.ranks as usize;
    let ranks = match kind {
        // Some of the ranks on its two sides.
        CauseKind::SlowLink => !first.ranks.is_empty() && first.ranks.iter().all(|rank| truth.ranks.contains(rank)),
        _ if is_everybody => first.ranks.is_empty(),
        _ => first.ranks == truth.ranks,
    };
    Outcome {
        rule: rules(kind).contains(&first.rule.as_str()),
        ranks,
        name: truth.names.is_empty()
            || kind == CauseKind::HeavyStage
            || names(job, &truth).iter().any(|name| text.contains(name)),
        off: first.worth_ns_per_step as f64 / worth_ns - 1.0,
        cost,
        said: format!("{} {:?}: {}", first.rule.as_str(), first.ranks, first.title),
    }
}

/// What the advice has to name.
fn names(job: &Job, truth: &Truth) -> Vec<String> {
    match job.cause {
        Some(Cause::SlowLink { nodes: (one, other), .. }) => vec![format!("link between nodes {one} and {other} ")],
        // The group goes by what it is for.
        Some(Cause::LateReduction) => vec!["all_reduce of dp".to_owned()],
        _ => truth.names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

/// What the environment asks for, else `usual`.
fn asked(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// What `cargo xtask bench answers --planted` prints: a row for each cause, and before it what was not right.
#[test]
#[ignore = "a bench of minutes: `cargo xtask bench answers --planted` runs it"]
#[expect(clippy::print_stdout, reason = "its table is what it is for")]
fn planted_causes() {
    let first = asked("FIRST_SEED", 0);
    let seeds = first..first + asked("SEEDS", 20);
    let cause = std::env::var("CAUSE").ok();
    let is_wanted = |name: &str| cause.as_ref().is_none_or(|cause| cause == name);
    println!("| cause | jobs | first advice right | worth within 15 % | median error of the worth |");
    println!("|---|--:|--:|--:|--:|");
    let mut all = Vec::new();
    for kind in CauseKind::ALL.into_iter().filter(|kind| is_wanted(kind.name())) {
        let outcomes: Vec<Outcome> = seeds.clone().map(|seed| tried(kind, seed)).collect();
        println!("{}", row(kind.name(), &outcomes));
        all.extend(outcomes);
    }
    if !all.is_empty() {
        println!("{}", row("all of these", &all));
    }
    if is_wanted("none") {
        let silent = seeds.clone().filter(|seed| says_nothing(*seed)).count();
        println!("| none | {} | {silent} | | |", seeds.count());
    }
}

/// What came of the job of `kind` and `seed`; said where it is not right.
#[expect(clippy::print_stdout, reason = "it is a part of the bench's output")]
fn tried(kind: CauseKind, seed: u64) -> Outcome {
    let job = Job::drawn(Some(kind), seed);
    let one = outcome(&job);
    if !one.is_right() || !one.is_near() {
        let (off, cost, right) = (100.0 * one.off, 100.0 * one.cost, if one.is_right() { "right" } else { "wrong" });
        println!(
            "{kind}, seed {seed}, {:?}, {:?}: {right}, worth {off:+.1} % of {cost:.1} %: {}",
            job.layout, job.cause, one.said
        );
    }
    one
}

/// Whether nothing is advised on the clean job of `seed`; what is, is said.
#[expect(clippy::print_stdout, reason = "it is a part of the bench's output")]
fn says_nothing(seed: u64) -> bool {
    let job = Job::drawn(None, seed);
    let advice = report(&job).advice;
    advice.iter().for_each(|one| println!("nothing planted, seed {seed}, {:?}: {}", job.layout, one.title));
    advice.is_empty()
}

fn row(name: &str, outcomes: &[Outcome]) -> String {
    let count = |is: fn(&Outcome) -> bool| outcomes.iter().filter(|one| is(one)).count();
    let mut off: Vec<f64> = outcomes.iter().map(|one| one.off).collect();
    off.sort_by(f64::total_cmp);
    let (right, near) = (count(Outcome::is_right), count(Outcome::is_near));
    format!("| {name} | {} | {right} | {near} | {:+.1} % |", off.len(), 100.0 * off[off.len() / 2])
}
