//! Counters of nodes, which `rankscope run --counters` leaves in `counters/` of the run directory: a recording for each host. A timeline shows
//! them beside the lowest rank of their host.
//!
//! Like a rank's other processes they are brought on to the rank's clock by the counter of the host that both read; no clock of another host is
//! needed. Recordings of hosts that no rank names stay out, unless there is one recording and no rank says where it was.

use std::path::{Path, PathBuf};

use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{HostGpus, Parts};
use rankscope_run::{InputFile, files_in, is_folder};
use rankscope_trace::Trace;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::Clues;
use crate::read::{Reading, read_alone};

/// What nodes recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeCounters(Vec<PathBuf>);

impl NodeCounters {
    /// That of the run that `clues` lead to.
    pub fn of(clues: &Clues) -> Self {
        Self::folder(clues).map(|folder| Self::in_folder(&folder)).unwrap_or_default()
    }

    /// Where that of the run is that `clues` lead to, if there is any.
    pub(crate) fn folder(clues: &Clues) -> Option<PathBuf> {
        let folder = clues.run.as_ref()?.join("counters");
        is_folder(&folder).unwrap_or(false).then_some(folder)
    }

    /// That in `folder`.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let mut files = files_in(folder).unwrap_or_default();
        // Earlier attempts' end in a number.
        files.retain(|path| path.extension().is_some_and(|suffix| suffix == "rkr"));
        files.sort();
        Self(files)
    }

    /// What slowed the GPUs of these nodes, where one of `parts` is of a rank whose GPU is known and `answers` are asked for: counters of many
    /// nodes are much to read.
    pub(crate) fn gpus_of(&self, parts: &Parts, answers: bool) -> Vec<HostGpus> {
        if !answers || parts.iter().all(|(_, part)| part.about.gpu.is_none()) {
            return Vec::new();
        }
        self.0.par_iter().filter_map(|path| HostGpus::of(&read(path)?)).collect()
    }

    /// For ranks one after the other, from the lowest on.
    pub(crate) fn left(&self) -> NodesLeft {
        NodesLeft { files: self.0.clone(), are_named: false }
    }
}

/// Recordings that no rank has got yet.
pub(crate) struct NodesLeft {
    files: Vec<PathBuf>,
    /// A rank has said which host it was on.
    are_named: bool,
}

impl NodesLeft {
    /// The counters of the host of `trace`, which is the next rank's, unless a lower one has them.
    pub(crate) fn take(&mut self, trace: &Trace) -> Option<Trace> {
        let place = self.place(trace.provenance.host.as_deref())?;
        read(&self.files.remove(place))
    }

    fn place(&mut self, host: Option<&str>) -> Option<usize> {
        self.are_named |= host.is_some();
        match host {
            Some(host) => self.files.iter().position(|file| file.file_stem().is_some_and(|stem| stem == host)),
            // Of one node there is nothing to mix up.
            None => (self.files.len() == 1 && !self.are_named).then_some(0),
        }
    }
}

/// The counters in `path`; none where they cannot be read, as of a process that was killed at once.
fn read(path: &Path) -> Option<Trace> {
    let file = InputFile { path: path.to_owned(), named: true, earlier: false };
    let mut found = None;
    read_alone(&file, Reading { args: ArgsPolicy::Analysis, scope: Scope::All }, |member| found = member.trace.ok());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(hosts: &[&str]) -> NodesLeft {
        let files = hosts.iter().map(|host| PathBuf::from(format!("run/counters/{host}.rkr"))).collect();
        NodesLeft { files, are_named: false }
    }

    #[test]
    fn the_lowest_rank_of_a_host_has_its_counters() {
        let mut left = left(&["a", "b.example.org"]);
        let hosts = [Some("a"), Some("a"), None, Some("c"), Some("b.example.org"), Some("b.example.org")];
        let got = hosts.map(|host| left.place(host).map(|place| left.files.remove(place)).is_some());
        assert_eq!(got, [true, false, false, false, true, false]);
    }

    #[test]
    fn one_host_that_nobody_names_is_the_lowest_ranks() {
        assert_eq!(left(&["a"]).place(None), Some(0));
        assert_eq!(left(&["a", "b"]).place(None), None, "which of them?");
        let mut left = left(&["a"]);
        assert_eq!((left.place(Some("b")), left.place(None)), (None, None), "a rank has named another");
    }
}
