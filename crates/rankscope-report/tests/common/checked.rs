//! What validation finds in a job whose second node's clock is wrong.

use rankscope_document::{MissedPair, RuleCount, RuleFinding, ValidationDocument, ValidationNode};

use super::{Chance, HOSTILE, MS};

/// Sixteen ranks on two nodes; every rule that could be judged was.
pub(crate) fn document() -> ValidationDocument {
    let mut chance = Chance(16);
    let details: Vec<RuleFinding> = (0..60).map(|at| missed(at, &mut chance)).collect();
    let findings: Vec<RuleFinding> = (0..40).map(|at| nested(at, &mut chance)).chain([damaged()]).collect();
    let rule = |rule: &str, weight: &str, judged, found| RuleCount { rule: rule.into(), weight: weight.into(), judged, found };
    let node = |rank: u32| ValidationNode {
        node: rank as usize,
        rank,
        host: Some(format!("node{:02}", rank / 8)),
        device: None,
        file: format!("rank{rank}_trace.json.gz"),
    };
    ValidationDocument {
        schema: 1,
        rankscope_version: "0.1.0".to_owned(),
        title: "runs/two-nodes".to_owned(),
        clocks: "as_recorded".into(),
        nodes: (0..16).map(node).collect(),
        missing_ranks: vec![16],
        skipped: vec!["notes.txt: it is no trace".to_owned()],
        violations: 60,
        overlaps: 340,
        losses: 40,
        warnings: 1,
        avg_gap_ns: Some(2_300_400.5),
        max_gap_ns: Some(61 * MS),
        gap_count: 400,
        matched: 400,
        unmatched: 3,
        rules: vec![
            rule("collective_overlap", "violation", 400, 60),
            rule("receive_after_send", "violation", 0, 0),
            rule("kernel_after_launch", "violation", 51_200, 0),
            rule("nesting", "loss", 412_000, 40),
            rule("damage", "warning", 16, 1),
        ],
        details,
        findings,
        ..ValidationDocument::default()
    }
}

fn missed(at: i64, chance: &mut Chance) -> RuleFinding {
    let (late, early) = (8 + chance.below(8) as u32, chance.below(8) as u32);
    RuleFinding {
        rule: "collective_overlap".into(),
        op: "all_reduce".to_owned(),
        rank: late,
        gap_ns: Some((60 - at) * MS + chance.below(MS)),
        at_ns: Some(1_795_000_000_123_456_789 + at * 31 * MS),
        detail: format!("rank {late} enters after rank {early} has left"),
        pair: Some(MissedPair {
            group: "default_pg".to_owned(),
            earliest_end_rank: early,
            certain: true,
            ..MissedPair::default()
        }),
        ..RuleFinding::default()
    }
}

fn nested(at: i64, chance: &mut Chance) -> RuleFinding {
    RuleFinding {
        rule: "nesting".into(),
        op: if at == 3 { HOSTILE.to_owned() } else { "aten::copy_".to_owned() },
        rank: chance.below(3) as u32,
        gap_ns: Some(1 + chance.below(9_000)),
        at_ns: Some(1_795_000_000_123_456_789 + at * 7 * MS),
        detail: "ends after the span around it".to_owned(),
        ..RuleFinding::default()
    }
}

fn damaged() -> RuleFinding {
    RuleFinding {
        rule: "damage".into(),
        rank: 3,
        detail: "the file ends in the middle of an event".to_owned(),
        ..RuleFinding::default()
    }
}
