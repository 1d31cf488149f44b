//! The second map: events on the job's clock, a file a rank, made by any number of workers once the clocks are known.
//!
//! A merge knows the clocks and never opens a trace; whoever has the traces takes the clocks from it. Each rank's file can be opened by
//! itself, and all of them with the manifest beside them make one archive. Arrows between ranks are in no file of one rank, and the
//! critical path in none.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rankscope_formats::ArgsPolicy;
use rankscope_formats::archive::{ArchiveMember, MANIFEST, manifest};
use rankscope_formats::perfetto::{RankView, Timeline};
use rankscope_run::Outputs;
use rankscope_time::Rank;
use rayon::prelude::*;

use crate::division::Shard;
use crate::job_clocks::{FrozenRank, read_frozen_clocks};
use crate::parts_folder::read_plan_of;
use crate::place::add_gpu_events;
use crate::traces_again::TracesAgain;
use crate::{Error, Progress, Stage};

/// Which timelines are to be written, and where to.
#[derive(Clone, Debug)]
pub struct TimelinesRequest {
    /// The folder of parts, which were merged. Relative paths of its plan start where this process stands.
    pub parts: PathBuf,
    /// Where the files go.
    pub out: PathBuf,
    /// Which ranks to do.
    pub shard: Shard,
    /// Which arguments of events are kept.
    pub args: ArgsPolicy,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimelinesSummary {
    /// Ranks of the shard.
    pub ranks: usize,
    /// Bytes written.
    pub bytes: u64,
}

/// Writes a timeline for each rank of the shard, on the clocks of the last merge.
///
/// # Errors
/// [`Error::Parts`] where nobody has merged, [`Error::Changed`] for a trace that is not what was mapped, and what writing fails with.
pub fn write_timelines(request: &TimelinesRequest, progress: &dyn Progress) -> Result<TimelinesSummary, Error> {
    let plan = read_plan_of(&request.parts)?;
    let clocks = read_frozen_clocks(&request.parts)?;
    let writer = Writer { request, traces: TracesAgain::of(&plan, request.args)? };
    let placed = |rank: &FrozenRank| {
        let host = rank.host.as_deref().map_or_else(String::new, |host| format!(" on {host}"));
        ArchiveMember { path: name(rank.rank()), machine: format!("rank {}{host}", rank.rank), to_first_ns: 0 }
    };
    let text = manifest(clocks.ranks.iter().map(placed)).map_err(Error::Timeline)?;
    let mut outputs = Outputs::into_directory(&request.out)?;
    let refused = |source| Error::Io { path: request.out.join(MANIFEST), source };
    outputs.write(MANIFEST, |file| std::io::Write::write_all(file, &text).map_err(refused))?;
    outputs.commit()?;
    let own: Vec<&FrozenRank> =
        clocks.ranks.iter().enumerate().filter(|(at, _)| request.shard.holds(*at)).map(|(_, rank)| rank).collect();
    progress.begin(Stage::Writing, own.len());
    let one = |rank: &&FrozenRank| {
        let done = writer.write(rank);
        progress.advance();
        done
    };
    let done: Result<Vec<TimelinesSummary>, Error> = own.par_iter().map(one).collect();
    progress.end();
    Ok(done?.into_iter().fold(TimelinesSummary::default(), TimelinesSummary::and))
}

/// The file of a rank, so that names are in order of ranks.
fn name(rank: Rank) -> String {
    format!("rank-{:06}.pftrace", rank.0)
}

struct Writer<'a> {
    request: &'a TimelinesRequest,
    traces: TracesAgain<'a>,
}

impl Writer<'_> {
    fn write(&self, rank: &FrozenRank) -> Result<TimelinesSummary, Error> {
        let out: &Path = &self.request.out;
        let name = name(rank.rank());
        let fault = |fault| Error::Parts { path: self.request.parts.clone(), fault };
        let map = rank.map().map_err(fault)?;
        let mut trace = Arc::new(self.traces.of_rank(rank)?);
        let _shown = add_gpu_events(&mut trace, rank.traces.len());
        let mut outputs = Outputs::among_many(out)?;
        let mut bytes = 0;
        outputs.write(&name, |file| {
            // An archive relates the clocks of its files; what real time they have would be a second word on that.
            let mut timeline = Timeline::new(file).without_real_time();
            let view = RankView { trace: &trace, rank: Some(rank.rank()), map: &map };
            timeline.add_rank(view).map_err(Error::Timeline)?;
            bytes = timeline.finish().map_err(Error::Timeline)?.bytes;
            Ok::<(), Error>(())
        })?;
        outputs.commit()?;
        Ok(TimelinesSummary { ranks: 1, bytes })
    }
}

impl TimelinesSummary {
    fn and(self, other: Self) -> Self {
        Self { ranks: self.ranks + other.ranks, bytes: self.bytes + other.bytes }
    }
}
