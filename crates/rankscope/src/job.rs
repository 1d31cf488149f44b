//! A job read and put on one clock: what every verb that looks at all ranks together begins with.

mod certainty;
mod doubts;
mod measured;
mod windows;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use rankscope_align::{JobClocks, Method, Moved, NodeClock, RankMap, RankSource, Settled, align, apply, settle_tracers};
use rankscope_clock::files::read_snapshots;
use rankscope_collectives::{CommPatterns, Matched, RankCollectives, collectives_alone, extract, match_nothing, match_ranks};
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_run::{
    Completeness, FirstFailure, Found, InputFile, RunDirectory, SideFile, completeness, discover, discover_all, each_rank_once,
    read_side, settle_ranks,
};
use rankscope_time::Rank;
use rankscope_trace::{ClockScope, Trace, TracerClock};
use rayon::prelude::*;

use crate::load::{Loaded, load};
pub(crate) use doubts::Doubt;
use measured::Measured;
pub(crate) use measured::pair;
pub(crate) use windows::{Compared, LeftOutExport, WindowArgs, WindowChoice, range as step_range};

/// Which clocks ranks are put on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ClockChoice {
    /// Measured ones, else what the collectives tell.
    #[default]
    Best,
    /// What the collectives tell, whatever was measured.
    FromTraces,
    /// None: stamps stay.
    AsRecorded,
}

/// How a job is read.
#[derive(Debug)]
pub(crate) struct JobOptions {
    pub(crate) args: ArgsPolicy,
    pub(crate) scope: Scope,
    /// Continue without files that cannot be read.
    pub(crate) partial: bool,
    pub(crate) patterns: CommPatterns,
    pub(crate) clocks: ClockChoice,
    pub(crate) measured: MeasuredArgs,
    /// Of the windows that all ranks have, the ones wanted.
    pub(crate) window: WindowChoice,
}

impl JobOptions {
    /// What analysis wants of all ranks, on the clocks that `clocks` chooses.
    pub(crate) fn for_analysis(partial: bool, clocks: &ClockArgs) -> Result<Self> {
        Ok(Self {
            args: ArgsPolicy::Analysis,
            scope: Scope::All,
            partial,
            patterns: CommPatterns::with_user(&[])?,
            clocks: clocks.choice(),
            measured: clocks.measured.clone(),
            window: WindowChoice::All,
        })
    }
}

/// Where measured clocks are, beside traces that are no run directory.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct MeasuredArgs {
    /// Folder or run directory with clocks that agents measured [default: those of the run directory]
    #[arg(long = "clocks", value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Number of consecutive ranks per node; needed if neither the traces nor the run directory name the hosts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_node: Option<u32>,
}

impl MeasuredArgs {
    /// The folder, where one was given.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }
}

/// Which clocks to go by.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ClockArgs {
    #[command(flatten)]
    pub(crate) measured: MeasuredArgs,
    /// Align by the collectives alone, even if clocks were measured
    #[arg(long, conflicts_with = "as_recorded")]
    from_traces: bool,
    /// Leave every timestamp as recorded
    #[arg(long)]
    as_recorded: bool,
}

impl ClockArgs {
    pub(crate) fn choice(&self) -> ClockChoice {
        match (self.from_traces, self.as_recorded) {
            (_, true) => ClockChoice::AsRecorded,
            (true, _) => ClockChoice::FromTraces,
            _ => ClockChoice::Best,
        }
    }
}

/// A job, with a map for every rank.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) loaded: Loaded,
    pub(crate) completeness: Completeness,
    /// What of the ranks' exports is compared.
    pub(crate) compared: Compared,
    pub(crate) collectives: Vec<RankCollectives>,
    pub(crate) matched: Matched,
    pub(crate) clocks: JobClocks,
    /// Node of each rank, where it is known.
    pub(crate) nodes: Vec<Option<u32>>,
    /// Clocks of tracers that were put on their host's, by rank.
    pub(crate) settled: Vec<Vec<Settled>>,
    /// The node whose clock is the reference, where clocks were measured.
    pub(crate) reference_node: u32,
    /// What is odd about the clocks.
    pub(crate) notes: Vec<String>,
    /// What failed first, where the run says that the job failed.
    pub(crate) failure: Option<FirstFailure>,
    /// What speaks against the traces being one job's. Where anything does, nothing is matched.
    pub(crate) doubts: Vec<Doubt>,
    /// Whether stamps are the reference's already.
    moved: bool,
    same: RankMap,
}

impl Job {
    /// Reads the traces that `paths` mean, of the windows that all ranks have, and finds out how their clocks stand.
    pub(crate) fn read(paths: &[PathBuf], options: &JobOptions) -> Result<Self> {
        let Found { files, attempts } = discover_all(paths)?;
        let mut loaded = load(&files, options.args, options.scope, options.partial, |trace| trace)?;
        loaded.attempts = attempts;
        settle(&mut loaded)?;
        let (traces, compared) = windows::join(std::mem::take(&mut loaded.traces), options.window)?;
        loaded.traces = traces;
        Self::of(loaded, compared, paths, options)
    }

    /// The same for whoever wants the clocks alone: of each rank no more than the collectives of its newest trace is held.
    pub(crate) fn read_clocks(paths: &[PathBuf], options: &JobOptions) -> Result<Self> {
        Self::read_clocks_of(paths, &discover(paths)?, options)
    }

    /// The same of `files`, which were found in `paths`.
    pub(crate) fn read_clocks_of(paths: &[PathBuf], files: &[InputFile], options: &JobOptions) -> Result<Self> {
        let reduce = |trace: Trace| collectives_alone(&trace, &options.patterns);
        let mut loaded = load(files, options.args, options.scope, options.partial, reduce)?;
        settle(&mut loaded)?;
        each_rank_once(&loaded.traces)?;
        Self::of(loaded, Compared::default(), paths, options)
    }

    fn of(mut loaded: Loaded, compared: Compared, paths: &[PathBuf], options: &JobOptions) -> Result<Self> {
        let run = run_directory(paths).and_then(|run| RunDirectory::open(run).ok());
        let completeness = completeness(&loaded.traces, run.as_ref().and_then(|run| run.manifest().world_size));
        let failure = run.and_then(|run| run.first_failure());
        let folder = options.measured.folder.as_deref().or_else(|| run_directory(paths));
        if let Some(folder) = options.measured.folder.as_deref().filter(|folder| !folder.is_dir()) {
            bail!(
                "--clocks {}: no such folder. Give the folder that clock agents wrote into, or the run directory",
                folder.display()
            );
        }
        if let Some(folder) = folder {
            attach_snapshots(folder, &mut loaded.traces)?;
        }
        let settled: Vec<Vec<Settled>> = loaded.traces.par_iter_mut().map(settle_tracers).collect();
        let patterns = &options.patterns;
        let collectives: Vec<_> = loaded.traces.par_iter().map(|trace| extract(rank_of(trace), trace, patterns)).collect();
        let mut notes = Vec::new();
        let known = match (options.clocks, folder) {
            (ClockChoice::Best, Some(folder)) => measured::measured(folder)?,
            _ => None,
        };
        // Whoever asks for the collectives' word on the clocks wants it however far apart they are.
        let doubts = doubts::doubts(&loaded.traces, known.is_some() || options.clocks == ClockChoice::FromTraces);
        let matched = if doubts.is_empty() { match_ranks(&collectives) } else { match_nothing(&collectives) };
        let nodes = nodes_of(&loaded.traces, folder, known.as_ref(), options.measured.ranks_per_node)?;
        if let (None, ClockChoice::Best, Some(folder)) = (&known, options.clocks, &options.measured.folder) {
            bail!(
                "--clocks {}: holds no clocks (windows-node<k>.jsonl or offsets.jsonl). Give the folder that clock agents wrote into, or the run directory",
                folder.display()
            );
        }
        let clocks = clocks(&loaded.traces, &collectives, &matched, options.clocks, known.as_ref(), &nodes);
        if let Some(known) = &known
            && !clocks.ranks.iter().any(|rank| matches!(rank.method, Method::Measured | Method::OneHost))
        {
            notes.push(unused(known, &nodes).to_owned());
        }
        let reference_node = known.as_ref().map_or(0, |known| known.reference);
        notes.extend(known.into_iter().flat_map(|known| known.notes));
        let (moved, same) = (false, RankMap::identity());
        Ok(Self {
            loaded,
            completeness,
            compared,
            collectives,
            matched,
            clocks,
            nodes,
            settled,
            reference_node,
            notes,
            failure,
            doubts,
            moved,
            same,
        })
    }

    /// From the stamps of the rank at `index` to the reference.
    pub(crate) fn map(&self, index: usize) -> &RankMap {
        if self.moved { &self.same } else { &self.clocks.ranks[index].map }
    }

    /// Moves every event to the reference, once, and says what that did to each rank. From then on stamps need no map.
    pub(crate) fn settle(&mut self) -> Vec<Moved> {
        let clocks = &self.clocks.ranks;
        self.moved = true;
        self.loaded.traces.par_iter_mut().zip(clocks).map(|(trace, clock)| apply(trace, &clock.map)).collect()
    }
}

/// Gives every trace its rank, and passes over what adds nothing.
fn settle(loaded: &mut Loaded) -> Result<()> {
    let mut traces = std::mem::take(&mut loaded.traces);
    let passed_over = settle_ranks(&mut traces, |trace| loaded.is_earlier(trace))?;
    loaded.traces = traces;
    loaded.skipped.extend(passed_over.iter().map(ToString::to_string));
    Ok(())
}

/// Why clocks that were measured serve no rank.
fn unused(known: &Measured, nodes: &[Option<u32>]) -> &'static str {
    if known.nodes.is_empty() {
        "the measurements place no node, so they are not used"
    } else if nodes.iter().all(Option::is_none) {
        "it is not known which rank ran on which node, so measured clocks cannot be used; pass --ranks-per-node"
    } else {
        "clocks were measured between nodes, but nothing relates the traces to their nodes' clocks (the header of windows-node<k>.jsonl would, or snapshots-node<k>.jsonl), so they are not used"
    }
}

/// The rank of a trace whose rank is settled.
pub(crate) fn rank_of(trace: &Trace) -> Rank {
    trace.provenance.rank.map_or(Rank(0), |(rank, _)| rank)
}

fn clocks(
    traces: &[Trace],
    collectives: &[RankCollectives],
    matched: &Matched,
    choice: ClockChoice,
    known: Option<&Measured>,
    nodes: &[Option<u32>],
) -> JobClocks {
    let hosts: Vec<_> = traces.iter().map(|trace| trace.provenance.host.as_deref()).collect();
    let starts: Vec<_> = traces.iter().map(|trace| trace.bounds_ns().map(|(first, _)| first)).collect();
    let estimate = rankscope_align::estimate_at_start(collectives, matched, &hosts, &starts);
    let clock_of = |node: u32| known.and_then(|known| known.nodes.iter().find(|clock| clock.node == node));
    let sources: Vec<RankSource<'_>> = traces
        .iter()
        .zip(nodes)
        .map(|(trace, node)| RankSource { trace, node: node.and_then(clock_of).filter(|_| choice == ClockChoice::Best) })
        .collect();
    let mut clocks = align(&sources, estimate);
    if choice == ClockChoice::AsRecorded {
        for rank in &mut clocks.ranks {
            (rank.map, rank.method, rank.offset_ns, rank.drift_ppb) = (RankMap::identity(), Method::AsRecorded, 0, 0);
            rank.stages.clear();
        }
        clocks.method = Method::AsRecorded;
    }
    let one_node = |clock: &&NodeClock| sources.iter().all(|source| source.node.is_some_and(|node| node.node == clock.node));
    if sources.first().and_then(|source| source.node).as_ref().is_some_and(one_node) {
        // All ranks share the clock that was measured, so nothing between hosts was.
        clocks.method = Method::OneHost;
        clocks.ranks.iter_mut().for_each(|rank| rank.method = Method::OneHost);
    }
    clocks
}

/// The run directory that a user means, if it is one.
pub(crate) fn run_directory(paths: &[PathBuf]) -> Option<&Path> {
    match paths {
        [only] if RunDirectory::is_run(only) || only.join("clock").is_dir() => Some(only),
        _ => None,
    }
}

/// Adds the readings of tracers' clocks that lie beside traces in files of their own.
pub(crate) fn attach_snapshots(folder: &Path, traces: &mut [Trace]) -> Result<()> {
    for path in measured::files_named(folder, "snapshots-rank")? {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Some(rank) = rankscope_run::rank_of_name(&name) else { continue };
        let Some(trace) = traces.iter_mut().find(|trace| rank_of(trace) == rank) else { continue };
        let bytes = read_side(&path, SideFile::Clock)?;
        for (name, series) in read_snapshots(&bytes).clocks {
            let scope = if series.devices_only { ClockScope::Devices } else { ClockScope::Everything };
            let pairs = series.pairs.iter().map(measured::pair).collect();
            // Of clocks that stamp everything the trace's own readings tell more.
            if scope == ClockScope::Devices {
                trace.provenance.tracer_clocks.push(TracerClock { name, scope, pairs });
            }
        }
    }
    Ok(())
}

/// Which node each rank ran on: as the run says, else by names of hosts, else by their number, else where there is one only.
fn nodes_of(
    traces: &[Trace],
    folder: Option<&Path>,
    known: Option<&Measured>,
    ranks_per_node: Option<u32>,
) -> Result<Vec<Option<u32>>> {
    let told = folder.map(manifest_nodes).transpose()?.unwrap_or_default();
    let node = |trace: &Trace| {
        let rank = rank_of(trace);
        let by_run = || told.get(&rank.0).copied();
        let by_number = || ranks_per_node.map(|many| rank.0 / many);
        let by_host = || {
            let host = trace.provenance.host.as_deref()?;
            let hosts = &known?.hosts;
            let mut same = hosts.iter().filter(|(_, name)| name.as_str() == host);
            let first = same.next().map(|(node, _)| *node);
            first.filter(|_| same.next().is_none())
        };
        let only = || known.and_then(|known| if let [only] = known.nodes.as_slice() { Some(only.node) } else { None });
        by_number().or_else(by_run).or_else(by_host).or_else(only)
    };
    Ok(traces.iter().map(node).collect())
}

/// Ranks and their nodes, as the run's manifest has them; none where `folder` is no run.
fn manifest_nodes(folder: &Path) -> Result<BTreeMap<u32, u32>> {
    if !RunDirectory::is_run(folder) {
        return Ok(BTreeMap::new());
    }
    let run = RunDirectory::open(folder)?;
    Ok(run.manifest().ranks.iter().map(|entry| (entry.rank, entry.node)).collect())
}

/// The ranks as a list for people, cut where it gets long.
pub(crate) fn list(ranks: &[Rank]) -> String {
    let shown = ranks.iter().take(12).map(Rank::to_string).collect::<Vec<_>>().join(", ");
    match ranks.len().saturating_sub(12) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
