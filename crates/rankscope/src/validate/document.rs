//! What `validate --format json` prints; `docs/reference/formats/validate-json.md` describes it. Translates; decides nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rankscope_align::validate::{Finding, Meeting, Participant, Rule, Verdict, Weight};
use rankscope_trace::Trace;
use serde::Serialize;

use super::{Judged, rank_of};

/// Layout version of the document.
const SCHEMA: u32 = 1;

#[derive(Debug, Serialize)]
pub(crate) struct Document {
    schema: u32,
    rankscope_version: &'static str,
    title: String,
    pub(super) clocks: &'static str,
    /// What is odd about those.
    pub(super) notes: Vec<String>,
    nodes: Vec<Node>,
    pub(super) missing_ranks: Vec<u32>,
    skipped: Vec<String>,
    /// What cannot have happened.
    pub(crate) violations: u64,
    /// Collectives that can.
    pub(super) overlaps: u64,
    pub(super) losses: u64,
    pub(super) warnings: u64,
    pub(super) avg_gap_ns: Option<f64>,
    pub(super) max_gap_ns: Option<i64>,
    pub(super) gap_count: u64,
    pub(super) matched: u64,
    pub(super) unmatched: u64,
    pub(super) unjudged: u64,
    pub(super) rules: Vec<RuleCount>,
    pub(super) details: Vec<Detail>,
    pub(super) findings: Vec<Detail>,
}

/// Who takes part in collectives: a rank, or one device of several.
#[derive(Debug, Serialize)]
pub(super) struct Node {
    node: usize,
    rank: u32,
    host: Option<String>,
    device: Option<String>,
    file: String,
}

#[derive(Debug, Serialize)]
pub(super) struct RuleCount {
    pub(super) rule: &'static str,
    pub(super) weight: &'static str,
    pub(super) judged: u64,
    pub(super) found: u64,
}

/// One place where a rule is broken.
#[derive(Debug, Default, Serialize)]
pub(super) struct Detail {
    pub(super) rule: &'static str,
    pub(super) op: String,
    pub(super) rank: u32,
    pub(super) gap_ns: Option<i64>,
    pub(super) at_ns: Option<i64>,
    pub(super) correlation_ids: Vec<u64>,
    pub(super) detail: String,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pair: Option<Pair>,
}

/// The two ranks of a collective that missed each other.
#[derive(Debug, Serialize)]
struct Pair {
    group: String,
    occurrence: u64,
    latest_start_node: usize,
    latest_start_rank: u32,
    latest_start_time: i64,
    earliest_end_node: usize,
    earliest_end_rank: u32,
    earliest_end_time: i64,
    certain: bool,
}

impl Document {
    pub(crate) fn of(judged: &Judged, paths: &[PathBuf]) -> Self {
        let rules = rules(judged);
        let of_weight = |weight: Weight| rules.iter().filter(|rule| rule.weight == weight.name()).map(|rule| rule.found).sum();
        let gaps = || judged.meetings.iter().filter(|meeting| meeting.rule == Some(Rule::CollectiveOverlap));
        let gap_count = gaps().count() as u64;
        let total: i128 = gaps().map(|meeting| i128::from(meeting.start_gap_ns())).sum();
        Self {
            schema: SCHEMA,
            rankscope_version: env!("CARGO_PKG_VERSION"),
            title: paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" "),
            clocks: judged.evidence.clocks,
            notes: judged.evidence.notes.clone(),
            nodes: nodes(judged),
            missing_ranks: judged.evidence.missing_ranks.clone(),
            skipped: judged.evidence.skipped.clone(),
            violations: of_weight(Weight::Violation),
            overlaps: with_verdict(judged, |verdict| *verdict == Verdict::Overlap),
            losses: of_weight(Weight::Loss),
            warnings: of_weight(Weight::Warning),
            avg_gap_ns: (gap_count > 0).then(|| total as f64 / gap_count as f64),
            max_gap_ns: gaps().map(Meeting::start_gap_ns).max(),
            gap_count,
            matched: judged.meetings.len() as u64,
            unmatched: (judged.matched.instances.len() - judged.meetings.len()) as u64,
            unjudged: with_verdict(judged, |verdict| *verdict == Verdict::Unjudged),
            rules,
            details: details(judged),
            findings: findings(judged, |weight| weight != Weight::Violation),
        }
    }
}

fn with_verdict(judged: &Judged, is: impl Fn(&Verdict) -> bool) -> u64 {
    judged.meetings.iter().filter(|meeting| is(&meeting.verdict)).count() as u64
}

fn nodes(judged: &Judged) -> Vec<Node> {
    let of = |(node, participant): (usize, &Participant)| {
        let trace = &judged.evidence.traces[participant.trace];
        let device = participant.device.map(|device| {
            let track = trace.tracks.get(device);
            match trace.strings.text(track.name) {
                "" => format!("{:?}", track.key),
                name => name.to_owned(),
            }
        });
        let about = &trace.provenance;
        Node { node, rank: rank_of(trace).0, host: about.host.clone(), device, file: about.file.clone() }
    };
    judged.participants.list.iter().enumerate().map(of).collect()
}

/// Every rule with what it judged and found over all ranks, in the order the rules are told.
fn rules(judged: &Judged) -> Vec<RuleCount> {
    let mut counts: BTreeMap<Rule, (u64, u64)> = BTreeMap::new();
    let across = judged.meetings.iter().filter_map(|meeting| {
        let is_broken = matches!(meeting.verdict, Verdict::Violation { .. });
        Some((meeting.rule?, 1, u64::from(is_broken)))
    });
    let alone = judged.evidence.checks.iter().flatten().map(|check| (check.rule, check.judged, check.found));
    for (rule, judged, found) in across.chain(alone) {
        let count = counts.entry(rule).or_default();
        *count = (count.0 + judged, count.1 + found);
    }
    let all = Rule::ACROSS_RANKS.into_iter().chain(Rule::OF_TRACE);
    let count = |rule: Rule| {
        let (judged, found) = counts.get(&rule).copied().unwrap_or_default();
        RuleCount { rule: rule.name(), weight: rule.weight().name(), judged, found }
    };
    all.map(count).collect()
}

/// The violations: those across ranks, largest gap first, then those of single traces.
fn details(judged: &Judged) -> Vec<Detail> {
    let mut details: Vec<Detail> = judged.meetings.iter().filter_map(|meeting| missed(judged, meeting)).collect();
    details.sort_by_key(|detail| std::cmp::Reverse(detail.gap_ns));
    details.extend(findings(judged, |weight| weight == Weight::Violation));
    details
}

fn missed(judged: &Judged, meeting: &Meeting) -> Option<Detail> {
    let Verdict::Violation { late, early, gap_ns, certain } = meeting.verdict else { return None };
    let (late, early) = (meeting.stays[late], meeting.stays[early]);
    let rank = |participant: usize| judged.participants.collectives[participant].rank.0;
    Some(Detail {
        rule: meeting.rule.map_or("", Rule::name),
        op: meeting.op.clone(),
        rank: rank(late.participant),
        gap_ns: Some(gap_ns),
        at_ns: Some(late.start_ns),
        correlation_ids: [late, early].iter().filter_map(|stay| stay.correlation).collect(),
        detail: format!(
            "rank {} enters after rank {} has left{}",
            rank(late.participant),
            rank(early.participant),
            if certain { "" } else { ", within the uncertainty of the clocks" }
        ),
        pair: Some(Pair {
            group: meeting.group.clone(),
            occurrence: meeting.occurrence,
            latest_start_node: late.participant,
            latest_start_rank: rank(late.participant),
            latest_start_time: late.start_ns,
            earliest_end_node: early.participant,
            earliest_end_rank: rank(early.participant),
            earliest_end_time: early.end_ns,
            certain,
        }),
    })
}

fn findings(judged: &Judged, of: impl Fn(Weight) -> bool) -> Vec<Detail> {
    let of_trace = judged.evidence.traces.iter().zip(&judged.evidence.checks);
    of_trace
        .flat_map(|(trace, checks)| checks.iter().map(move |check| (trace, check)))
        .filter(|(_, check)| of(check.rule.weight()))
        .flat_map(|(trace, check)| check.findings.iter().map(|finding| told(trace, check.rule, finding)))
        .collect()
}

fn told(trace: &Trace, rule: Rule, finding: &Finding) -> Detail {
    Detail {
        rule: rule.name(),
        op: finding.op.clone(),
        rank: rank_of(trace).0,
        gap_ns: finding.gap_ns,
        at_ns: finding.at_ns,
        correlation_ids: finding.correlation.into_iter().collect(),
        detail: finding.detail.clone(),
        pair: None,
    }
}
