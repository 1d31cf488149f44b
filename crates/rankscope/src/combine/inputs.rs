//! Which files are combined.

use std::path::PathBuf;

use anyhow::{Result, bail};
use rankscope_run::{InputFile, discover, same_file};
use rankscope_trace::rank_of_name;

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
