//! Budgets add up to what matched collectives expose, whatever the job; what balance is worth is what the job's truth says.

use rankscope_document::{Budget, Link};
use rankscope_job::{Facts, Job, Judging, Parts, Rules, judge};
use rankscope_testkit::{Dialect, Need, given};

use crate::answered::{FOLDERS, analysed, odd_jobs, recorded, straggling};
use crate::bench::{judged, part, parts, place};

fn budgets(job: Job) -> Vec<Budget> {
    analysed(job, None).document("a job").budgets
}

/// What the matched collectives of `job` expose on all ranks.
pub(crate) fn exposed_ns(job: &Job) -> i64 {
    let matched = job.matched.instances.iter().filter(|instance| instance.complete);
    let members = matched.flat_map(|instance| instance.members.iter());
    members.filter_map(|member| job.ranks[member.rank()].report.exposed_ns.get(member.collective())).sum()
}

pub(crate) fn assert_adds_up(budgets: &[Budget], exposed_ns: i64, name: &str) {
    for budget in budgets {
        assert_eq!(budget.wait_ns + budget.transfer_ns, budget.exposed_ns, "{name}: {budget:?}");
        assert!(budget.wait_ns >= 0 && budget.transfer_at_best_ns <= budget.transfer_ns, "{name}: {budget:?}");
    }
    assert_eq!(budgets.iter().map(|budget| budget.exposed_ns).sum::<i64>(), exposed_ns, "{name}");
}

#[test]
fn budgets_are_the_exposed_time_of_what_is_matched() {
    for (name, job) in odd_jobs() {
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
    for folder in FOLDERS {
        let mut parts = Parts::new(Rules::default());
        for (number, trace) in recorded(&corpus.join(folder)).into_iter().enumerate() {
            parts.add(place(number), part(trace)).expect("one part a place");
        }
        let job = judge(parts, &Facts::default(), Judging::default().with_partial(true)).expect("it can be judged");
        let exposed_ns = exposed_ns(&job);
        assert_adds_up(&budgets(job), exposed_ns, folder);
    }
}
