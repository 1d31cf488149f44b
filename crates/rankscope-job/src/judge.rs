//! [`judge`]: the one function that sees two ranks.
//!
//! No trace is in its signature, so what it says of a job is the same whether the parts were made here, elsewhere or last week,
//! in whatever order and by however many workers.

use std::collections::BTreeSet;

use rankscope_align::validate::RankEvidence;
use rankscope_align::{JobClocks, Method, hints};
use rankscope_collectives::{Matched, RankCollectives, match_nothing, match_with};
use rankscope_execution::Execution;
use rankscope_tables::RankTables;
use rankscope_time::Rank;

use crate::capture_traces;
use crate::clocks::{clocks_of, nodes_of, sources_of, unused};
use crate::compared::{self, Compared, WindowChoice};
use crate::doubts::{Doubt, doubts};
use crate::gpus::HostGpus;
use crate::ranks::{each_rank_once, settle_ranks};
use crate::{About, Completeness, Error, Export, Facts, Failure, Part, Parts, Rules, SettledTracer, Unread};

/// Which clocks ranks are put on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockChoice {
    /// Measured ones, else what the collectives tell.
    #[default]
    Best,
    /// What the collectives tell, whatever was measured.
    FromTraces,
    /// None: stamps stay.
    AsRecorded,
}

/// How a job is judged.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Judging {
    /// Which clocks ranks are put on.
    pub clocks: ClockChoice,
    /// Of the windows that all ranks have, the ones wanted.
    pub window: WindowChoice,
    /// Go on without files that cannot be read.
    pub partial: bool,
    /// Consecutive ranks a node, where nothing else tells which ran where.
    pub ranks_per_node: Option<u32>,
    /// Whether a rank must have one file and no more.
    pub one_file_a_rank: bool,
}

impl Judging {
    /// The same on these clocks.
    #[must_use]
    pub fn with_clocks(mut self, clocks: ClockChoice) -> Self {
        self.clocks = clocks;
        self
    }

    /// The same for these windows.
    #[must_use]
    pub fn with_window(mut self, window: WindowChoice) -> Self {
        self.window = window;
        self
    }

    /// The same, going on without files that cannot be read, or not.
    #[must_use]
    pub fn with_partial(mut self, partial: bool) -> Self {
        self.partial = partial;
        self
    }

    /// The same for nodes of so many ranks.
    #[must_use]
    pub fn with_ranks_per_node(mut self, ranks_per_node: Option<u32>) -> Self {
        self.ranks_per_node = ranks_per_node;
        self
    }

    /// The same where a rank must have one file, or may have several.
    #[must_use]
    pub fn with_one_file_a_rank(mut self, one_file_a_rank: bool) -> Self {
        self.one_file_a_rank = one_file_a_rank;
        self
    }
}

/// One rank of a job.
#[derive(Clone, Debug)]
pub struct JobRank {
    /// Its number.
    pub rank: Rank,
    /// Where it came from.
    pub about: About,
    /// The files it was made of, in order of time.
    pub exports: Vec<Export>,
    /// Clocks of tracers that were put on its host's.
    pub tracers: Vec<SettledTracer>,
    /// Where its time went, by its own clock.
    pub report: rankscope_analyze::RankReport,
    /// What validation found in its traces, where the job's rules ask for that.
    pub evidence: Option<RankEvidence>,
    /// Its tables, where they were made.
    pub tables: Option<Box<RankTables>>,
    /// What ran and what each piece of it waited for, where that was asked for.
    pub execution: Option<Box<Execution>>,
}

/// A job, with a map for every rank.
#[derive(Clone, Debug)]
pub struct Job {
    /// What its parts were made by.
    pub rules: Rules,
    /// The ranks, ascending.
    pub ranks: Vec<JobRank>,
    /// Their collectives, in the same order.
    pub collectives: Vec<RankCollectives>,
    /// Which of those belong together.
    pub matched: Matched,
    /// Their clocks.
    pub clocks: JobClocks,
    /// Node of each rank, where it is known.
    pub nodes: Vec<Option<u32>>,
    /// The node whose clock is the reference, where clocks were measured.
    pub reference_node: u32,
    /// What is odd about the clocks.
    pub notes: Vec<String>,
    /// Whether ranks are missing.
    pub completeness: Completeness,
    /// What of the ranks' exports is compared.
    pub(crate) compared: Compared,
    /// The one step that its matched collectives are narrowed to.
    pub(crate) only_step: Option<i64>,
    /// What slowed the GPUs of its hosts, where that is known.
    pub(crate) gpus: Vec<HostGpus>,
    /// What failed first, where the job did.
    pub failure: Option<Failure>,
    /// What speaks against the traces being one job's. Where anything does, nothing is matched.
    pub(crate) doubts: Vec<Doubt>,
    /// Files that are no traces or were read already, and why they are passed over.
    pub skipped: Vec<String>,
    /// Folders of the attempts that were read because the ones after them left nothing.
    pub attempts: Vec<String>,
}

impl Job {
    /// The index of `rank`, if it has a trace.
    pub(crate) fn index(&self, rank: Rank) -> Option<usize> {
        self.ranks.binary_search_by_key(&rank, |own| own.rank).ok()
    }

    /// Whether the traces may be those of one job. If not, nothing is matched and nobody is compared.
    pub fn is_comparable(&self) -> bool {
        self.doubts.is_empty()
    }
}

/// Judges the job that `parts` are of.
///
/// # Errors
/// [`Error`] where files that must be read were not, two files are of one rank and time, or a window is not there.
pub fn judge(parts: Parts, facts: &Facts, judging: Judging) -> Result<Job, Error> {
    let files = parts.len();
    let rules = parts.rules().cloned().unwrap_or_default();
    let (mut parts, unread, attempts) = parts.into_inner();
    let own_ranks: Vec<Rank> = parts.iter().filter_map(|part| part.about.own_rank()).collect();
    let mut skipped = passed_over(unread, &own_ranks, !parts.is_empty(), judging.partial)?;
    if parts.is_empty() {
        return Err(Error::NoTrace { files, first: skipped.into_iter().next() });
    }
    skipped.extend(capture_traces::set_aside(&mut parts).iter().map(ToString::to_string));
    skipped.extend(settle_ranks(&mut parts)?.iter().map(ToString::to_string));
    if judging.one_file_a_rank {
        each_rank_once(&parts)?;
    }
    // Who left a trace that is not compared did leave one.
    let completeness = Completeness::of(&parts, facts.world_size);
    let (parts, compared) = compared::join(parts, judging.window)?;
    let known = facts.clocks.as_ref().filter(|_| judging.clocks == ClockChoice::Best);
    // Whoever asks for the collectives' word on the clocks wants it however far apart they are.
    let doubts = doubts(&parts, known.is_some() || judging.clocks == ClockChoice::FromTraces);
    let (ranks, collectives): (Vec<JobRank>, Vec<RankCollectives>) = parts.into_iter().map(JobRank::of).unzip();
    let nodes = nodes_of(&ranks, facts, known, judging.ranks_per_node);
    let sources = sources_of(&ranks, known, &nodes);
    let matched = match doubts.is_empty() {
        true => match_with(&collectives, &hints(&sources, &nodes)),
        false => match_nothing(&collectives),
    };
    let clocks = clocks_of(&sources, &collectives, &matched, judging.clocks);
    let mut notes = Vec::new();
    if let Some(known) = known {
        let used = |method: Method| matches!(method, Method::Measured | Method::OneHost);
        if !clocks.ranks.iter().any(|rank| used(rank.method)) {
            notes.push(unused(known, &nodes).to_owned());
        }
        notes.extend(known.notes.iter().cloned());
    }
    Ok(Job {
        rules,
        ranks,
        collectives,
        matched,
        clocks,
        nodes,
        reference_node: known.map_or(0, |known| known.reference),
        notes,
        completeness,
        compared,
        only_step: None,
        gpus: facts.gpus.clone(),
        failure: facts.failure.clone(),
        doubts,
        skipped,
        attempts,
    })
}

/// What is passed over of the files that could not be read as traces, where others tell that they are of `ranks` and `others` says
/// whether there are any. With `partial` everything is.
///
/// # Errors
/// [`Error::Unread`] for the first file that is meant to be a trace.
pub fn passed_over(unread: Vec<Unread>, ranks: &[Rank], others: bool, partial: bool) -> Result<Vec<String>, Error> {
    let (earlier, failed): (Vec<_>, Vec<_>) = unread.into_iter().partition(|unread| unread.earlier);
    let mut skipped: Vec<String> = earlier.iter().map(ToString::to_string).collect();
    let ranks: BTreeSet<Rank> = ranks.iter().copied().collect();
    // A file that names a rank is meant to be that rank's trace, unless another is.
    let stands_alone = |file: &str| rankscope_trace::rank_of_name(own_name(file)).is_some_and(|rank| !ranks.contains(&rank));
    for unread in failed {
        if !partial && (!unread.may_be_something_else() || stands_alone(&unread.file)) {
            return Err(Error::Unread { reason: unread.reason(), file: unread.file, others });
        }
        skipped.push(unread.to_string());
    }
    Ok(skipped)
}

/// The last part of a path, or the member of an archive.
fn own_name(label: &str) -> &str {
    label.rsplit(['/', ':']).next().unwrap_or(label)
}

impl JobRank {
    fn of(part: Part) -> (Self, RankCollectives) {
        let rank = part.rank();
        let Part { about, exports, tracers, collectives, report, evidence, tables, execution } = part;
        (Self { rank, about, exports, tracers, report, evidence, tables, execution }, collectives)
    }
}
