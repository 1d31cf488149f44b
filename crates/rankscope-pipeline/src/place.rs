//! Place: the second map, after the judgement. Each rank's events, on its own clock, with the way to the job's.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use rankscope_align::{GpuClock, GpuEvent};
use rankscope_formats::perfetto::{RankView, SpanOfRank, Timeline};
use rankscope_job::{Export, Job, JobRank};
use rankscope_trace::Trace;
use rayon::prelude::*;

use crate::request::Judged;
use crate::{Error, Progress, Stage, workers};

/// Ranks whose events are in memory at once, where they have to be read again.
const AT_ONCE: usize = 8;

impl Judged {
    /// The trace of the rank at `index`, its exports joined, on its own clock.
    ///
    /// # Errors
    /// [`Error::Changed`] where it is not what the part was made of, [`Error::NoEvents`] of a job that was judged by its parts.
    pub fn trace(&self, index: usize) -> Result<Arc<Trace>, Error> {
        let traces = self.traces(index..index + 1)?;
        Ok(traces.into_iter().next().unwrap_or_default())
    }

    /// Those of the ranks at `indices`. A file that holds several of them is read once.
    pub(crate) fn traces(&self, indices: Range<usize>) -> Result<Vec<Arc<Trace>>, Error> {
        if let Some(folder) = &self.parts {
            return Err(Error::NoEvents { folder: folder.clone() });
        }
        let ranks = &self.job.ranks[indices];
        let joined: Vec<Option<Arc<Trace>>> = ranks.iter().map(|rank| self.held.joined(&rank.exports)).collect();
        let lacking = ranks.iter().zip(&joined).filter(|(_, joined)| joined.is_none());
        let mut found = self.held.get(lacking.map(|(rank, _)| &rank.exports[..]), &self.readings)?;
        let own = |rank: &JobRank| rank.exports.iter().filter_map(|export| found.remove(&export.place)).collect::<Vec<_>>();
        let own: Vec<Vec<Arc<Trace>>> = ranks.iter().map(own).collect();
        let all = ranks.par_iter().zip(own).zip(joined);
        Ok(all.map(|((rank, own), joined)| joined.unwrap_or_else(|| self.whole(&rank.exports, own))).collect())
    }

    /// The traces of `exports`, in order, as one.
    fn whole(&self, exports: &[Export], own: Vec<Arc<Trace>>) -> Arc<Trace> {
        let several = own.len() > 1;
        let join = |whole: Arc<Trace>, later: Arc<Trace>| {
            let mut whole = Arc::unwrap_or_clone(whole);
            whole.join_export(Arc::unwrap_or_clone(later));
            Arc::new(whole)
        };
        let whole = own.into_iter().reduce(join).unwrap_or_default();
        if several {
            self.held.replace(exports, &whole);
        }
        whole
    }

    /// All ranks on one clock, with an arrow through every matched collective, below the critical path of each step. Traces that were kept are let go as they are written.
    ///
    /// # Errors
    /// [`Error::Timeline`], and those of [`trace`](Self::trace).
    pub fn write_timeline(&self, file: &mut (impl Write + Send), progress: &dyn Progress) -> Result<(), Error> {
        progress.begin(Stage::Writing, self.job.ranks.len());
        let written = self.write_ranks(file, progress);
        progress.end();
        written
    }

    fn write_ranks(&self, file: &mut (impl Write + Send), progress: &dyn Progress) -> Result<(), Error> {
        let job = &self.job;
        let highest = job.ranks.last().map_or(rankscope_time::Rank(0), |rank| rank.rank);
        let mut timeline = Timeline::new(file).ranks_up_to(highest);
        timeline.connect(arrows(job));
        if let Some(path) = job.critical_path_trace() {
            timeline.add_derived("critical path", &path).map_err(Error::Timeline)?;
        }
        let mut nodes = self.counters.left();
        for indices in self.chunks(AT_ONCE) {
            if progress.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let mut traces = self.traces(indices.clone())?;
            for (trace, rank) in traces.iter_mut().zip(&job.ranks[indices.clone()]) {
                let _shown = add_gpu_events(trace, rank.exports.len());
                if let Some(counters) = nodes.take(trace) {
                    workers::add(Arc::make_mut(trace), counters);
                }
            }
            let mut views = Vec::with_capacity(traces.len());
            for (index, trace) in indices.clone().zip(&traces) {
                views.push(RankView { trace, rank: Some(job.ranks[index].rank), map: &job.clocks.ranks[index].map });
            }
            timeline.add(&views).map_err(Error::Timeline)?;
            drop(traces);
            for rank in &job.ranks[indices] {
                self.held.release(&rank.exports);
                progress.advance();
            }
        }
        timeline.finish().map_err(Error::Timeline)?;
        Ok(())
    }

    /// The ranks, so many at a time.
    pub(crate) fn chunks(&self, many: usize) -> impl Iterator<Item = Range<usize>> {
        let all = self.job.ranks.len();
        (0..all).step_by(many).map(move |from| from..all.min(from + many))
    }
}

/// Adds to `trace`, which is `files` files, what its GPU did, where that has a place: only where the times of the GPU are on one clock.
pub(crate) fn add_gpu_events(trace: &mut Arc<Trace>, files: usize) -> Vec<GpuEvent> {
    if files != 1 || trace.gpu_times.is_empty() {
        return Vec::new();
    }
    GpuClock::add_events(Arc::make_mut(trace)).map_or_else(Vec::new, |added| added.events)
}

/// Through every matched collective, by rank and span.
fn arrows(job: &Job) -> impl Iterator<Item = impl Iterator<Item = SpanOfRank> + '_> + '_ {
    let complete = job.matched.instances.iter().filter(|instance| instance.complete && instance.members.len() > 1);
    complete.map(|instance| {
        instance.members.iter().map(|member| SpanOfRank {
            rank: member.rank(),
            span: job.collectives[member.rank()].collectives.span(member.collective()),
        })
    })
}
