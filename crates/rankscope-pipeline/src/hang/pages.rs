//! The live pages of a run that stands still, read so that it can be told whether it does.
//!
//! How long ago a rank made progress is told by the wall clock of its node. Those of this node are this clock's; where there are others,
//! which may be set wrong, pages are read a second time a while later, and who has moved in between runs. Pages also say which processes
//! are the ranks'.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rankscope_hang::{Evidence, FoundPage, FoundPages};
use rankscope_run::RunDirectory;

use super::OfRank;
use super::kept::Keeping;
use crate::Error;
use crate::live::{PageFile, Writer, now_ns, page_files};

/// Between the two looks.
const LOOKS_APART: Duration = Duration::from_secs(2);

/// Whether ranks may keep pages in the folder at `path`: it is a run, or what a program that was told of it takes for one.
pub(super) fn may_be_in(path: &Path) -> bool {
    RunDirectory::is_run(path) || path.join("live").is_dir()
}

/// What the ranks of the job in the run directory `run` tell of themselves, if any does. Returns their processes on this node where the job
/// stands still, and none where it does not: what a job does that runs says nothing.
pub(super) fn read_pages(
    run: &Path,
    evidence: &mut Evidence,
    keeping: &Keeping<'_>,
) -> Result<Option<Vec<OfRank<u32>>>, Error> {
    let world_size = if RunDirectory::is_run(run) { RunDirectory::open(run)?.manifest().world_size } else { None };
    let mut problems = Vec::new();
    let mut files = page_files(run, &mut problems);
    let mut moving = None;
    if files.iter().any(|file| file.writer == Writer::Elsewhere) {
        let before: BTreeMap<u32, u64> = files.iter().map(progress).collect();
        sleep(LOOKS_APART);
        problems.clear();
        files = page_files(run, &mut problems);
        let has_moved = |file: &&PageFile| before.get(&progress(file).0) != Some(&progress(file).1);
        moving = files.iter().find(has_moved).map(|file| file.page.head.rank);
    }
    problems.into_iter().for_each(|problem| evidence.problem(problem));
    if files.is_empty() {
        return Ok(None);
    }
    for file in &files {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        keeping.copy(&name, &file.path)?;
    }
    let here = files.iter().filter(|file| file.writer == Writer::Here);
    let processes = here.map(|file| OfRank { rank: Some(file.page.head.rank), what: file.page.head.pid }).collect();
    let found = |file: PageFile| FoundPage {
        file: file.path.display().to_string(),
        page: file.page,
        is_gone: file.writer == Writer::Gone,
    };
    let pages = FoundPages { world_size, now_ns: now_ns(), moving, pages: files.into_iter().map(found).collect() };
    let stand_still = pages.stand_still();
    evidence.add_pages(pages);
    Ok(Some(if stand_still { processes } else { Vec::new() }))
}

fn progress(file: &PageFile) -> (u32, u64) {
    (file.page.head.rank, file.page.state.progress)
}
