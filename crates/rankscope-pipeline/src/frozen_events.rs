//! What only a judged job knows of a rank's events, beside its parts, for the second map that writes them into a dataset: its steps, and which of its
//! spans are parts in which collectives.
//!
//! `events.json` says of which run they are and by which clocks; `events-r<rank>.json`, one a rank, has the rest. Spans and numbers are written as
//! differences from the one before, which takes some six bytes a collective. All of them name the clocks that they were found with: a later merge
//! makes them void.

use std::path::{Path, PathBuf};

use rankscope_analyze::StepWindow;
use rankscope_dataset::{Numbered, RunEntry, is_bounded};
use rankscope_job::Job;
use rankscope_run::is_file;
use rankscope_time::Rank;
use rankscope_trace::SpanId;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::PartsFault;
use crate::job_clocks::clocks_identity;
use crate::parts_folder::{read_json, replace_json, replace_json_packed};

const NAME: &str = "events.json";

/// Layout version of the files.
const SCHEMA: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct FrozenRun {
    schema: u32,
    /// Which clocks it goes with.
    clocks: String,
    /// What the merge wrote into the dataset.
    entry: RunEntry,
}

#[derive(Debug, Serialize, Deserialize)]
struct FrozenEvents {
    clocks: String,
    is_bounded: bool,
    /// Number, start and end of each step, on the rank's own clock.
    steps_ns: Vec<(i64, i64, i64)>,
    /// Of each part in a collective, how far its span is from the one before, and its number from that one's.
    spans: Vec<u32>,
    numbers: Vec<i64>,
}

/// One rank's.
#[derive(Debug)]
pub(crate) struct KnownOfEvents {
    pub(crate) is_bounded: bool,
    pub(crate) steps: Vec<StepWindow>,
    pub(crate) collectives: Vec<(SpanId, i64)>,
}

/// Writes what is known of the events of `job` beside its `parts`, whose clocks lie there; `entry` is what of it is in a dataset.
pub(crate) fn write_frozen_events(parts: &Path, job: &Job, entry: RunEntry) -> Result<(), Error> {
    let clocks = clocks_identity(parts)?;
    let numbered = Numbered::of(job);
    let one = |(index, rank): (usize, &rankscope_job::JobRank)| {
        let own = numbered.of_rank(index);
        let before = || std::iter::once((SpanId(0), 0)).chain(own.iter().copied());
        let events = FrozenEvents {
            clocks: clocks.clone(),
            is_bounded: is_bounded(&job.clocks.ranks[index]),
            steps_ns: rank.report.steps.iter().map(|step| (step.number, step.start_ns, step.end_ns)).collect(),
            spans: own.iter().zip(before()).map(|((span, _), (before, _))| span.0 - before.0).collect(),
            numbers: own.iter().zip(before()).map(|((_, number), (_, before))| number - before).collect(),
        };
        replace_json_packed(&path(parts, rank.rank), &events)
    };
    job.ranks.par_iter().enumerate().try_for_each(one)?;
    replace_json(&parts.join(NAME), &FrozenRun { schema: SCHEMA, clocks, entry })
}

/// What the last merge wrote into a dataset, and which clocks it had.
#[derive(Debug)]
pub(crate) struct MergedRun {
    pub(crate) entry: RunEntry,
    clocks: String,
}

impl MergedRun {
    /// That of the parts in the folder `parts`.
    pub(crate) fn read(parts: &Path) -> Result<Self, Error> {
        let path = parts.join(NAME);
        let fault = |fault| Error::Parts { path: path.clone(), fault };
        let none = || fault(PartsFault::NoDataset { folder: parts.to_owned() });
        if !is_file(&path)? {
            return Err(none());
        }
        let FrozenRun { schema, clocks, entry } = read_json(&path)?;
        match () {
            () if schema > SCHEMA => Err(fault(PartsFault::Newer { schema })),
            () if clocks != clocks_identity(parts)? => Err(none()),
            () => Ok(Self { entry, clocks }),
        }
    }

    /// What it knows of the events of `rank`.
    pub(crate) fn events_of(&self, parts: &Path, rank: Rank) -> Result<KnownOfEvents, Error> {
        let path = path(parts, rank);
        let events: FrozenEvents = read_json(&path)?;
        if events.clocks != self.clocks {
            return Err(Error::Parts { path, fault: PartsFault::NoDataset { folder: parts.to_owned() } });
        }
        let pairs = events.spans.iter().zip(&events.numbers);
        let sums = pairs.scan((0_u32, 0_i64), |(span, number), (more, further)| {
            (*span, *number) = (span.wrapping_add(*more), number.wrapping_add(*further));
            Some((SpanId(*span), *number))
        });
        let step = |&(number, start_ns, end_ns): &(i64, i64, i64)| StepWindow { number, start_ns, end_ns };
        Ok(KnownOfEvents {
            is_bounded: events.is_bounded,
            steps: events.steps_ns.iter().map(step).collect(),
            collectives: sums.collect(),
        })
    }
}

fn path(parts: &Path, rank: Rank) -> PathBuf {
    parts.join(format!("events-r{:06}.json", rank.0))
}
