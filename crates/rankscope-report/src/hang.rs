//! Why a job stands still, for a terminal: the answer, and where each rank is. Ranks that are in the same place share a line.

use rankscope_document::{
    Confidence, HangCall, HangDocument, HangEvent, HangKind, HangRank, HangSource, HangVerdict, HangWitness,
};

use crate::Style;
use crate::terminal::{Sheet, Table, drawn, joined};
use crate::text::{clean, rank_list, shorten, wrap};
use crate::units::counted;

/// Lines of the table, at most.
const LINES_MAX: usize = 24;

/// What NCCL told of a process, a line.
pub fn hang_event_line(event: &HangEvent) -> String {
    let place = match (event.pid, &event.host) {
        (Some(pid), Some(host)) => format!("process {pid} on {host}"),
        (_, Some(host)) => format!("a process at {host}"),
        (_, None) => "a process".to_owned(),
    };
    let who = event.rank.map_or_else(|| place.clone(), |rank| format!("rank {rank} ({place})"));
    let said = match event.event.as_str() {
        "PEER_DEAD" => format!("NCCL gave up {who}"),
        "PEER_NEW" => format!("{who} joined"),
        other => format!("NCCL says {other} of {who}"),
    };
    let details = if event.details.is_empty() { String::new() } else { format!(": {}", event.details) };
    clean(format!("{}  {said}{details}", event.said_at).trim())
}

/// The document as text.
pub fn hang_terminal(document: &HangDocument, style: Style) -> String {
    let sheet = Sheet::of(style);
    let title = shorten(&clean(&document.title), sheet.width() - 11);
    let heading = vec![format!("{}  {}", sheet.paint().dim("rankscope"), sheet.paint().bold(&title))];
    let verdict = &document.verdict;
    let mut answer: Vec<String> = wrap(&clean(&verdict.summary), sheet.width());
    answer.iter_mut().for_each(|line| *line = sheet.paint().bold(line));
    answer.extend(wrap(&format!("{}. {}", heading_of(&verdict.kind), sureness(verdict)), sheet.width()));
    let roots = verdict
        .roots
        .iter()
        .take(8)
        .flat_map(|root| wrap(&format!("rank {}  {}", root.rank, clean(&root.why)), sheet.width() - 2));
    let roots: Vec<String> = roots.map(|line| format!("  {line}")).collect();
    let problems = document.problems.iter().take(8).flat_map(|problem| wrap(&format!("! {}", clean(problem)), sheet.width()));
    joined(vec![
        heading,
        answer,
        roots,
        heard(verdict, sheet),
        problems.collect(),
        places(document, sheet),
        stacks(document, sheet),
    ])
}

/// What sort of thing it is.
fn heading_of(kind: &HangKind) -> &str {
    match kind {
        HangKind::Missing => "A rank is missing from a collective",
        HangKind::Mismatch => "Ranks disagree about a collective",
        HangKind::Deadlock => "Ranks wait for each other",
        HangKind::P2p => "A message has only one end",
        HangKind::Dead => "A rank is probably dead",
        HangKind::Outside => "A rank is stuck outside of communication",
        HangKind::Library => "The library or the network is stuck, or nothing is",
        HangKind::Healthy => "No call hangs",
        HangKind::Unclear => "It cannot be told",
        other => other.as_str(),
    }
}

fn sureness(verdict: &HangVerdict) -> &'static str {
    let dumps_alone = matches!(&verdict.witnesses[..], [only] if only.source == HangSource::FlightRecorder);
    match verdict.confidence {
        Confidence::High if dumps_alone => "Confidence: high; the dumps of all ranks agree.",
        Confidence::High => "Confidence: high.",
        Confidence::Medium => "Confidence: medium.",
        Confidence::Low => "Confidence: low.",
    }
}

/// Who else was heard beside the one that the answer rests on.
fn heard(verdict: &HangVerdict, sheet: Sheet) -> Vec<String> {
    let line = |witness: &HangWitness| {
        let stands = match witness.agrees {
            Some(true) => "agrees",
            Some(false) => "contradicts",
            None => "beside",
        };
        wrap(&format!("{stands}  {}", clean(&witness.says)), sheet.width() - 2)
    };
    verdict.witnesses.iter().skip(1).flat_map(line).map(|line| format!("  {line}")).collect()
}

/// Where ranks are, the fewest together first: those are the ones that differ.
fn places(document: &HangDocument, sheet: Sheet) -> Vec<String> {
    if document.ranks.is_empty() {
        return Vec::new();
    }
    let mut places: Vec<(Vec<String>, Vec<u32>)> = Vec::new();
    for rank in &document.ranks {
        let awaited = document.verdict.waiting.iter().find(|wait| wait.rank == rank.rank);
        let awaited = awaited.map_or(String::new(), |wait| rank_list(&wait.awaited, 4));
        let cells = cells(rank, awaited);
        match places.iter_mut().find(|(known, _)| *known == cells) {
            Some((_, ranks)) => ranks.push(rank.rank),
            None => places.push((cells, vec![rank.rank])),
        }
    }
    places.sort_by_key(|(_, ranks)| ranks.len());
    let mut table = Table::new(&["ranks", "where", "call", "group", "in the program", "waits for"], 6);
    for (cells, ranks) in places.iter().take(LINES_MAX) {
        table.push(std::iter::once(rank_list(ranks, 4)).chain(cells.iter().cloned()).collect());
    }
    let mut lines = drawn(&table, sheet);
    if let Some(rest) = places.len().checked_sub(LINES_MAX).filter(|rest| *rest > 0) {
        lines.push(format!("  and {} more", counted(rest, "place")));
    }
    lines
}

/// Where processes are, the most together first: the largest in full, and of each other what it is in.
fn stacks(document: &HangDocument, sheet: Sheet) -> Vec<String> {
    let mut lines = Vec::new();
    for (place, stack) in document.stacks.iter().take(STACKS_MAX).enumerate() {
        let who = match (stack.ranks.is_empty(), stack.pids.as_slice()) {
            (false, _) => {
                let noun = if stack.ranks.len() == 1 { "rank" } else { "ranks" };
                format!("{noun} {}", rank_list(&stack.ranks, 4))
            }
            (true, [pid]) => format!("process {pid}"),
            (true, pids) => counted(pids.len(), "process").replace("processs", "processes"),
        };
        let state = if stack.state.is_empty() { String::new() } else { format!("  {}", clean(&stack.state)) };
        lines.push(format!("{who}{state}"));
        let frames = if place == 0 { FRAMES_MAX } else { FRAMES_MAX / 2 };
        let shown = stack.frames.iter().take(frames).map(|frame| format!("  {}", shorten(&clean(frame), sheet.width() - 4)));
        lines.extend(shown);
        if stack.frames.len() > frames {
            lines.push(format!("  and {} more", counted(stack.frames.len() - frames, "frame")));
        }
    }
    if let Some(rest) = document.stacks.len().checked_sub(STACKS_MAX).filter(|rest| *rest > 0) {
        lines.push(format!("and {} more", counted(rest, "stack")));
    }
    lines
}

/// Stacks that are shown, and frames of one.
const STACKS_MAX: usize = 6;
const FRAMES_MAX: usize = 8;

fn cells(rank: &HangRank, awaited: String) -> Vec<String> {
    let (place, call) = match (&rank.stuck_in, &rank.last) {
        (Some(call), _) => ("in", Some(call)),
        (None, Some(call)) => ("after", Some(call)),
        (None, None) if rank.files.is_empty() => ("no dump", None),
        (None, None) => ("no call yet", None),
    };
    let text = |of: fn(&HangCall) -> String| call.map(of).unwrap_or_default();
    vec![
        place.to_owned(),
        text(|call| match (call.seq, call.peer) {
            (Some(seq), _) => format!("{} {seq}", clean(&call.operation)),
            (None, Some(peer)) => format!("{} with {peer}", clean(&call.operation)),
            (None, None) => clean(&call.operation),
        }),
        text(|call| shorten(&clean(if call.description.is_empty() { &call.group } else { &call.description }), 16)),
        text(|call| shorten(&clean(call.site.as_deref().unwrap_or_default()), 30)),
        awaited,
    ]
}
