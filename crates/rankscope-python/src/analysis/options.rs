//! Options that all questions about a job share, by the names and with the defaults of the command's, and the request that they make.

use std::path::PathBuf;

use pyo3::prelude::*;
use rankscope_analyze::ClassMode;
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{Cards, ClockChoice, Judging, Rules, TableSet};
use rankscope_pipeline::{Keep, Mapping, Reading, Request};

use super::failure::Failure;

/// Which job, read and judged how.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct JobOptions {
    paths: Vec<PathBuf>,
    partial: bool,
    clocks: Option<PathBuf>,
    ranks_per_node: Option<i64>,
    from_traces: bool,
    as_recorded: bool,
    window: String,
    gpu_only: bool,
    classes: String,
    comm_pattern: Vec<String>,
}

impl JobOptions {
    /// What is asked of the pipeline, as analysis wants it.
    pub(crate) fn request(&self) -> Result<Request, Failure> {
        let reading = Reading { args: ArgsPolicy::Analysis, scope: if self.gpu_only { Scope::Device } else { Scope::All } };
        let mapping = Mapping {
            reading,
            rules: self.rules()?,
            keep: Keep::Nothing,
            cards: Cards::known().clone(),
            tables: TableSet::ALL,
        };
        Ok(Request { paths: self.paths.clone(), clocks: self.clocks.clone(), mapping, judging: self.judging()? })
    }

    /// The clocks to go by.
    pub(crate) fn choice(&self) -> Result<ClockChoice, Failure> {
        match (self.from_traces, self.as_recorded) {
            (true, true) => Err(Failure::usage("--from-traces cannot be used with --as-recorded")),
            (true, false) => Ok(ClockChoice::FromTraces),
            (false, true) => Ok(ClockChoice::AsRecorded),
            (false, false) => Ok(ClockChoice::Best),
        }
    }

    /// Whether operators were left out.
    pub(crate) fn gpu_only(&self) -> bool {
        self.gpu_only
    }

    /// The folder of clocks, where one was named.
    pub(crate) fn clocks(&self) -> Option<&std::path::Path> {
        self.clocks.as_deref()
    }

    fn rules(&self) -> Result<Rules, Failure> {
        let classes = match self.classes.as_str() {
            "default" => ClassMode::Default,
            "tracelens" => ClassMode::Tracelens,
            other => return Err(Failure::usage(format!("--classes {other}: the classes are default and tracelens"))),
        };
        Ok(Rules::new(classes, self.comm_pattern.clone(), self.gpu_only))
    }

    fn judging(&self) -> Result<Judging, Failure> {
        let ranks_per_node = self.ranks_per_node.map(|ranks| natural("--ranks-per-node", ranks)).transpose()?;
        if ranks_per_node == Some(0) {
            return Err(Failure::usage("--ranks-per-node 0: a node has a rank at least"));
        }
        let mut judging = Judging::default().with_clocks(self.choice()?).with_partial(self.partial);
        judging = judging.with_ranks_per_node(ranks_per_node);
        judging.window = self.window.parse().map_err(|why| Failure::usage(format!("--window {}: {why}", self.window)))?;
        Ok(judging)
    }
}

/// The value of `option`, which is a count or a number from 0.
pub(crate) fn natural(option: &str, value: i64) -> Result<u32, Failure> {
    u32::try_from(value).map_err(|_| Failure::usage(format!("{option} {value}: this must be between 0 and {}", u32::MAX)))
}
