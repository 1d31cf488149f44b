//! What the times between ranks rest on.

use rankscope_align::Method;
use rankscope_document::{Caution, CautionKind, Note, NoteLevel};
use rankscope_time::Rank;

use super::cautions::caution;
use crate::Job;
use crate::gpu_clocks::contradicted;
use crate::words::{list, time};

/// All that is to be said of the clocks of `job`.
pub(crate) fn clock_notes(job: &Job) -> Vec<Note> {
    let note = |level: NoteLevel| move |text: String| Note { level, text };
    let limits = limits(job).into_iter().map(|limit| limit.text).map(note(NoteLevel::Caution));
    finding(job).map(note(NoteLevel::Finding)).into_iter().chain(limits).collect()
}

/// How well they are known, where they were measured.
pub(super) fn finding(job: &Job) -> Option<String> {
    (job.clocks.method == Method::Measured).then(|| {
        format!(
            "The clocks were measured: they differ by up to {}, and each is known to within {}.",
            time(largest_ns(job)),
            guaranteed(job)
        )
    })
}

/// What is not known of them, and what is odd.
pub(super) fn limits(job: &Job) -> Vec<Caution> {
    let of_ranks = |ranks: &[Rank], text| caution(CautionKind::Clock, ranks, text);
    let clocks = &job.clocks;
    let ranks = || clocks.ranks.iter().zip(job.ranks.iter().map(|rank| rank.rank));
    let mut limits = Vec::new();
    match clocks.method {
        Method::Measured | Method::OneHost | Method::AsRecorded => {}
        Method::Mixed => {
            let left = ranks().filter(|(clock, _)| clock.method == Method::AsRecorded).map(|(_, rank)| rank);
            let left: Vec<Rank> = left.collect();
            let text = format!(
                "Clocks were measured for some ranks only; rank {} keeps its recorded timestamps, so do not trust times between it and the others.",
                list(&left)
            );
            limits.push(of_ranks(&left, text));
        }
        Method::FromTraces => limits.push(of_ranks(
            &[],
            format!(
                "The ranks' clocks differ: corrected by up to {} using the ends of the collectives, which then agree to within {}; causality alone guarantees {}. Measured clocks would be more certain.",
                time(largest_ns(job)),
                time(clocks.estimate.agreement_ns.unwrap_or(0)),
                guaranteed(job)
            ),
        )),
    }
    if job.clocks_contradict() {
        let text = "The ranks' timestamps contradict causality with any clock offsets; no clock was corrected.";
        limits.push(of_ranks(&[], text.to_owned()));
    }
    limits.extend(gpus(job));
    for (clock, rank) in ranks() {
        limits.extend(clock.notes.iter().map(|note| of_ranks(&[rank], format!("Rank {rank}: {note}."))));
    }
    limits.extend(job.notes.iter().map(|note| of_ranks(&[], format!("Clocks: {note}."))));
    limits
}

/// Times of GPUs that are those of other operations, or a GPU's clock that was set.
fn gpus(job: &Job) -> Option<Caution> {
    let contradicted = contradicted(&job.ranks);
    let ranks: Vec<Rank> = contradicted.iter().map(|(rank, _)| *rank).collect();
    let operations = contradicted.iter().fold(0_u64, |sum, (_, operations)| sum.saturating_add(*operations));
    (operations > 0).then(|| {
        let text = format!(
            "Times of the GPU of rank {} contradict each other, so {operations} operations from there on say nothing of its clock: \
             the times may be another operation's, or the clock was set.",
            list(&ranks)
        );
        caution(CautionKind::Clock, &ranks, text)
    })
}

fn largest_ns(job: &Job) -> i64 {
    job.clocks.ranks.iter().map(|clock| clock.offset_ns.saturating_abs()).max().unwrap_or(0)
}

/// The widest half interval that is left to any rank's clock.
fn guaranteed(job: &Job) -> String {
    let halves = job.clocks.ranks.iter().map(|clock| clock.bound.width_ns().map(|width| width / 2));
    match halves.collect::<Option<Vec<_>>>() {
        Some(halves) => format!("±{}", time(halves.into_iter().max().unwrap_or(0))),
        None => "nothing".to_owned(),
    }
}
