//! Arguments that all verbs about a whole job share, and the request that they make. Translates; decides nothing.

use std::path::{Path, PathBuf};

use rankscope_config::size_by_letter;
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{Cards, ClockChoice, Judging, Rules, TableSet, WindowChoice};
use rankscope_pipeline::{Keep, Mapping, Progress, Reading, Request, Stage};

use crate::{memory, output};

/// Where measured clocks are, beside traces that are no run directory.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MeasuredArgs {
    /// Folder or run directory with clocks that agents measured [default: those of the run directory]
    #[arg(long = "clocks", value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Number of consecutive ranks per node; needed if neither the traces nor the run directory name the hosts
    #[arg(long, visible_alias = "gpus-per-node", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_node: Option<u32>,
}

impl MeasuredArgs {
    /// The folder, where one was given.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }
}

/// Which clocks to go by.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ClockArgs {
    #[command(flatten)]
    measured: MeasuredArgs,
    /// Align by the collectives alone, even if clocks were measured
    #[arg(long, conflicts_with = "as_recorded")]
    from_traces: bool,
    /// Leave every timestamp as recorded
    #[arg(long)]
    as_recorded: bool,
}

impl ClockArgs {
    /// Where measured clocks are.
    pub fn measured(&self) -> &MeasuredArgs {
        &self.measured
    }

    /// The choice that the options make.
    pub fn choice(&self) -> ClockChoice {
        match (self.from_traces, self.as_recorded) {
            (_, true) => ClockChoice::AsRecorded,
            (true, _) => ClockChoice::FromTraces,
            _ => ClockChoice::Best,
        }
    }
}

/// Which profiling windows to look at.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct WindowArgs {
    /// Where a profiler recorded several windows, use only this one: its number from 1, first or last [default: all]
    #[arg(long, value_name = "K|first|last|all", default_value = "all", hide_default_value = true)]
    pub window: WindowChoice,
}

/// How much memory traces and rows may take.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct MemoryArgs {
    /// Memory to use, such as 8GB: for traces that are kept to be written, which are read a second time beyond it, and for rows of
    /// collectives, which go to temporary files beyond half of it [default: a quarter of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = size_by_letter)]
    memory: Option<u64>,
}

impl MemoryArgs {
    /// What to keep for a timeline.
    pub fn keep(self) -> Keep {
        Keep::UpTo(self.bytes())
    }

    /// What traces may take.
    pub fn bytes(self) -> u64 {
        self.memory.unwrap_or_else(rankscope_pipeline::memory_default)
    }

    /// Rows from now on keep to it, if it was given.
    pub fn bound_rows(self) {
        self.memory.into_iter().for_each(|bytes| memory::bound_rows(Some(bytes)));
    }
}

/// The request for all of `paths`, by the usual rules, as analysis wants it.
pub fn request(paths: &[PathBuf], partial: bool, clocks: &ClockArgs) -> Request {
    request_by(paths, partial, &clocks.measured, clocks.choice())
}

/// The same, by the clocks of `choice`.
pub fn request_by(paths: &[PathBuf], partial: bool, measured: &MeasuredArgs, choice: ClockChoice) -> Request {
    let reading = Reading { args: ArgsPolicy::Analysis, scope: Scope::All };
    let mapping =
        Mapping { reading, rules: Rules::default(), keep: Keep::Nothing, cards: Cards::known().clone(), tables: TableSet::ALL };
    Request { paths: paths.to_vec(), clocks: measured.folder.clone(), mapping, judging: judging(partial, measured, choice) }
}

/// How a job is judged, by the clocks of `choice`.
pub fn judging(partial: bool, measured: &MeasuredArgs, choice: ClockChoice) -> Judging {
    Judging::default().with_clocks(choice).with_partial(partial).with_ranks_per_node(measured.ranks_per_node)
}

/// A progress bar on stderr.
#[derive(Default)]
pub struct Bar(std::sync::Mutex<Option<indicatif::ProgressBar>>);

impl Bar {
    fn with(&self, act: impl FnOnce(&mut Option<indicatif::ProgressBar>)) {
        act(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}

impl Progress for Bar {
    fn begin(&self, stage: Stage, files: usize) {
        let what = match stage {
            Stage::Writing => "writing",
            _ => "reading",
        };
        self.with(|bar| *bar = Some(output::progress(files, what)));
    }

    fn advance(&self) {
        self.with(|bar| bar.iter().for_each(|bar| bar.inc(1)));
    }

    fn end(&self) {
        self.with(|bar| bar.take().iter().for_each(indicatif::ProgressBar::finish_and_clear));
        // All threads are done with their files, and what follows needs room.
        memory::give_back();
    }

    fn let_go(&self) {
        memory::give_back();
    }
}
