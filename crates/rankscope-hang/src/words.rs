//! Calls, ranks and groups in words, and as the document has them.

use rankscope_document::spelling::runs;
use rankscope_document::{HangCall, HangRank};

use crate::progress::{Kept, Point};
use crate::told::{GroupId, RankState, Scene};

/// Ranks listed by number, at most.
const LISTED: usize = 8;

/// `Rank 3`, `Ranks 0, 2 to 5`.
pub(crate) fn ranks(ranks: &[u32]) -> String {
    let runs = runs(ranks.iter().copied());
    let listed: Vec<String> = runs.iter().take(LISTED).map(|(first, last)| span(*first, *last)).collect();
    let more = if runs.len() > LISTED { " and more" } else { "" };
    format!("{} {}{more}", if ranks.len() == 1 { "Rank" } else { "Ranks" }, listed.join(", "))
}

/// `Rank 3 is`, `Ranks 0, 2 to 5 are`.
pub(crate) fn are(these: &[u32]) -> String {
    format!("{} {}", ranks(these), if these.len() == 1 { "is" } else { "are" })
}

fn span(first: u32, last: u32) -> String {
    match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    }
}

/// `1 rank`, `7 ranks`.
pub(crate) fn number_of_ranks(count: usize) -> String {
    format!("{count} {}", if count == 1 { "rank" } else { "ranks" })
}

/// `rank 1 has`, `7 ranks have`.
pub(crate) fn called(these: &[u32]) -> String {
    match these {
        [rank] => format!("rank {rank} has"),
        _ => format!("{} have", number_of_ranks(these.len())),
    }
}

/// `Collective 7 of group 0 (default_pg)`.
pub(crate) fn numbered(scene: &Scene<'_>, group: GroupId, sequence: u64) -> String {
    format!("Collective {sequence} of {}", described(scene, group))
}

/// What somebody is stuck in: `all_reduce 7 of group 0 (default_pg)`.
pub(crate) fn point(scene: &Scene<'_>, point: Point) -> String {
    match point {
        Point::Collective { group, sequence } => {
            let operation = scene.ranks.iter().find_map(|state| {
                let place = state.progress.find(group, sequence)?;
                Some(&*state.progress.at(place).shape(&state.dumped?.dumps).operation)
            });
            format!("{} {sequence} of {}", operation.unwrap_or("collective"), described(scene, group))
        }
        Point::Message { group, own, other, way } => {
            let (verb, to) = match way {
                crate::call::Way::Send => ("send", "to"),
                crate::call::Way::Receive => ("recv", "from"),
            };
            format!("{verb} of rank {own} {to} rank {other} in {}", described(scene, group))
        }
    }
}

/// What a rank of a circle is in, and where in the program.
pub(crate) fn order(scene: &Scene<'_>, state: &RankState<'_>) -> String {
    let Some((own, place)) = state.progress.head else { return String::new() };
    let site = place.and_then(|place| state.progress.at(place).site(&state.dumped?.dumps));
    let at = site.map(|site| format!(" at {site}")).unwrap_or_default();
    format!("in {}{at}", point(scene, own))
}

/// What a rank did last.
pub(crate) fn last_of(scene: &Scene<'_>, state: &RankState<'_>) -> String {
    let Some(call) = last(scene, state) else { return format!("Rank {} has made no call that is remembered.", state.rank) };
    let number = call.seq.map(|seq| format!(" {seq}")).unwrap_or_default();
    let group = if call.description.is_empty() { &call.group } else { &call.description };
    let site = call.site.map(|site| format!(", at {site}")).unwrap_or_default();
    format!("The last call of rank {} was {}{number} of {group}{site}, which ended.", state.rank, call.operation)
}

fn last(scene: &Scene<'_>, state: &RankState<'_>) -> Option<HangCall> {
    let place = state.progress.last()?;
    Some(call(scene, state, state.progress.at(place)))
}

/// A rank, as the document has it.
pub(crate) fn rank(scene: &Scene<'_>, state: &RankState<'_>) -> HangRank {
    let files = state.dumped.map(|dumped| dumped.files.clone()).unwrap_or_default();
    let stuck_in = state.progress.head.map(|(point, place)| match place {
        Some(place) => call(scene, state, state.progress.at(place)),
        None => forgotten(scene, point),
    });
    let last = if stuck_in.is_none() { last(scene, state) } else { None };
    HangRank { rank: state.rank, files, phase: None, stuck_in, last }
}

fn call(scene: &Scene<'_>, state: &RankState<'_>, kept: &Kept) -> HangCall {
    let dumps = state.dumped.map_or(&[][..], |dumped| &dumped.dumps);
    let group = &scene.groups[kept.group.0];
    let peer = kept.call.message.map(|(_, place)| group.ranks.get(place as usize).copied().unwrap_or(place));
    HangCall {
        operation: kept.shape(dumps).operation.to_string(),
        seq: peer.is_none().then_some(kept.call.sequence),
        peer,
        called_ns: Some(kept.call.created_ns).filter(|ns| *ns != 0),
        site: kept.site(dumps).map(str::to_owned),
        ..of_group(scene, kept.group)
    }
}

/// A call that only the watchdog still counts.
fn forgotten(scene: &Scene<'_>, point: Point) -> HangCall {
    let seq = if let Point::Collective { sequence, .. } = point { Some(sequence) } else { None };
    HangCall { seq, ..of_group(scene, point.group()) }
}

fn of_group(scene: &Scene<'_>, group: GroupId) -> HangCall {
    let group = &scene.groups[group.0];
    HangCall { group: group.name.clone(), description: group.description.clone(), ..HangCall::default() }
}

/// `group 1 (tp)`.
fn described(scene: &Scene<'_>, group: GroupId) -> String {
    let group = &scene.groups[group.0];
    match (group.name.as_str(), group.description.as_str()) {
        ("", "") => "a group without a name".to_owned(),
        (name, "") => format!("group {name}"),
        ("", description) => description.to_owned(),
        (name, description) if name == description => format!("group {name}"),
        (name, description) => format!("group {name} ({description})"),
    }
}
