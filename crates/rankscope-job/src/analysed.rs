//! [`Analysed`]: a judged job with its tables, and the narrowing to one step or rank that a user asked for.

use std::collections::BTreeMap;

use rankscope_align::RankMap;
use rankscope_analyze::{Job as Analysis, JobInput, RankReport, analyze};
use rankscope_collectives::{CollectiveStay, Kind, RankCollectives};
use rankscope_document::{CollectiveTables, Document};
use rankscope_time::Rank;

use crate::answers::Answers;
use crate::collective_tables::collective_tables;
use crate::document::Source;
use crate::{Error, Job, JobTable};

/// Everything a report is drawn from.
#[derive(Clone, Debug)]
pub struct Analysed {
    /// The job.
    pub job: Job,
    /// Its tables.
    pub analysis: Analysis,
    step: Option<i64>,
    /// Ranks with messages that do not tell their peer, and how many.
    peerless: Vec<(Rank, usize)>,
    answers: Answers,
}

impl Analysed {
    /// The tables of `job`; with `step`, of that step alone.
    ///
    /// # Errors
    /// [`Error::NoStep`] where no rank has that step.
    pub fn of(mut job: Job, step: Option<i64>) -> Result<Self, Error> {
        if let Some(step) = step {
            keep_step(&mut job, step)?;
        }
        let maps: Vec<&RankMap> = job.clocks.ranks.iter().map(|rank| &rank.map).collect();
        let reports: Vec<&RankReport> = job.ranks.iter().map(|rank| &rank.report).collect();
        let mut analysis = analyze(JobInput {
            reports: &reports,
            maps: &maps,
            collectives: &job.collectives,
            matched: &job.matched,
            open_ns: job.open_between_ranks_ns(),
            comparable: job.doubts.is_empty(),
        });
        job.weigh(&mut analysis.verdict, analysis.windows.length_ns());
        let peerless = job.collectives.iter().map(|rank| (rank.rank, peerless(rank))).filter(|(_, count)| *count > 0).collect();
        Ok(Self { job, analysis, step, peerless, answers: Answers::default() })
    }

    /// The tables over all ranks that are `chosen`, for [`Document::collective_tables`]; none where none is. The collectives must be
    /// there still.
    pub fn collective_tables(&self, chosen: &[JobTable]) -> Option<CollectiveTables> {
        collective_tables(&self.job, chosen)
    }

    /// Answers why ranks are late and what would help, for [`document`](Self::document), where the ranks' parts hold their executions.
    /// The collectives must be there still.
    pub fn answer(&mut self) {
        self.answers = Answers::of(&self.job, &self.analysis);
    }

    /// Lets go of the collectives themselves and of execution graphs: the document is made of the tables, and only a timeline is drawn of
    /// these. In jobs of many ranks they are most of what there is in memory.
    pub fn forget_collectives(&mut self) {
        self.job.ranks.iter_mut().for_each(|rank| rank.execution = None);
        self.job.collectives = Vec::new();
        self.job.matched.instances = Vec::new();
    }

    /// The report's document, called `title`.
    pub fn document(&self, title: &str) -> Document {
        let mut document =
            crate::document::document(&Source { title, job: &self.job, analysis: &self.analysis, peerless: &self.peerless });
        self.answers.clone().into_document(&mut document);
        if let Some(step) = self.step {
            select_step(&mut document, step);
        }
        document
    }
}

/// How many messages of a rank do not tell whom they are to or from.
fn peerless(rank: &RankCollectives) -> usize {
    let is_one = |one: &CollectiveStay<'_>| one.kind == Kind::SendRecv || (one.kind.is_point_to_point() && one.peer.is_none());
    match rank.collectives.may_have(Kind::is_message) {
        true => rank.collectives.iter().filter(is_one).count(),
        false => 0,
    }
}

/// Keeps the collectives that start within the step on the rank they are first found on.
fn keep_step(job: &mut Job, step: i64) -> Result<(), Error> {
    let steps = |rank: &crate::JobRank| rank.report.steps.iter().map(|window| window.number).collect::<Vec<_>>();
    let windows: BTreeMap<usize, (i64, i64)> = job
        .ranks
        .iter()
        .enumerate()
        .filter_map(|(at, rank)| {
            let window = rank.report.steps.iter().find(|window| window.number == step)?;
            Some((at, (window.start_ns, window.end_ns)))
        })
        .collect();
    if windows.is_empty() {
        let known: Vec<i64> = job.ranks.iter().flat_map(steps).collect();
        let known = known.iter().min().copied().zip(known.iter().max().copied());
        return Err(Error::NoStep { step, known });
    }
    job.only_step = Some(step);
    let collectives = &job.collectives;
    job.matched.instances.retain(|instance| {
        instance.members.iter().any(|member| {
            let start_ns = collectives[member.rank()].collectives.start_ns(member.collective());
            windows.get(&member.rank()).is_some_and(|(from, to)| (*from..*to).contains(&start_ns))
        })
    });
    Ok(())
}

fn select_step(document: &mut Document, step: i64) {
    for rank in &mut document.ranks {
        rank.steps.retain(|known| known.step == step);
        let only = rank.steps.first();
        rank.time_ns = only.map_or_else(Default::default, |only| only.time_ns);
        rank.window_ns = only.map_or([0, 0], |only| only.window_ns);
    }
}

/// Narrows `document` to `rank`.
///
/// # Errors
/// [`Error::NoRank`] where it has no trace.
pub fn select_rank(document: &mut Document, rank: Rank) -> Result<(), Error> {
    if document.ranks.iter().all(|known| known.rank != rank.0) {
        let known = document.ranks.iter().map(|rank| Rank(rank.rank)).collect();
        return Err(Error::NoRank { title: document.title.clone(), rank, known });
    }
    document.ranks.retain(|known| known.rank == rank.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use rankscope_collectives::{LocalCollective, Operation};
    use rankscope_trace::SpanId;

    use super::*;

    #[test]
    fn messages_of_all_kinds_that_tell_no_peer_are_counted() {
        let count = |kinds: &[(Kind, Option<u32>)]| {
            let stay = |(kind, peer): &(Kind, Option<u32>)| {
                let mut stay = LocalCollective::new(SpanId(0), 0, 10, Operation::of(*kind));
                stay.peer = *peer;
                stay
            };
            let collectives = kinds.iter().map(stay).collect();
            peerless(&RankCollectives { rank: Rank(0), groups: Vec::new(), collectives, steps: Vec::new() })
        };
        assert_eq!(count(&[(Kind::SendRecv, None), (Kind::AllReduce, None)]), 1);
        assert_eq!(count(&[(Kind::Send, None), (Kind::Recv, Some(1)), (Kind::Recv, None)]), 2);
        assert_eq!(count(&[(Kind::AllReduce, None), (Kind::Broadcast, None)]), 0);
    }
}
