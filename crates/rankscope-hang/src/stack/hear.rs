//! What stacks and states of processes add to a verdict.

use rankscope_document::{Confidence, HangDocument, HangKind, HangRoot, HangSource, HangWitness};

use super::{Doing, Observed, ProcessState, as_document, groups};
use crate::words;

/// Hears what was seen of processes.
pub(crate) fn hear(document: &mut HangDocument, observed: &[Observed]) {
    if observed.is_empty() {
        return;
    }
    let doings: Vec<Doing<'_>> = observed.iter().map(Doing::of).collect();
    let groups = groups(&doings);
    document.stacks = groups.iter().map(|group| as_document(group)).collect();
    let witness = if document.verdict.roots.is_empty() { name(document, &doings, &groups) } else { confirm(document, &doings) };
    let names = !document.verdict.roots.is_empty() && document.verdict.witnesses.iter().all(|witness| witness.agrees.is_none());
    document.verdict.witnesses.extend(witness);
    if names {
        // It is the one that the answer rests on.
        document.verdict.witnesses.rotate_right(1);
    }
}

/// What is seen of the ranks that are named already.
fn confirm(document: &mut HangDocument, doings: &[Doing<'_>]) -> Option<HangWitness> {
    let kind = document.verdict.kind.clone();
    let mut says = Vec::new();
    let (mut agree, mut contradict, mut outside, mut gone) = (0, 0, 0, 0);
    for root in &mut document.verdict.roots {
        let Some(doing) = doings.iter().find(|doing| doing.seen.rank == Some(root.rank)) else { continue };
        let seen = what(doing);
        match (doing.seen.state, doing.communicates()) {
            (ProcessState::Gone, _) => (agree, gone) = (agree + 1, gone + 1),
            (ProcessState::Stopped, _) => (agree, outside) = (agree + 1, outside + 1),
            (_, Some(false)) if kind == HangKind::Missing => (agree, outside) = (agree + 1, outside + 1),
            (_, Some(true)) if kind == HangKind::Missing => contradict += 1,
            (_, Some(true)) if matches!(kind, HangKind::Deadlock | HangKind::Mismatch | HangKind::P2p) => agree += 1,
            (_, Some(_)) if kind == HangKind::Dead => contradict += 1,
            _ => {}
        }
        if let Some(seen) = seen {
            says.push(format!("Rank {} {seen}.", root.rank));
            root.why = format!("{}; {seen}", root.why);
        }
    }
    let verdict = &mut document.verdict;
    let first = says.first().cloned()?;
    if kind == HangKind::Missing && outside == verdict.roots.len() {
        verdict.kind = HangKind::Outside;
        verdict.summary = format!("{} It is stalled outside of communication: {first}", verdict.summary);
    } else if kind == HangKind::Missing && gone == verdict.roots.len() {
        verdict.kind = HangKind::Dead;
        verdict.summary = format!("{} {first}", verdict.summary);
    }
    let agrees = if contradict > 0 { Some(false) } else { (agree > 0).then_some(true) };
    Some(HangWitness { source: HangSource::Stacks, agrees, says: says.join(" ") })
}

/// Whom stacks name where nobody else does.
fn name(document: &mut HangDocument, doings: &[Doing<'_>], groups: &[Vec<&Doing<'_>>]) -> Option<HangWitness> {
    let lost: Vec<&Doing<'_>> =
        doings.iter().filter(|doing| matches!(doing.seen.state, ProcessState::Stopped | ProcessState::Gone)).collect();
    if !lost.is_empty() && lost.len() < doings.len() {
        return Some(blame(document, &lost, Confidence::Medium));
    }
    let is_alone = document.ranks.is_empty() || document.verdict.kind == HangKind::Unclear;
    let (inside, outside): (Vec<&Doing<'_>>, Vec<&Doing<'_>>) =
        doings.iter().filter(|doing| doing.communicates().is_some()).partition(|doing| doing.communicates() == Some(true));
    let is_seen = inside.len() + outside.len() == doings.len() && doings.len() > 2;
    if is_alone && is_seen && !outside.is_empty() && outside.len() * 4 <= doings.len() + 1 && inside.len() > outside.len() {
        return Some(blame(document, &outside, Confidence::Medium));
    }
    let says = layout(groups, doings.len());
    if document.ranks.is_empty() {
        let verdict = &mut document.verdict;
        if is_seen && outside.is_empty() && groups.len() == 1 {
            verdict.kind = HangKind::Library;
            verdict.summary = format!("{says} That is in communication: the library or the network is stuck, or the job runs.");
        } else {
            verdict.summary =
                format!("{says} Stacks alone do not tell who keeps the others waiting; gather the flight recorder's dumps.");
        }
    }
    Some(HangWitness { source: HangSource::Stacks, agrees: None, says })
}

/// Names `doings`, as far as their ranks are known.
fn blame(document: &mut HangDocument, doings: &[&Doing<'_>], confidence: Confidence) -> HangWitness {
    let told = |doing: &&Doing<'_>| {
        let seen = what(doing).unwrap_or_default();
        match (doing.seen.rank, doing.seen.pid) {
            (Some(rank), _) => format!("Rank {rank} {seen}."),
            (None, Some(pid)) => format!("Process {pid} {seen}."),
            (None, None) => format!("A process {seen}."),
        }
    };
    let says = doings.iter().take(4).map(told).collect::<Vec<_>>().join(" ");
    let root = |doing: &&Doing<'_>| {
        Some(HangRoot { rank: doing.seen.rank?, why: what(doing).unwrap_or_default(), ..HangRoot::default() })
    };
    let mut roots: Vec<HangRoot> = doings.iter().filter_map(root).collect();
    roots.sort_by_key(|root| root.rank);
    let all_gone = doings.iter().all(|doing| doing.seen.state == ProcessState::Gone);
    let verdict = &mut document.verdict;
    if roots.len() == doings.len() {
        verdict.kind = if all_gone { HangKind::Dead } else { HangKind::Outside };
        (verdict.confidence, verdict.roots) = (confidence, roots);
    }
    verdict.summary = says.clone();
    let agrees = (!verdict.roots.is_empty()).then_some(true);
    HangWitness { source: HangSource::Stacks, agrees, says }
}

/// What a process is doing, as the end of a sentence.
fn what(doing: &Doing<'_>) -> Option<String> {
    match (doing.seen.state, doing.place()) {
        (ProcessState::Alive, None) => None,
        (ProcessState::Alive, Some(place)) => Some(format!("is in {place}")),
        (state, None) => Some(state.as_str().to_owned()),
        (ProcessState::Gone, Some(_)) => Some(ProcessState::Gone.as_str().to_owned()),
        (state, Some(place)) => Some(format!("{}, in {place}", state.as_str())),
    }
}

/// Where most are, and who is elsewhere.
fn layout(groups: &[Vec<&Doing<'_>>], all: usize) -> String {
    let Some((first, rest)) = groups.split_first() else { return String::new() };
    let place = first.first().and_then(|doing| doing.place()).unwrap_or_else(|| "a place that cannot be seen".to_owned());
    let others: Vec<u32> = rest.iter().flatten().filter_map(|doing| doing.seen.rank).collect();
    let others = match (rest.is_empty(), others.is_empty()) {
        (true, _) => String::new(),
        (false, true) => " The others are elsewhere.".to_owned(),
        (false, false) => format!(" {} elsewhere.", words::are(&others)),
    };
    if rest.is_empty() {
        format!("All {all} processes are in {place}.")
    } else {
        format!("{} of {all} processes are in {place}.{others}", first.len())
    }
}
