//! Place: the second map, after the judgement. Each rank's events, on its own clock, with the way to the job's.

use std::io::Write;
use std::sync::Arc;

use rankscope_align::{Moved, measure};
use rankscope_formats::perfetto::{RankView, SpanOfRank, Timeline};
use rankscope_job::{Job, JobRank, Place};
use rankscope_trace::Trace;
use rayon::prelude::*;

use crate::request::Judged;
use crate::{Error, Progress, Stage};

/// Ranks whose events are in memory at once, where they have to be read again.
const AT_ONCE: usize = 8;

impl Judged {
    /// The trace of the rank at `index`, its exports joined, on its own clock.
    ///
    /// # Errors
    /// [`Error::Changed`] where it is not what the part was made of.
    pub fn trace(&self, index: usize) -> Result<Arc<Trace>, Error> {
        let JobRank { exports, .. } = &self.job.ranks[index];
        let spans = exports.iter().map(|export| export.spans as usize).sum::<usize>();
        let places = self.places(index);
        let mut found = self.held.get(&places, &self.readings);
        let file = || exports.first().map_or_else(String::new, |export| export.file.clone());
        let changed = || Error::Changed { file: file() };
        let first = found.remove(&places[0]).ok_or_else(changed)?;
        let trace = if places.len() == 1 || first.spans.len() == spans {
            first
        } else {
            let mut joined = Arc::unwrap_or_clone(first);
            for place in &places[1..] {
                joined.join_export(Arc::unwrap_or_clone(found.remove(place).ok_or_else(changed)?));
            }
            let joined = Arc::new(joined);
            self.held.replace(&places, &joined);
            joined
        };
        if trace.spans.len() == spans { Ok(trace) } else { Err(changed()) }
    }

    fn places(&self, index: usize) -> Vec<Place> {
        self.job.ranks[index].exports.iter().map(|export| export.place).collect()
    }

    /// What moving the events of each rank to the job's clock does to them.
    ///
    /// # Errors
    /// [`Error::Changed`].
    pub fn moved(&self) -> Result<Vec<Moved>, Error> {
        let of = |index: usize| Ok(measure(self.trace(index)?.as_ref(), &self.job.clocks.ranks[index].map));
        (0..self.job.ranks.len()).into_par_iter().map(of).collect()
    }

    /// All ranks on one clock, with an arrow through every matched collective. Traces that were kept are let go as they are written.
    ///
    /// # Errors
    /// [`Error::Timeline`] and [`Error::Changed`].
    pub fn write_timeline(&self, file: &mut impl Write, progress: &dyn Progress) -> Result<(), Error> {
        let job = &self.job;
        let highest = job.ranks.last().map_or(rankscope_time::Rank(0), |rank| rank.rank);
        let mut timeline = Timeline::new(file).ranks_up_to(highest);
        timeline.connect(arrows(job));
        progress.begin(Stage::Writing, job.ranks.len());
        let indices: Vec<usize> = (0..job.ranks.len()).collect();
        for indices in indices.chunks(AT_ONCE) {
            let traces: Vec<Arc<Trace>> = indices.par_iter().map(|index| self.trace(*index)).collect::<Result<_, _>>()?;
            let mut views = Vec::with_capacity(indices.len());
            for (index, trace) in indices.iter().zip(&traces) {
                views.push(RankView { trace, rank: Some(job.ranks[*index].rank), map: &job.clocks.ranks[*index].map });
            }
            timeline.add(&views).map_err(Error::Timeline)?;
            drop(traces);
            for index in indices {
                self.held.release(&self.places(*index));
                progress.advance();
            }
        }
        progress.end();
        timeline.finish().map_err(Error::Timeline)?;
        Ok(())
    }
}

/// Through every matched collective, by rank and span.
fn arrows(job: &Job) -> impl Iterator<Item = impl Iterator<Item = SpanOfRank> + '_> + '_ {
    let complete = job.matched.instances.iter().filter(|instance| instance.complete && instance.members.len() > 1);
    complete.map(|instance| {
        instance.members.iter().map(|member| SpanOfRank {
            rank: member.rank,
            span: job.collectives[member.rank].collectives[member.collective].span,
        })
    })
}
