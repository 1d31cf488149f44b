//! Blame of a judged job: what is known of its nodes, pipelines, clocks and steps goes in, rows and sentences come out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rankscope_analyze::{Because, Job as Analysis, Late, Side, group_name};
use rankscope_answers::blame::{self, Blamed, Culprit, Family, Input, Suspect, heavy};
use rankscope_answers::pattern::Pattern;
use rankscope_collectives::{Group, Parallelism};
use rankscope_document::{Blame, BlameGroup, BlameGroupKind, BlameGroupReason, LatePattern, Reason, ReasonKind};
use rankscope_execution::JobExecution;

use super::slowed;
use super::steps::Steps;
use crate::Job;
use crate::nodes::Nodes;

/// Reasons listed of each rank, and of each of many.
const REASONS_MAX: (usize, usize) = (12, 3);

/// Ranks from which on they are many.
const MANY_RANKS: usize = 256;

/// Who made others wait.
pub(super) struct Judged {
    /// Every rank with its reasons, most caused first.
    pub(super) rows: Vec<Blame>,
    /// Those that stand out.
    pub(super) groups: Vec<BlameGroup>,
    /// The same as it was found.
    pub(super) blamed: Blamed,
    /// Those that stand out, as they were found.
    pub(super) suspects: Vec<Suspect>,
    /// The ranks of each stage of the pipeline.
    pub(super) stages: BTreeMap<u32, Vec<usize>>,
}

/// Who made others wait and why; and who stands out.
pub(super) fn blame(job: &Job, analysis: &Analysis, graph: &JobExecution<'_>, steps: &Steps<'_>) -> Judged {
    let place = |meeting: &rankscope_execution::Meeting| steps.place(&job.matched.instances[meeting.instance]);
    let input = Input {
        job: graph,
        groups: &job.matched.groups.iter().map(label).collect::<Vec<_>>(),
        open_ns: job.open_between_ranks_ns(),
        steps: steps.numbers.len(),
        step: &graph.meetings.iter().map(place).collect::<Vec<_>>(),
        floor_ns: floor_ns(job, analysis, steps),
    };
    let blamed = blame::blame(&input);
    let stages = stages(job);
    let families =
        [nodes(job), Family { sets: stages.iter().map(|(stage, ranks)| (Culprit::Stage(*stage), ranks.clone())).collect() }];
    let mut suspects = blamed.culprits.suspects(&families);
    let mut groups: Vec<BlameGroup> = suspects.iter().map(|suspect| group(job, suspect)).collect();
    for (suspect, group) in suspects.iter().zip(&mut groups) {
        if let Culprit::Rank(rank) = suspect.culprit {
            let late: BTreeSet<i64> = blamed.culprits.late_steps(rank).map(|place| steps.numbers[place]).collect();
            if let Some(why) = slowed::said(job, rank, &late) {
                group.sentence = format!("{} {why}", group.sentence);
            }
        }
    }
    let heavy = match stages.is_empty() {
        true => analysis.verdict.late.iter().find_map(|late| busiest(job, late)),
        false => heaviest(job, analysis, steps, &stages),
    };
    if let Some((suspect, group)) = heavy {
        suspects.push(suspect);
        groups.push(group);
    }
    Judged { rows: rows(job, &blamed), groups, blamed, suspects, stages }
}

/// That most of the lateness cannot be told, and why.
pub(super) fn unanswered(job: &Job, judged: &Judged) -> Option<String> {
    let sum = |of: fn(&blame::Blame) -> i64| judged.blamed.ranks.iter().map(of).fold(0, i64::saturating_add);
    let (late_ns, uncertain_ns) = (sum(|one| one.lateness_ns), sum(|one| one.uncertain_ns.max(0)));
    let last: u64 = judged.blamed.ranks.iter().map(|one| one.last).sum();
    if late_ns <= 0 || uncertain_ns < late_ns / 2 {
        return None;
    }
    let open_ns = job.open_between_ranks_ns();
    let why = match open_ns {
        i64::MAX => "nothing bounds how far their clocks are apart".to_owned(),
        _ if open_ns >= late_ns / i64::try_from(last.max(1)).unwrap_or(i64::MAX) => {
            format!("their clocks leave {} open between two of them", crate::time(open_ns))
        }
        _ => "what they did before is not recorded, or they waited and it is not recorded for whom".to_owned(),
    };
    Some(format!(
        "Why ranks were late cannot be told for {} of the {} by which they were: {why}.",
        crate::time(uncertain_ns.min(late_ns)),
        crate::time(late_ns)
    ))
}

/// What a group is called: by what it is for, where that is known.
pub(super) fn label(group: &Group) -> String {
    Parallelism::of(group).map_or_else(|| group_name(group), |known| known.to_string())
}

/// What ranks that are alike are late by in a step anyway: threads of a host wait for a processor, devices hardly differ.
fn floor_ns(job: &Job, analysis: &Analysis, steps: &Steps<'_>) -> i64 {
    let step_ns = analysis.windows.length_ns() / steps.numbers.len().max(1) as i64;
    match job.side() {
        Side::Host => (step_ns / 33).max(1_000_000),
        Side::Device => (step_ns / 100).max(10_000),
    }
}

fn nodes(job: &Job) -> Family {
    let nodes = Nodes::of(job);
    let mut sets: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for rank in 0..job.ranks.len() {
        if let Some(node) = nodes.at(rank) {
            sets.entry(node).or_default().push(rank);
        }
    }
    Family { sets: sets.into_iter().map(|(node, ranks)| (Culprit::Node(node), ranks)).collect() }
}

/// The stages of the job's pipelines with their ranks, by the places of ranks in groups for pipelines.
fn stages(job: &Job) -> BTreeMap<u32, Vec<usize>> {
    let is_pipeline =
        |group: &&rankscope_collectives::Group| Parallelism::of(group).is_some_and(|known| known.to_string() == "pp");
    let mut stage_of: BTreeMap<usize, u32> = BTreeMap::new();
    for group in job.matched.groups.iter().filter(is_pipeline) {
        for (stage, rank) in (0..).zip(group.ranks.iter()) {
            if let Some(at) = job.index(*rank) {
                stage_of.entry(at).or_insert(stage);
            }
        }
    }
    let mut stages: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    stage_of.into_iter().for_each(|(rank, stage)| stages.entry(stage).or_default().push(rank));
    stages
}

/// The stage that computes longest.
fn heaviest(
    job: &Job,
    analysis: &Analysis,
    steps: &Steps<'_>,
    stages: &BTreeMap<u32, Vec<usize>>,
) -> Option<(Suspect, BlameGroup)> {
    let by_step = |rank: &usize| -> BTreeMap<i64, i64> {
        analysis.ranks[*rank].steps.iter().map(|(window, account)| (window.number, account.computation_ns)).collect()
    };
    let computed = |ranks: &Vec<usize>| -> Option<Vec<i64>> {
        let all: Vec<BTreeMap<i64, i64>> = ranks.iter().map(by_step).collect();
        let of_step = |number: &i64| -> Option<i64> {
            // What the least of its ranks computes: where one rank is slow, its stage is not heavy.
            all.iter().map(|own| own.get(number).copied()).collect::<Option<Vec<i64>>>()?.into_iter().min()
        };
        steps.numbers.iter().map(of_step).collect()
    };
    let (numbers, ranks): (Vec<u32>, Vec<&Vec<usize>>) = stages.iter().map(|(stage, ranks)| (*stage, ranks)).unzip();
    let found = heavy(&ranks.iter().map(|ranks| computed(ranks)).collect::<Option<Vec<_>>>()?)?;
    let number = numbers[found.stage];
    let caused_ns = found.more_ns_per_step.saturating_mul(steps.numbers.len() as i64);
    let suspect =
        Suspect { culprit: Culprit::Stage(number), ranks: ranks[found.stage].clone(), caused_ns, pattern: Pattern::Persistent };
    let more = crate::time(found.more_ns_per_step);
    let sentence = format!("Pipeline stage {number} computes {more} a step longer than any other stage.");
    Some(computes_longest(job, suspect, (BlameGroupKind::Stage, number), sentence))
}

/// The rank that limits a pipeline whose groups do not say that they are one: its messages do.
fn busiest(job: &Job, late: &Late) -> Option<(Suspect, BlameGroup)> {
    let Because::BusiestStage { busy_ns, next_ns } = late.because else { return None };
    let (number, caused_ns) = (job.ranks[late.rank].rank.0, late.delay_wall_ns);
    let suspect =
        Suspect { culprit: Culprit::Busiest(late.rank), ranks: vec![late.rank], caused_ns, pattern: Pattern::Persistent };
    let more = crate::time(busy_ns.saturating_sub(next_ns));
    let sentence = format!("Rank {number} computes {more} longer than any other rank of its pipeline.");
    Some(computes_longest(job, suspect, (BlameGroupKind::Rank, number), sentence))
}

/// What is said of a `suspect` that makes a pipeline wait in every step, beside it.
fn computes_longest(
    job: &Job,
    suspect: Suspect,
    (kind, number): (BlameGroupKind, u32),
    sentence: String,
) -> (Suspect, BlameGroup) {
    let group = BlameGroup {
        kind,
        number,
        ranks: suspect.ranks.iter().map(|rank| job.ranks[*rank].rank.0).collect(),
        because: BlameGroupReason::ComputesLongest,
        caused_ns: suspect.caused_ns,
        pattern: LatePattern::Persistent,
        every_steps: None,
        sentence,
    };
    (suspect, group)
}

fn group(job: &Job, suspect: &Suspect) -> BlameGroup {
    let (kind, number, who) = match suspect.culprit {
        Culprit::Rank(rank) | Culprit::Busiest(rank) => {
            let number = job.ranks[rank].rank.0;
            (BlameGroupKind::Rank, number, format!("Rank {number} makes others wait"))
        }
        Culprit::Node(number) => {
            (BlameGroupKind::Node, number, format!("Node {number} is slow: all of its ranks make others wait"))
        }
        Culprit::Stage(number) => {
            (BlameGroupKind::Stage, number, format!("Pipeline stage {number} is slow: all of its ranks make others wait"))
        }
    };
    let (pattern, every_steps) = pattern(suspect.pattern);
    let when = match suspect.pattern {
        Pattern::Persistent => " in most steps".to_owned(),
        Pattern::Periodic { every } => format!(" every {every} steps"),
        Pattern::Sporadic => " now and then".to_owned(),
        Pattern::None | Pattern::Unknown => String::new(),
    };
    BlameGroup {
        kind,
        number,
        ranks: suspect.ranks.iter().map(|rank| job.ranks[*rank].rank.0).collect(),
        because: BlameGroupReason::Late,
        caused_ns: suspect.caused_ns,
        pattern,
        every_steps,
        sentence: format!("{who}{when}."),
    }
}

fn pattern(pattern: Pattern) -> (LatePattern, Option<u64>) {
    match pattern {
        Pattern::Persistent => (LatePattern::Persistent, None),
        Pattern::Periodic { every } => (LatePattern::Periodic, Some(every as u64)),
        Pattern::Sporadic => (LatePattern::Sporadic, None),
        Pattern::None => (LatePattern::None, None),
        Pattern::Unknown => (LatePattern::Unknown, None),
    }
}

fn rows(job: &Job, blamed: &Blamed) -> Vec<Blame> {
    let listed = if job.ranks.len() > MANY_RANKS { REASONS_MAX.1 } else { REASONS_MAX.0 };
    let mut rows: Vec<Blame> = blamed
        .ranks
        .iter()
        .enumerate()
        .filter(|(_, blame)| blame.of > 0)
        .map(|(rank, blame)| row(job, rank, blame, listed))
        .collect();
    rows.sort_by_key(|row| (Reverse(row.caused_ns), row.rank));
    rows
}

fn row(job: &Job, rank: usize, blame: &blame::Blame, listed: usize) -> Blame {
    let (pattern, every_steps) = pattern(blame.pattern);
    let (reasons, others) = blame.reasons.split_at(blame.reasons.len().min(listed));
    Blame {
        rank: job.ranks[rank].rank.0,
        lateness_ns: blame.lateness_ns,
        caused_ns: blame.caused_ns,
        inherited_ns: blame.inherited_ns,
        uncertain_ns: blame.uncertain_ns,
        last: blame.last,
        of: blame.of,
        pattern,
        every_steps,
        other_reasons_ns: others.iter().fold(0, |sum: i64, reason| sum.saturating_add(reason.ns)),
        reasons: reasons.iter().map(|reason| reason_row(job, reason)).collect(),
    }
}

fn reason_row(job: &Job, reason: &blame::Reason) -> Reason {
    Reason {
        kind: match reason.kind {
            blame::ReasonKind::LongerKernels => ReasonKind::LongerKernels,
            blame::ReasonKind::MoreKernels => ReasonKind::MoreKernels,
            blame::ReasonKind::Host => ReasonKind::Host,
            blame::ReasonKind::Copies => ReasonKind::Copies,
            blame::ReasonKind::Transfer => ReasonKind::Transfer,
            blame::ReasonKind::Waiting => ReasonKind::Waiting,
            blame::ReasonKind::DeviceGap => ReasonKind::DeviceGap,
            blame::ReasonKind::Unrecorded => ReasonKind::Unrecorded,
        },
        name: reason.name.clone(),
        place: reason.place.clone(),
        ns: reason.ns,
        median_ns: reason.median_ns,
        because_of_rank: reason.because_of.map(|rank| job.ranks[rank].rank.0),
    }
}
