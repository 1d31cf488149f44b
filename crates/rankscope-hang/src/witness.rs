//! Witnesses beside the flight recorder, and how sure a verdict is with them.
//!
//! Each witness learns of the job in its own way, so that one that agrees makes a verdict surer by a step, and one that contradicts makes
//! it less sure. What launches are counted from never names anybody.

use std::collections::BTreeSet;

use rankscope_document::{Confidence, HangDocument, HangKind, HangRoot, HangSource, HangVerdict, HangWitness};

use crate::ras::{Placed, RasAnswer};
use crate::words;

/// Hears what NCCL's service says.
pub(crate) fn hear_ras(document: &mut HangDocument, answer: &RasAnswer) {
    let world = Some(document.ranks.len()).filter(|ranks| *ranks > 0);
    let placed = Placed::of(answer, world);
    if placed.unplaced > 0 {
        let who = if placed.unplaced == 1 { "1 process".to_owned() } else { format!("{} processes", placed.unplaced) };
        document.problems.push(format!(
            "NCCL's RAS service lost {who} of which it does not tell the ranks: no communicator of all ranks is known to it."
        ));
    }
    hear_state(document, &placed);
    hear_counts(document, &placed);
}

/// Ranks that are dead or do not answer.
fn hear_state(document: &mut HangDocument, placed: &Placed) {
    let silent: BTreeSet<u32> = placed.dead.union(&placed.unresponsive).copied().collect();
    if silent.is_empty() {
        return;
    }
    let said = |ranks: &BTreeSet<u32>, what: &str| {
        let ranks: Vec<u32> = ranks.iter().copied().collect();
        (!ranks.is_empty()).then(|| format!("{} {what}", words::ranks(&ranks)))
    };
    let says = [said(&placed.dead, "considered dead"), said(&placed.unresponsive, "not answering")];
    let says = format!("NCCL's RAS service: {}.", says.into_iter().flatten().collect::<Vec<_>>().join("; "));
    let roots: BTreeSet<u32> = document.verdict.roots.iter().map(|root| root.rank).collect();
    let agrees = if roots.is_empty() {
        name_silent(&mut document.verdict, placed, &silent, &says);
        Some(true)
    } else if roots.is_subset(&silent) {
        if document.verdict.kind == HangKind::Dead {
            document.verdict.summary = format!("{} {says}", document.verdict.summary);
        }
        Some(true)
    } else if document.verdict.kind == HangKind::Dead && roots.is_disjoint(&silent) {
        Some(false)
    } else {
        None
    };
    let named_by_it = roots.is_empty();
    document.verdict.witnesses.push(HangWitness { source: HangSource::RasState, agrees, says });
    if named_by_it {
        // It is the one that named them, and not one more who does.
        document.verdict.witnesses.rotate_right(1);
    }
}

/// Where nobody was to blame, who does not answer is.
fn name_silent(verdict: &mut HangVerdict, placed: &Placed, silent: &BTreeSet<u32>, says: &str) {
    let why = |rank: u32| match placed.dead.contains(&rank) {
        true => "is considered dead by NCCL's RAS service",
        false => "does not answer NCCL's RAS service",
    };
    let is_surely = !placed.dead.is_empty();
    verdict.kind = HangKind::Dead;
    verdict.confidence = if is_surely { Confidence::Medium } else { Confidence::Low };
    verdict.summary = format!("{says} Look whether the process and its node are alive.");
    verdict.roots =
        silent.iter().map(|rank| HangRoot { rank: *rank, why: why(*rank).to_owned(), ..HangRoot::default() }).collect();
}

/// Launches of collectives.
fn hear_counts(document: &mut HangDocument, placed: &Placed) {
    let roots: BTreeSet<u32> = document.verdict.roots.iter().map(|root| root.rank).collect();
    let behind: Vec<u32> = placed.behind.iter().copied().collect();
    if behind.is_empty() && placed.level.is_empty() {
        return;
    }
    let says = if behind.is_empty() {
        "NCCL's RAS service: all ranks that it counts have launched as many collectives.".to_owned()
    } else {
        format!("NCCL's RAS service: {} launched fewer collectives than others.", words::ranks(&behind))
    };
    let about_launches = matches!(document.verdict.kind, HangKind::Missing | HangKind::Mismatch | HangKind::Outside);
    let agrees = if roots.is_empty() || !about_launches {
        None
    } else if roots.iter().any(|root| placed.behind.contains(root)) {
        Some(true)
    } else if document.verdict.kind != HangKind::Mismatch && roots.iter().all(|root| placed.level.contains(root)) {
        Some(false)
    } else {
        None
    };
    if document.ranks.is_empty() && roots.is_empty() {
        document.verdict.summary = format!(
            "{says} It counts launches, which tells nobody apart from those who wait: gather the dumps of the flight recorder, or stacks."
        );
    }
    document.verdict.witnesses.push(HangWitness { source: HangSource::RasCounts, agrees, says });
}

/// Makes the verdict as sure as its witnesses are many. The first is the one that it rests on.
pub(crate) fn weigh(verdict: &mut HangVerdict) {
    if verdict.roots.is_empty() {
        return;
    }
    let said = |agrees: bool| {
        let others = verdict.witnesses.iter().skip(1).filter(|witness| witness.agrees == Some(agrees));
        others.map(|witness| witness.source.as_str()).collect::<BTreeSet<_>>().len()
    };
    let (agree, contradict) = (said(true), said(false));
    for _ in contradict..agree {
        verdict.confidence = match verdict.confidence {
            Confidence::Low => Confidence::Medium,
            Confidence::Medium | Confidence::High => Confidence::High,
        };
    }
    for _ in agree..contradict {
        verdict.confidence = match verdict.confidence {
            Confidence::High => Confidence::Medium,
            Confidence::Medium | Confidence::Low => Confidence::Low,
        };
    }
}
