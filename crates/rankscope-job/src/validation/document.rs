//! What `validate --format json` prints; `docs/reference/formats/validate-json.md` describes it. Translates; decides nothing.

use std::collections::BTreeMap;

use rankscope_align::validate::{Device, Finding, Meeting, Participant, Rule, Verdict, Weight};
use rankscope_document::{MissedPair, RuleCount, RuleFinding, RuleWeight, ValidationDocument, ValidationNode};
use rankscope_time::Rank;

use super::{Origin, Validated};

/// Layout version of the document.
const SCHEMA: u32 = 1;

/// The document of `judged`, called `title`.
pub fn validation_document(judged: &Validated, title: String) -> ValidationDocument {
    let rules = rules(judged);
    let of_weight = |weight: RuleWeight| rules.iter().filter(|rule| rule.weight == weight).map(|rule| rule.found).sum();
    let gaps = || judged.meetings.iter().filter(|meeting| meeting.rule == Some(Rule::CollectiveOverlap));
    let gap_count = gaps().count() as u64;
    let total: i128 = gaps().map(|meeting| i128::from(meeting.start_gap_ns())).sum();
    ValidationDocument {
        schema: SCHEMA,
        rankscope_version: env!("CARGO_PKG_VERSION").to_owned(),
        title,
        clocks: judged.evidence.clocks.into(),
        notes: judged.evidence.notes.clone(),
        nodes: nodes(judged),
        missing_ranks: judged.evidence.missing_ranks.clone(),
        skipped: judged.evidence.skipped.clone(),
        violations: of_weight(RuleWeight::Violation),
        overlaps: with_verdict(judged, |verdict| *verdict == Verdict::Overlap),
        losses: of_weight(RuleWeight::Loss),
        warnings: of_weight(RuleWeight::Warning),
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

fn with_verdict(judged: &Validated, is: impl Fn(&Verdict) -> bool) -> u64 {
    judged.meetings.iter().filter(|meeting| is(&meeting.verdict)).count() as u64
}

fn nodes(judged: &Validated) -> Vec<ValidationNode> {
    let of = |(node, participant): (usize, &Participant)| {
        let Origin { rank, host, file } = &judged.evidence.ranks[participant.rank];
        let devices = &judged.evidence.found[participant.rank].devices;
        let device = participant.device.and_then(|device| devices.get(device)).map(Device::label);
        ValidationNode { node, rank: rank.0, host: host.clone(), device, file: file.clone() }
    };
    judged.participants.list.iter().enumerate().map(of).collect()
}

/// Every rule with what it judged and found over all ranks, in the order the rules are told.
fn rules(judged: &Validated) -> Vec<RuleCount> {
    let mut counts: BTreeMap<Rule, (u64, u64)> = BTreeMap::new();
    let across = judged.meetings.iter().filter_map(|meeting| {
        let is_broken = matches!(meeting.verdict, Verdict::Violation { .. });
        Some((meeting.rule?, 1, u64::from(is_broken)))
    });
    let alone = judged.evidence.found.iter().flat_map(|rank| &rank.checks).map(|check| (check.rule, check.judged, check.found));
    for (rule, judged, found) in across.chain(alone) {
        let count = counts.entry(rule).or_default();
        *count = (count.0 + judged, count.1 + found);
    }
    let all = Rule::ACROSS_RANKS.into_iter().chain(Rule::OF_TRACE);
    let count = |rule: Rule| {
        let (judged, found) = counts.get(&rule).copied().unwrap_or_default();
        RuleCount { rule: rule.name().into(), weight: rule.weight().name().into(), judged, found }
    };
    all.map(count).collect()
}

/// The violations: those across ranks, largest gap first, then those of single traces.
fn details(judged: &Validated) -> Vec<RuleFinding> {
    let mut details: Vec<RuleFinding> = judged.meetings.iter().filter_map(|meeting| missed(judged, meeting)).collect();
    details.sort_by_key(|detail| std::cmp::Reverse(detail.gap_ns));
    details.extend(findings(judged, |weight| weight == Weight::Violation));
    details
}

fn missed(judged: &Validated, meeting: &Meeting) -> Option<RuleFinding> {
    let Verdict::Violation { late, early, gap_ns, certain } = meeting.verdict else { return None };
    let (late, early) = (meeting.stays[late], meeting.stays[early]);
    let rank = |participant: usize| judged.participants.collectives[participant].rank.0;
    Some(RuleFinding {
        rule: meeting.rule.map_or("", Rule::name).into(),
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
        pair: Some(MissedPair {
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

fn findings(judged: &Validated, of: impl Fn(Weight) -> bool) -> Vec<RuleFinding> {
    let of_rank = judged.evidence.ranks.iter().zip(&judged.evidence.found);
    of_rank
        .flat_map(|(origin, found)| found.checks.iter().map(move |check| (origin.rank, check)))
        .filter(|(_, check)| of(check.rule.weight()))
        .flat_map(|(rank, check)| check.findings.iter().map(move |finding| told(rank, check.rule, finding)))
        .collect()
}

fn told(rank: Rank, rule: Rule, finding: &Finding) -> RuleFinding {
    RuleFinding {
        rule: rule.name().into(),
        op: finding.op.clone(),
        rank: rank.0,
        gap_ns: finding.gap_ns,
        at_ns: finding.at_ns,
        correlation_ids: finding.correlation.into_iter().collect(),
        detail: finding.detail.clone(),
        pair: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_weights_are_words_of_the_document() {
        for rule in Rule::ACROSS_RANKS.into_iter().chain(Rule::OF_TRACE) {
            let word = rankscope_document::Rule::from(rule.name());
            assert!(!matches!(word, rankscope_document::Rule::Other(_)), "{word}");
            assert!(!matches!(RuleWeight::from(rule.weight().name()), RuleWeight::Other(_)));
        }
    }
}
