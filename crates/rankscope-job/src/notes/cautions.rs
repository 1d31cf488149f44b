//! The limits of what can be said, gravest first, each with what sort it is and whom it is about.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_analyze::{Side, WindowKind};
use rankscope_document::{Caution, CautionKind};
use rankscope_time::Rank;

use super::clocks;
use crate::JobRank;
use crate::compared::LeftOutExport;
use crate::document::Source;
use crate::windows::Why;
use crate::words::{list, percent, range};

/// All of them.
pub(crate) fn cautions(source: &Source<'_>) -> Vec<Caution> {
    let mut cautions: Vec<Caution> =
        source.job.doubts.iter().map(|doubt| caution(doubt.kind(), &doubt.ranks(), doubt.text())).collect();
    cautions.extend(failed(source).map(|text| {
        let rank = source.job.failure.as_ref().and_then(|failure| failure.rank);
        caution(CautionKind::Crash, &rank.map(Rank).into_iter().collect::<Vec<_>>(), text)
    }));
    cautions.extend(not_training(source));
    cautions.extend(missing(source));
    cautions.extend(attempts(source));
    cautions.extend(left_out(source));
    cautions.extend(steps(source));
    cautions.extend(lost_marks(source));
    cautions.extend(host_only(source));
    cautions.extend(unmatched(source));
    cautions.extend(not_told(source));
    cautions.extend(messages(source));
    // Of traces that are not of one job the clocks are nobody's question.
    if source.job.doubts.is_empty() {
        cautions.extend(clocks::limits(source.job));
    }
    let skipped = source.job.skipped.iter();
    cautions.extend(skipped.map(|skipped| caution(CautionKind::PassedOver, &[], format!("Skipped {skipped}."))));
    cautions.sort_by_key(|caution| caution.kind);
    cautions
}

pub(super) fn caution(kind: CautionKind, ranks: &[Rank], text: String) -> Caution {
    Caution { kind, ranks: ranks.iter().map(|rank| rank.0).collect(), text }
}

/// What failed first, where the job did.
pub(super) fn failed(source: &Source<'_>) -> Option<String> {
    source.job.failure.as_ref().map(|failure| format!("The job failed: {failure}."))
}

/// A program that only recorded spans of its own: nothing that this report is about is there.
fn not_training(source: &Source<'_>) -> Option<Caution> {
    (!source.is_training()).then(|| {
        let text = format!(
            "This is not the trace of a training job: it holds no steps, no collectives, no device work and no operators of a \
             framework. `rankscope spans {}` shows where its time goes.",
            source.title
        );
        caution(CautionKind::NotTraining, &[], text)
    })
}

fn missing(source: &Source<'_>) -> Option<Caution> {
    let missing = &source.job.completeness.missing;
    let world = source.job.completeness.world_size.unwrap_or(0);
    (!missing.is_empty()).then(|| {
        let there = (world as usize).saturating_sub(missing.len());
        let text = format!("{there} of {world} ranks left a trace; rank {} left none.", list(missing));
        caution(CautionKind::MissingRank, missing, text)
    })
}

/// A run that began again and left nothing since.
fn attempts(source: &Source<'_>) -> Option<Caution> {
    let folders = &source.job.attempts;
    (!folders.is_empty()).then(|| {
        let text = format!(
            "The newest attempt of the run left no trace; this report is on the last one that did ({}).",
            folders.join(", ")
        );
        caution(CautionKind::Window, &[], text)
    })
}

/// One for all exports of the same steps that are left out for the same reason.
fn left_out(source: &Source<'_>) -> Vec<Caution> {
    let mut alike: Vec<Vec<&LeftOutExport>> = Vec::new();
    for out in &source.job.compared.left_out {
        match alike.iter_mut().find(|group| group[0].steps == out.steps && group[0].why == out.why) {
            Some(group) => group.push(out),
            None => alike.push(vec![out]),
        }
    }
    alike.iter().map(|group| left_out_alike(source, group)).collect()
}

fn left_out_alike(source: &Source<'_>, group: &[&LeftOutExport]) -> Caution {
    let out = group[0];
    let mut ranks: Vec<Rank> = group.iter().map(|out| out.rank).collect();
    ranks.dedup();
    let rank = list(&ranks);
    let file = if group.len() == 1 { out.file.clone() } else { format!("{} files, {} first", group.len(), out.file) };
    let recorded = out.steps.map_or_else(|| "another window".to_owned(), range);
    let one = out.steps.is_none_or(|(first, last)| first == last);
    let (it, is) = if one { ("it", "is") } else { ("they", "are") };
    let text = match &out.why {
        Why::LackedBy { ranks } => {
            let others = source.job.compared.ranks.saturating_sub(1);
            let whom = if ranks.len() == others && others > 1 {
                "no other rank has".to_owned()
            } else {
                format!("rank {} did not record", list(ranks))
            };
            format!("Rank {rank} also recorded {recorded}, which {whom}; {it} {is} left out ({file}).")
        }
        Why::Surplus { compared } => format!(
            "Rank {rank} also recorded {recorded}, but some rank left only {compared}, and windows are matched by their order; {it} {is} left out ({file})."
        ),
    };
    caution(CautionKind::Window, &ranks, text)
}

fn steps(source: &Source<'_>) -> Option<Caution> {
    let WindowKind::CommonSteps { first, last } = source.analysis.windows.kind else { return None };
    let steps = |rank: &JobRank| {
        let numbers = || rank.report.steps.iter().map(|step| step.number);
        Some((numbers().min()?, numbers().max()?))
    };
    let others = source.job.ranks.iter().filter(|rank| steps(rank).is_some_and(|own| own != (first, last)));
    let ranks: Vec<Rank> = others.map(|rank| rank.rank).collect();
    let left_out = match ranks.as_slice() {
        [] => "those between that some did not record are left out".to_owned(),
        some => format!("other steps of rank {} are left out", list(some)),
    };
    let text = format!("Ranks are compared over steps {first} to {last}, which all of them recorded; {left_out}.");
    Some(caution(CautionKind::Window, &ranks, text))
}

/// Steps that a rank did not mark between others that it did, where nothing was left out for it.
fn lost_marks(source: &Source<'_>) -> Vec<Caution> {
    if source.analysis.windows.kind != WindowKind::Everything {
        return Vec::new();
    }
    let ranks = &source.job.ranks;
    let all: BTreeSet<i64> = ranks.iter().flat_map(|rank| &rank.report.steps).map(|step| step.number).collect();
    let mut alike: BTreeMap<Vec<i64>, Vec<Rank>> = BTreeMap::new();
    for rank in ranks {
        let own: BTreeSet<i64> = rank.report.steps.iter().map(|step| step.number).collect();
        let (Some(first), Some(last)) = (own.first(), own.last()) else { continue };
        let lost: Vec<i64> = all.range(first..=last).filter(|number| !own.contains(number)).copied().collect();
        if !lost.is_empty() {
            alike.entry(lost).or_default().push(rank.rank);
        }
    }
    let sentence = |(lost, ranks): (Vec<i64>, Vec<Rank>)| {
        let which = match lost.as_slice() {
            [only] => format!("step {only}"),
            more => format!("{} steps, the first {}", more.len(), more[0]),
        };
        let text = format!(
            "Rank {} did not mark {which}, which other ranks did: what it did then counts in the whole, and in no step or the one before.",
            list(&ranks)
        );
        caution(CautionKind::Window, &ranks, text)
    };
    alike.into_iter().map(sentence).collect()
}

fn host_only(source: &Source<'_>) -> Option<Caution> {
    let on_host: Vec<Rank> =
        source.job.ranks.iter().filter(|rank| rank.report.side == Side::Host).map(|rank| rank.rank).collect();
    // Where no rank shows any, the views say so at their top.
    (!on_host.is_empty() && on_host.len() < source.analysis.ranks.len()).then(|| {
        let text = format!("No device activity on rank {}: its times are host times.", list(&on_host));
        caution(CautionKind::NoDeviceWork, &on_host, text)
    })
}

fn unmatched(source: &Source<'_>) -> Option<Caution> {
    if !source.job.doubts.is_empty() {
        return None;
    }
    let table = &source.analysis.collectives;
    let (matched, all) = (table.arrivals.len(), table.arrivals.len() + table.lacking.len());
    (matched < all).then(|| {
        let why = if source.job.ranks.len() == 1 { ", as there is one rank only" } else { "" };
        let share = percent(matched as f64 / all as f64);
        let text = format!(
            "{matched} of {all} collectives ({share}) were found on all of their ranks{why}; waits and bandwidths refer to those."
        );
        caution(CautionKind::NotMatched, &[], text)
    })
}

/// Ranks of which the collectives repeat so regularly that they fit those of others in several ways.
fn not_told(source: &Source<'_>) -> Option<Caution> {
    let ranks: Vec<Rank> = source.job.matched.not_told.iter().filter_map(|at| Some(source.job.ranks.get(*at)?.rank)).collect();
    (!ranks.is_empty()).then(|| {
        let text = format!(
            "Collectives of rank {} have no numbers, and repeat so regularly that they fit those of another rank in several ways. Which are the \
             same cannot be told without clocks; they are not matched.",
            list(&ranks)
        );
        caution(CautionKind::NotMatched, &ranks, text)
    })
}

/// Messages whose other end is not recorded.
fn messages(source: &Source<'_>) -> Option<Caution> {
    let count: usize = source.peerless.iter().map(|(_, count)| count).sum();
    (count > 0).then(|| {
        let ranks: Vec<Rank> = source.peerless.iter().map(|(rank, _)| *rank).collect();
        let text = format!("{count} sends and receives do not record their peer; they are not judged.");
        caution(CautionKind::NotMatched, &ranks, text)
    })
}
