//! Which files are combined, and which number each trace gets: its node in the origin's words, its rank in ours.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Result, bail};
use rankscope_document::NumberedBy;
use rankscope_run::{InputFile, discover, same_file};
use rankscope_trace::{Trace, rank_of_name};

use super::Args;

/// The files to combine, in order.
#[derive(Debug)]
pub(super) struct Inputs {
    /// As the user gave them, directories and all.
    pub(super) paths: Vec<PathBuf>,
    pub(super) files: Vec<InputFile>,
    /// Their order is that of their nodes.
    pub(super) by_position: bool,
}

/// What `args` mean. What lies where the output will be is no input, unless somebody names it.
pub(super) fn inputs(args: &Args) -> Result<Inputs> {
    let mut paths = [args.paths.as_slice(), args.traces.as_slice()].concat();
    paths.extend(args.run_dir.clone());
    if args.auto_discover {
        paths.push(PathBuf::from("."));
    }
    if paths.is_empty() {
        bail!("nothing to combine: name traces, a directory of traces or a run directory");
    }
    let mut files = Vec::new();
    for path in &paths {
        let mut found = discover(std::slice::from_ref(path))?;
        if let Some(named) = found.iter().find(|file| file.named && same_file(&file.path, &args.output)) {
            bail!("{}: input and output are the same file, and rankscope never changes its inputs", named.path.display());
        }
        found.retain(|file| !same_file(&file.path, &args.output));
        // In a directory 10 would come before 2.
        if found.iter().all(|file| rank_of_name(&file.path.to_string_lossy()).is_some()) {
            found.sort_by_key(|file| rank_of_name(&file.path.to_string_lossy()));
        }
        files.extend(found);
    }
    Ok(Inputs { paths, files, by_position: !args.traces.is_empty() || args.offsets.is_some() })
}

/// Gives every trace a number of its own.
#[derive(Debug)]
pub(super) struct Numbering {
    by_position: bool,
    next: u32,
    taken: BTreeSet<u32>,
}

impl Numbering {
    pub(super) fn new(by_position: bool) -> Self {
        Self { by_position, next: 0, taken: BTreeSet::new() }
    }

    /// The number of `trace`, whose rank in the job may be known from elsewhere.
    pub(super) fn number(&mut self, trace: &Trace, known: Option<u32>) -> (u32, NumberedBy) {
        let rank = if self.by_position { None } else { known.or_else(|| trace.provenance.own_rank().map(|rank| rank.0)) };
        if let Some(rank) = rank.filter(|rank| self.taken.insert(*rank)) {
            return (rank, NumberedBy::Rank);
        }
        while !self.taken.insert(self.next) {
            self.next += 1;
        }
        (self.next, NumberedBy::Position)
    }
}
