//! The pages of ranks on this node: of those that its part of the job started, or of all on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use rankscope_recording::{LivePage, PAGE_BYTES, PageHead, rank_of_page};
use rankscope_run::{NodePart, RankEntry, files_in, open};
use rankscope_witness::process::boot_id;
use rankscope_witness::tree::all_below;

/// Pages of own ranks, as they are now.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// In order of their numbers.
    pub(super) ranks: Vec<RankEntry>,
    pub(super) pages: BTreeMap<u32, Vec<u8>>,
}

/// Tells pages of own ranks from those that other nodes wrote into the same directory.
pub(super) struct OwnPages {
    /// The processes that the job was started as here; none takes all of this machine.
    processes: Option<Vec<u32>>,
    boot: String,
    /// Processes that were looked for: their numbers, when each began, and whether it is one of the job's.
    known: BTreeMap<(u32, u64), bool>,
}

impl OwnPages {
    pub(super) fn of(processes: Option<Vec<u32>>) -> Self {
        Self { processes, boot: boot_id(), known: BTreeMap::new() }
    }

    /// Those in `run`, as ranks of this node, which `part` is about, but for those that are known to be another node's. A page that cannot be read is left to
    /// whoever looks at it.
    pub(super) fn read(&mut self, run: &Path, part: &NodePart, is_anothers: impl Fn(u32) -> bool) -> Own {
        let mut own = Own::default();
        let paths = files_in(&run.join("live")).unwrap_or_default();
        let rank_of = |path: &Path| rank_of_page(path.file_name()?.to_str()?).filter(|rank| !is_anothers(*rank));
        let ranks = paths.iter().filter_map(|path| Some((path, rank_of(path)?)));
        let pages: Vec<(PageHead, Vec<u8>)> = ranks.filter_map(|(path, rank)| page(path, rank)).collect();
        self.learn(&pages);
        for (head, bytes) in pages {
            if head.is_of_boot(&self.boot) && self.started(&head) {
                let host = Some(part.host.clone());
                own.ranks.push(RankEntry { rank: head.rank, node: part.node, host, pid: Some(head.pid) });
                own.pages.insert(head.rank, bytes);
            }
        }
        own.ranks.sort_by_key(|rank| rank.rank);
        own
    }

    /// Finds out which of the processes that are new are the job's.
    fn learn(&mut self, pages: &[(PageHead, Vec<u8>)]) {
        let Some(processes) = &self.processes else { return };
        let heads = pages.iter().map(|(head, _)| (head.pid, head.process_start));
        if heads.clone().any(|process| !self.known.contains_key(&process)) {
            let below: BTreeSet<u32> = processes.iter().flat_map(|pid| all_below(*pid)).collect();
            self.known.extend(heads.map(|process| (process, below.contains(&process.0))));
        }
    }

    fn started(&self, head: &PageHead) -> bool {
        self.processes.is_none() || self.known.get(&(head.pid, head.process_start)) == Some(&true)
    }
}

/// What is in the page at `path`, if that is one of the rank in its name.
fn page(path: &Path, rank: u32) -> Option<(PageHead, Vec<u8>)> {
    let bytes = bytes_of_page(path)?;
    let head = LivePage::read(&bytes, &bytes).ok()?.head;
    (head.rank == rank).then_some((head, bytes))
}

/// The bytes of the page at `path`, as far as they go.
pub(super) fn bytes_of_page(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(PAGE_BYTES);
    open(path).ok()?.take(PAGE_BYTES as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
