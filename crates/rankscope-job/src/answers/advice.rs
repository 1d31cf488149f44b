//! Advice about a judged job: what the rules are given, and what they found, in sentences.

mod words;

use rankscope_answers::advice::{Advice, Input, Sort, Whom, advise};
use rankscope_document::Advice as Row;
use rankscope_execution::{JobExecution, Path};

use super::blame::Judged;
use super::budgets::{self, Costs};
use super::links;
use crate::Job;
use crate::replayed::with_replay;
use crate::words::of_ranks;

/// Why there is none in a report of one step: nothing of the other steps is matched then, so that running the job again would let
/// ranks pass each other.
pub(super) const OF_ONE_STEP: &str = "Advice rests on all steps: leave --step out to get it.";

/// What is missing of it where no steps are marked.
pub(super) const WITHOUT_STEPS: &str =
    "No rank marks steps, so advice that counts by them is left out: pipeline bubbles, synchronisation, first steps.";

/// Why there is none on `job`, whose ranks all have graphs.
pub(super) fn why_none(job: &Job) -> Option<String> {
    let ranks = job.without_launches();
    (!ranks.is_empty()).then(|| {
        format!(
            "What would help cannot be told: no call that launched device work is recorded of {}, so that nothing is known of what its \
             streams waited for. Record CPU activities, too.",
            of_ranks(&ranks)
        )
    })
}

/// That nothing is advised on some collectives, and why.
pub(super) fn lacks_ranks(job: &Job, costs: &Costs) -> Option<String> {
    costs.sorts.iter().any(|sort| !is_whole(job, sort)).then(|| {
        "What communication costs cannot be told of groups with a rank that left no trace: waiting for it counts as transfer.".to_owned()
    })
}

/// Whether all ranks of the group left a trace, as far as its ranks are known.
fn is_whole(job: &Job, sort: &budgets::Sort) -> bool {
    job.matched.groups[sort.group].ranks.iter().all(|rank| job.index(*rank).is_some())
}

/// What was found already.
pub(super) struct Found<'a> {
    pub(super) graph: &'a JobExecution<'a>,
    pub(super) paths: &'a [Path],
    pub(super) judged: &'a Judged,
    pub(super) costs: &'a Costs,
    pub(super) links: &'a links::Found,
}

/// The advice on `job`, in the order of `advise`.
pub(super) fn advice(job: &Job, found: &Found<'_>) -> Vec<Row> {
    let sort = |sort: &budgets::Sort| Sort {
        group: sort.label.clone(),
        dimension: sort.dimension.clone(),
        over_link: sort.over_link,
        kind: sort.kind.name().to_owned(),
        is_message: sort.kind.is_message(),
        ranks: &found.costs.members[sort.group],
        budget: sort.budget,
    };
    let begins_ns: Vec<Option<i64>> = job.ranks.iter().map(|rank| Some(rank.report.steps.first()?.start_ns)).collect();
    with_replay(job, found.graph, |replay| {
        let advice = advise(&Input {
            job: found.graph,
            replay,
            paths: found.paths,
            blamed: &found.judged.blamed,
            suspects: &found.judged.suspects,
            sorts: &found.costs.sorts.iter().filter(|sort| is_whole(job, sort)).map(sort).collect::<Vec<_>>(),
            slow_links: &found.links.slow,
            late_out: found.costs.late_out.as_ref(),
            begins_ns: &begins_ns,
            stages: &found.judged.stages.values().cloned().collect::<Vec<_>>(),
        });
        let whole = words::Whole { ns: replay.observed_step_ns(), is_step: replay.steps() > 0 };
        advice.iter().map(|one| row(job, one, whole)).collect()
    })
}

fn row(job: &Job, advice: &Advice, whole: words::Whole) -> Row {
    let ranks: Vec<u32> = advice.ranks.iter().map(|rank| job.ranks[*rank].rank.0).collect();
    let words = words::words(advice, &ranks, whole);
    Row {
        rule: advice.rule.name().into(),
        title: words.title,
        worth_ns_per_step: advice.worth.ns,
        lo_ns: advice.worth.lo_ns,
        hi_ns: advice.worth.hi_ns,
        ranks: if advice.whom == Whom::All { Vec::new() } else { ranks },
        name: advice.name.clone(),
        evidence: words.evidence,
        check: words.check,
        remedy: words.remedy,
    }
}
