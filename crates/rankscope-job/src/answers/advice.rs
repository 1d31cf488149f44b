//! Advice about a judged job: what the rules are given, and what they found, in sentences.

mod words;

use rankscope_answers::advice::{Advice, Input, Sort, Whom, advise};
use rankscope_answers::budgets::Budget;
use rankscope_document::{Advice as Row, Budget as BudgetRow};
use rankscope_execution::replay::{Replay, Scene};
use rankscope_execution::{JobExecution, Path};

use super::blame::Judged;
use crate::Job;
use crate::collective_tables::groups;
use crate::nodes::Nodes;

/// What was found already.
pub(super) struct Found<'a> {
    pub(super) graph: &'a JobExecution<'a>,
    pub(super) paths: &'a [Path],
    pub(super) judged: &'a Judged,
    pub(super) budgets: &'a [BudgetRow],
}

/// The advice on `job`, what is worth most first.
pub(super) fn advice(job: &Job, found: &Found<'_>) -> Vec<Row> {
    let windows: Vec<&[rankscope_analyze::StepWindow]> = job.ranks.iter().map(|rank| rank.report.steps.as_slice()).collect();
    let replay = Replay::of(Scene { job: found.graph, collectives: &job.collectives, windows: &windows, nodes: &job.nodes });
    let advice = advise(&Input {
        job: found.graph,
        replay: &replay,
        paths: found.paths,
        blamed: &found.judged.blamed,
        suspects: &found.judged.suspects,
        sorts: &sorts(job, found.budgets),
        begins_ns: &windows.iter().map(|own| Some(own.first()?.start_ns)).collect::<Vec<_>>(),
        stages: &found.judged.stages.values().cloned().collect::<Vec<_>>(),
    });
    let step_ns = replay.unchanged().step_ns;
    advice.iter().map(|one| row(job, one, step_ns)).collect()
}

/// The sorts of collectives with their ranks.
fn sorts(job: &Job, budgets: &[BudgetRow]) -> Vec<Sort> {
    let facts = groups(job, &Nodes::of(job));
    let index = |rank: &rankscope_time::Rank| job.ranks.iter().position(|one| one.rank == *rank);
    let sort = |row: &BudgetRow| {
        let of = facts.iter().find(|facts| facts.label == row.group)?;
        Some(Sort {
            group: row.group.clone(),
            kind: row.kind.as_str().to_owned(),
            is_message: matches!(row.kind.as_str(), "send" | "recv" | "send_recv"),
            ranks: of.members.iter().filter_map(index).collect(),
            budget: Budget {
                count: row.count,
                exposed_ns: row.exposed_ns,
                wait_ns: row.wait_ns,
                transfer_ns: row.transfer_ns,
                transfer_at_best_ns: row.transfer_at_best_ns,
                clock_ns: row.clock_ns,
                balance_saves_ns_per_step: row.balance_saves_ns_per_step,
                network_saves_ns_per_step: row.network_saves_ns_per_step,
            },
        })
    };
    budgets.iter().filter_map(sort).collect()
}

fn row(job: &Job, advice: &Advice, step_ns: i64) -> Row {
    let ranks: Vec<u32> = advice.ranks.iter().map(|rank| job.ranks[*rank].rank.0).collect();
    let words = words::words(advice, &ranks, step_ns);
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
