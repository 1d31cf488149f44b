//! Budgets add up to what matched collectives expose, whatever the job; what balance is worth is what the job's truth says.

use std::fs::{self, File};
use std::path::Path;

use rankscope_document::{Budget, Link};
use rankscope_formats::{ReadOptions, read};
use rankscope_job::{Analysed, Facts, Job, Judging, Parts, Rules, judge};
use rankscope_testkit::{Dialect, Job as Synthetic, Need, NodeClock, Straggler, given};

use crate::bench::{judged, part, parts, place};

fn budgets(job: Job) -> Vec<Budget> {
    let mut analysed = Analysed::of(job, None).expect("no step is asked for");
    analysed.answer();
    analysed.document("a job").budgets
}

/// What the matched collectives of `job` expose on all ranks.
fn exposed_ns(job: &Job) -> i64 {
    let matched = job.matched.instances.iter().filter(|instance| instance.complete);
    let members = matched.flat_map(|instance| &instance.members);
    members.map(|member| job.ranks[member.rank()].report.exposed_ns[member.collective()]).sum()
}

fn assert_adds_up(budgets: &[Budget], exposed_ns: i64, name: &str) {
    for budget in budgets {
        assert_eq!(budget.wait_ns + budget.transfer_ns, budget.exposed_ns, "{name}: {budget:?}");
        assert!(budget.wait_ns >= 0 && budget.transfer_at_best_ns <= budget.transfer_ns, "{name}: {budget:?}");
    }
    assert_eq!(budgets.iter().map(|budget| budget.exposed_ns).sum::<i64>(), exposed_ns, "{name}");
}

fn straggling() -> Synthetic {
    Synthetic { ranks: 4, steps: 4, straggler: Some(Straggler { rank: 2, factor: 1.5 }), ..Synthetic::default() }
}

#[test]
fn budgets_are_the_exposed_time_of_what_is_matched() {
    let far = NodeClock { offset_ns: 850_000, drift_ppb: 30_000 };
    let jobs = [
        ("a straggler", straggling()),
        ("two dimensions", Synthetic { group_size: Some(2), ..straggling() }),
        ("wrong clocks", Synthetic { gpus_per_node: 2, clocks: vec![NodeClock::default(), far], ..straggling() }),
        ("missing collectives", Synthetic { missing: vec![(1, 3), (0, 5)], ..straggling() }),
        ("one rank", Synthetic { ranks: 1, straggler: None, ..straggling() }),
    ];
    for (name, job) in jobs {
        let job = judged(parts(&job, &Dialect::default(), &Rules::default()));
        let exposed_ns = exposed_ns(&job);
        assert_adds_up(&budgets(job), exposed_ns, name);
    }
}

#[test]
fn balance_is_worth_the_part_of_lateness_that_nothing_hides() {
    let synthetic = straggling();
    let found = budgets(judged(parts(&synthetic, &Dialect::default(), &Rules::default())));
    let late_ns = |arrivals: &[i64]| {
        let mut sorted = arrivals.to_vec();
        sorted.sort_unstable();
        sorted[3] - sorted[1]
    };
    let truth: i64 = synthetic.truth().collectives.iter().map(|one| late_ns(&one.arrival_ns)).sum::<i64>() / 4;
    let saves: i64 = found.iter().map(|budget| budget.balance_saves_ns_per_step).sum();
    // Its ranks compute during about half of their collectives.
    assert!((truth / 3..=truth).contains(&saves), "{saves} ns of {truth} ns: {found:?}");
    assert!(found.iter().all(|budget| budget.link == Link::IntraNode), "{found:?}");
}

#[test]
fn budgets_of_real_jobs_add_up() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for folder in ["jobs/crash", "jobs/fsdp", "jobs/pp", "jobs/jax", "traces/torch-gloo-4ranks", "traces/jax-cpu-2procs"] {
        let mut parts = Parts::new(Rules::default());
        for (number, path) in files(&corpus.join(folder)).into_iter().enumerate() {
            let options = ReadOptions::default().with_label(path.file_name().expect("a file").to_string_lossy());
            let Ok(mut members) = read(File::open(&path).expect("it is there"), &options) else { continue };
            let Ok(trace) = members.remove(0).trace else { continue };
            parts.add(place(number), part(trace)).expect("one part a place");
        }
        let job = judge(parts, &Facts::default(), Judging::default().with_partial(true)).expect("it can be judged");
        let exposed_ns = exposed_ns(&job);
        assert_adds_up(&budgets(job), exposed_ns, folder);
    }
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("the corpus has it").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = entries.filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}
