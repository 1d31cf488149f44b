//! Validation as one page: every rule with what it judged and found, what was found on which rank and by how much, and what to do.
//!
//! Like the report it fetches nothing, and scripts set text, never markup. Of long lists it has the first of every rule and rank, and says so.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rankscope_document::{Note, NoteLevel, Rule, RuleCount, RuleFinding, RuleWeight, ValidationDocument};
use serde::Serialize;

use super::rules::{InWords, in_words};
use super::sentence::{clocks, validation_sentences};
use crate::Error;
use crate::html::page::{Kind, Page, PageLink, Section, plain_facts};
use crate::html::{Cuts, Rows, keep};
use crate::text::rank_list;
use crate::units::counted;

/// What the script draws.
#[derive(Serialize)]
struct Shown<'a> {
    /// Those that are broken first.
    rules: Vec<ShownRule<'a>>,
    /// Everybody who is judged, or of whom something was found.
    ranks: Rows<ShownRank<'a>>,
    /// The gravest first.
    findings: Rows<ShownFinding<'a>>,
    /// What times are after.
    origin_ns: i64,
}

#[derive(Serialize)]
struct ShownRule<'a> {
    rule: &'a Rule,
    weight: &'a RuleWeight,
    judged: u64,
    found: u64,
    asks: &'static str,
    remedy: &'static str,
}

/// A rank with how many of the document's findings are about it.
#[derive(Default, Serialize)]
struct ShownRank<'a> {
    rank: u32,
    host: &'a str,
    files: Vec<&'a str>,
    violations: u64,
    losses: u64,
    warnings: u64,
    /// By how much it misses a rule at most.
    worst_ns: Option<i64>,
}

#[derive(Serialize)]
struct ShownFinding<'a> {
    rule: &'a Rule,
    weight: &'a RuleWeight,
    rank: u32,
    /// Across ranks, the one that had left.
    other: Option<u32>,
    op: &'a str,
    gap_ns: Option<i64>,
    /// After the origin.
    at_ns: Option<i64>,
    detail: &'a str,
}

/// Findings of one page.
const FINDINGS: usize = 2_000;

/// The document as a self-contained page, with ways to the pages beside it.
///
/// # Errors
/// None that a document causes: only a defect in the compiled-in template.
pub fn validation_html(document: &ValidationDocument, links: &[PageLink]) -> Result<String, Error> {
    let (shown, notes) = shown(document);
    let page = Page {
        kind: &VALIDATION,
        title: &document.title,
        version: &document.rankscope_version,
        facts: plain_facts(facts(document)),
        links,
        notes: &notes,
        banner: None,
        drawn: true,
        document: &shown,
        cuts: Cuts::default(),
    };
    page.render()
}

fn shown(document: &ValidationDocument) -> (Shown<'_>, Vec<Note>) {
    let weights: BTreeMap<&Rule, &RuleWeight> = document.rules.iter().map(|count| (&count.rule, &count.weight)).collect();
    let all: Vec<&RuleFinding> = document.details.iter().chain(&document.findings).collect();
    let origin_ns = all.iter().filter_map(|finding| finding.at_ns).min().unwrap_or(0);
    let placed = placed(&all);
    let kept = keep(&placed, FINDINGS, |_| 1, |(place, _)| *place);
    let mut rules: Vec<ShownRule<'_>> = document.rules.iter().map(rule).collect();
    rules.sort_by_key(|rule| (rule.found == 0, Reverse(rule.judged > 0)));
    let weight = |of: &RuleFinding| weights.get(&of.rule).copied().unwrap_or(&RuleWeight::Warning);
    let findings = kept.items.iter().map(|(_, of)| finding(of, weight(of), origin_ns)).collect();
    let shown = Shown { ranks: ranks(document, &all, &weights), rules, findings, origin_ns };
    (shown, notes(document, kept.items.len()))
}

fn finding<'a>(of: &'a RuleFinding, weight: &'a RuleWeight, origin_ns: i64) -> ShownFinding<'a> {
    ShownFinding {
        rule: &of.rule,
        weight,
        rank: of.rank,
        other: of.pair.as_ref().map(|pair| pair.earliest_end_rank),
        op: &of.op,
        gap_ns: of.gap_ns,
        at_ns: of.at_ns.map(|at| at.saturating_sub(origin_ns)),
        detail: &of.detail,
    }
}

/// Each finding with how many of its rule and rank stand before it.
fn placed<'a>(all: &[&'a RuleFinding]) -> Vec<(usize, &'a RuleFinding)> {
    let mut seen: BTreeMap<(&Rule, u32), usize> = BTreeMap::new();
    let place = |finding: &&'a RuleFinding| {
        let before = seen.entry((&finding.rule, finding.rank)).or_default();
        *before += 1;
        (*before - 1, *finding)
    };
    all.iter().map(place).collect()
}

fn rule(count: &RuleCount) -> ShownRule<'_> {
    let InWords { asks, remedy } = in_words(&count.rule);
    ShownRule { rule: &count.rule, weight: &count.weight, judged: count.judged, found: count.found, asks, remedy }
}

fn ranks<'a>(
    document: &'a ValidationDocument,
    all: &[&'a RuleFinding],
    weights: &BTreeMap<&Rule, &RuleWeight>,
) -> Rows<ShownRank<'a>> {
    let mut ranks: BTreeMap<u32, ShownRank<'a>> = BTreeMap::new();
    for node in &document.nodes {
        let rank = ranks.entry(node.rank).or_default();
        rank.host = node.host.as_deref().unwrap_or_default();
        if !rank.files.contains(&node.file.as_str()) {
            rank.files.push(&node.file);
        }
    }
    for finding in all {
        let rank = ranks.entry(finding.rank).or_default();
        match weights.get(&finding.rule) {
            Some(RuleWeight::Violation) => rank.violations += 1,
            Some(RuleWeight::Loss) => rank.losses += 1,
            _ => rank.warnings += 1,
        }
        rank.worst_ns = rank.worst_ns.max(finding.gap_ns);
    }
    ranks.into_iter().map(|(number, rank)| ShownRank { rank: number, ..rank }).collect()
}

/// The answer, the limits of it, and what is not in the page.
fn notes(document: &ValidationDocument, in_page: usize) -> Vec<Note> {
    let note = |level, text: String| Note { level, text };
    let mut notes: Vec<Note> = validation_sentences(document).into_iter().map(|text| note(NoteLevel::Finding, text)).collect();
    let found = document.violations + document.losses + document.warnings;
    if (in_page as u64) < found {
        let text = format!(
            "This page has {in_page} of {found} findings, the first of every rule and rank; validate --output writes more of them."
        );
        notes.push(note(NoteLevel::Caution, text));
    }
    notes.extend(document.skipped.iter().map(|text| note(NoteLevel::Problem, text.clone())));
    notes
}

fn facts(document: &ValidationDocument) -> Vec<String> {
    let mut ranks: Vec<u32> = document.nodes.iter().map(|node| node.rank).collect();
    ranks.dedup();
    let judged = document.rules.iter().filter(|rule| rule.judged > 0).count();
    let mut facts = vec![counted(ranks.len(), "rank"), format!("{} judged", counted(judged, "rule"))];
    if !document.missing_ranks.is_empty() {
        facts.push(format!("missing {}", rank_list(&document.missing_ranks, 8).replace('-', "–")));
    }
    facts.push(clocks(&document.clocks).to_owned());
    facts
}

const VALIDATION: Kind = Kind {
    name: "rankscope validate",
    kicker: "rankscope validate",
    sections: &[
        Section { id: "rules", heading: "Rules", link: "Rules" },
        Section { id: "findings-of-rules", heading: "What was found", link: "Found" },
        Section { id: "gaps", heading: "Gaps over time", link: "Gaps" },
        Section { id: "ranks", heading: "Ranks", link: "Ranks" },
    ],
    answers: false,
    tiles: false,
    no_findings: "",
    footer: "A violation cannot have happened as shown; after a loss a viewer leaves something out; a warning says that something is missing.",
    series: false,
    script: include_str!(concat!(env!("OUT_DIR"), "/validation.js")),
};

#[cfg(test)]
mod tests {
    use rankscope_document::{MissedPair, ValidationNode};

    use super::*;

    fn document() -> ValidationDocument {
        let count =
            |rule: &str, weight: &str, judged, found| RuleCount { rule: rule.into(), weight: weight.into(), judged, found };
        let pair = MissedPair { earliest_end_rank: 2, ..MissedPair::default() };
        let missed = RuleFinding {
            rule: Rule::CollectiveOverlap,
            rank: 1,
            gap_ns: Some(9),
            at_ns: Some(107),
            pair: Some(pair),
            ..RuleFinding::default()
        };
        let nested = |rank| RuleFinding { rule: Rule::Nesting, rank, at_ns: Some(100), ..RuleFinding::default() };
        let node =
            |node: usize, rank| ValidationNode { node, rank, file: format!("rank{rank}.json"), ..ValidationNode::default() };
        ValidationDocument {
            rules: vec![
                count("receive_after_send", "violation", 0, 0),
                count("collective_overlap", "violation", 8, 1),
                count("nesting", "loss", 900, 2_501),
            ],
            violations: 1,
            losses: 2_501,
            details: vec![missed],
            findings: (0..2_500).map(|_| nested(0)).chain([nested(2)]).collect(),
            nodes: vec![node(0, 0), node(1, 0), node(2, 1)],
            ..ValidationDocument::default()
        }
    }

    #[test]
    fn broken_rules_are_first_and_every_rule_and_rank_keeps_its_first_finding() {
        let document = document();
        let (shown, notes) = shown(&document);
        assert_eq!(
            shown.rules.iter().map(|rule| rule.rule.as_str()).collect::<Vec<_>>(),
            ["collective_overlap", "nesting", "receive_after_send"]
        );
        assert_eq!(shown.findings.0.len(), FINDINGS);
        let last = shown.findings.0.last().unwrap();
        assert_eq!((last.rule, last.rank), (&Rule::Nesting, 2), "the only one of its rank");
        let first = &shown.findings.0[0];
        assert_eq!((first.rank, first.other, first.gap_ns, first.at_ns), (1, Some(2), Some(9), Some(7)));
        assert!(notes.iter().any(|note| note.text.starts_with("This page has 2000 of 2502 findings")), "{notes:?}");
    }

    #[test]
    fn ranks_are_those_that_were_judged_and_those_that_something_was_found_of() {
        let document = document();
        let ranks = shown(&document).0.ranks.0;
        let of = |rank: &ShownRank<'_>| (rank.rank, rank.files.len(), rank.violations, rank.losses, rank.worst_ns);
        assert_eq!(
            ranks.iter().map(of).collect::<Vec<_>>(),
            [(0, 1, 0, 2_500, None), (1, 1, 1, 0, Some(9)), (2, 0, 0, 1, None)]
        );
    }
}
