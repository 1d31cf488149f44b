//! A running job from its run directory: the pages of ranks, and where the clocks of their nodes stand.
//!
//! A page that cannot be read, is another rank's or whose process is gone is left out, with a sentence that says so. Clocks are those that
//! agents last wrote; without any, ranks of one node share its clock, and others are not compared.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rankscope_clock::NodeId;
use rankscope_clock::files::read_offsets;
use rankscope_document::{LiveCollective, LiveDocument, LiveRank};
use rankscope_live::{Found, NodeClock, Seen, look};
use rankscope_recording::{LivePage, PAGE_BYTES};
use rankscope_run::{RunDirectory, SideFile, files_in, open, read_side};

use crate::Error;

/// Where the job in the run directory `run` is now.
///
/// # Errors
/// [`Error::Run`] where there is no run, [`Error::NoPages`] where no rank of it tells of itself.
pub fn live(run: &Path) -> Result<LiveDocument, Error> {
    let directory = RunDirectory::open(run)?;
    let mut problems = Vec::new();
    let mut pages = pages(run, &mut problems);
    if pages.is_empty() && problems.is_empty() {
        return Err(Error::NoPages { path: run.to_owned() });
    }
    pages.sort_by_key(|page| page.head.rank);
    if let Some(world_size) = directory.manifest().world_size {
        problems.extend(missing(&pages, world_size));
    }
    let clocks = Clocks::of(&directory);
    let one_node = pages.windows(2).all(|pair| pair[0].head.boot == pair[1].head.boot);
    let seen: Vec<Seen> =
        pages.into_iter().map(|page| Seen { clock: clocks.of_rank(page.head.rank, one_node), page }).collect();
    problems.extend(without_clock(&seen));
    Ok(document(directory.name(), &seen, problems))
}

fn document(title: String, seen: &[Seen], problems: Vec<String>) -> LiveDocument {
    let look = look(seen);
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as i64);
    let mut ranks: Vec<LiveRank> = seen.iter().zip(&look.ranks).map(|(seen, found)| rank(seen, found, now_ns)).collect();
    ranks.sort_by_key(|rank| (std::cmp::Reverse(rank.lateness_ns), rank.rank));
    let mut took: Vec<i64> = seen.iter().map(|seen| seen.page.state.step_took_ns).filter(|ns| *ns > 0).collect();
    took.sort_unstable();
    LiveDocument {
        schema: 1,
        rankscope_version: env!("CARGO_PKG_VERSION").to_owned(),
        title,
        step: seen.iter().map(|seen| seen.page.state.step).max().filter(|step| *step >= 0),
        step_ns: took.get(took.len() / 2).copied(),
        compared_steps: look.steps,
        ranks,
        alarms: Vec::new(),
        problems,
    }
}

fn rank(seen: &Seen, found: &Found, now_ns: i64) -> LiveRank {
    let page = &seen.page;
    let age_ns = |raw_ns: i64| {
        let wall_ns = raw_ns.saturating_sub(page.state.anchor[0]).saturating_add(page.state.anchor[1]);
        now_ns.saturating_sub(wall_ns).max(0)
    };
    LiveRank {
        rank: page.head.rank,
        step: Some(page.state.step).filter(|step| *step >= 0),
        lateness_ns: found.lateness_ns,
        clock_error_ns: found.clock_error_ns,
        caused_wait_ns: found.caused_wait_ns,
        progress_age_ns: age_ns(page.state.progress_ns),
        open: page.open().map(|open| LiveCollective {
            group: page.groups[open.group].name.clone(),
            seq: open.sequence,
            op: open.op.name().to_owned(),
            bytes: open.bytes,
            age_ns: age_ns(open.arrived_ns),
        }),
    }
}

/// The pages of ranks that live, as far as can be told from here.
fn pages(run: &Path, problems: &mut Vec<String>) -> Vec<LivePage> {
    let mut pages = Vec::new();
    let boot = text("/proc/sys/kernel/random/boot_id");
    for path in files_in(&run.join("live")).unwrap_or_default() {
        let Some(rank) = rank_of(&path) else { continue };
        match page(&path) {
            Ok(page) if page.head.rank != rank => {
                problems.push(format!("{}: left out, as it is the page of rank {}.", path.display(), page.head.rank));
            }
            Ok(page) if is_gone(&page, &boot) => {
                problems.push(format!("Rank {rank} is gone: process {} has ended without saying so.", page.head.pid));
            }
            Ok(page) => pages.push(page),
            Err(why) => problems.push(format!("{}: left out: {why}.", path.display())),
        }
    }
    pages
}

fn rank_of(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.strip_prefix("rank-")?.strip_suffix(".page")?.parse().ok()
}

fn page(path: &Path) -> Result<LivePage, String> {
    let bytes = || -> Result<Vec<u8>, String> {
        let file = open(path).map_err(|error| crate::told(&error))?;
        let mut bytes = Vec::with_capacity(PAGE_BYTES);
        file.take(PAGE_BYTES as u64).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    };
    LivePage::read(&bytes()?, &bytes()?).map_err(|refused| refused.to_string())
}

/// Whether the process of a page on this node, whose start is called `boot`, no longer runs. Of other nodes nobody knows here.
fn is_gone(page: &LivePage, boot: &str) -> bool {
    let digits: String = boot.chars().filter(char::is_ascii_hexdigit).collect();
    if digits != format!("{:016x}{:016x}", page.head.boot[0], page.head.boot[1]) {
        return false;
    }
    let stat = text(&format!("/proc/{}/stat", page.head.pid));
    let Some((_, behind_name)) = stat.rsplit_once(')') else { return true };
    let mut fields = behind_name.split_ascii_whitespace();
    let is_dead = matches!(fields.next(), Some("Z" | "X"));
    is_dead || fields.nth(18).and_then(|ticks| ticks.parse().ok()) != Some(page.head.process_start)
}

/// A small file of the kernel, empty where there is none.
fn text(path: &str) -> String {
    let mut text = String::new();
    let _absent = open(Path::new(path)).ok().map(|file| file.take(4_096).read_to_string(&mut text));
    text
}

fn missing(pages: &[LivePage], world_size: u32) -> Option<String> {
    let told = pages.len() as u32;
    (told < world_size).then(|| format!("{told} of {world_size} ranks tell of themselves."))
}

fn without_clock(seen: &[Seen]) -> Option<String> {
    let count = seen.iter().filter(|seen| seen.clock.is_none()).count();
    (count > 0).then(|| {
        format!("The clocks of the nodes of {count} ranks are not known yet, so lateness is not known where they take part.")
    })
}

/// The clocks of nodes, where anybody measured them.
struct Clocks {
    /// The last estimate for each node.
    nodes: BTreeMap<NodeId, NodeClock>,
    /// Which rank is on which node.
    ranks: BTreeMap<u32, NodeId>,
}

impl Clocks {
    fn of(run: &RunDirectory) -> Self {
        let bytes = read_side(&run.clock().join("offsets.jsonl"), SideFile::Clock).unwrap_or_default();
        let mut nodes = BTreeMap::new();
        for row in read_offsets(&bytes).rows {
            let Some(estimate) = row.estimate else { continue };
            let (offset, bound) = (estimate.offset.as_nanos(), estimate.bound);
            let above_ns = bound.hi.as_nanos().saturating_sub(offset);
            let below_ns = offset.saturating_sub(bound.lo.as_nanos());
            let (low, high) = estimate.skew_bound_ppb;
            let skew_error_ppb = (high - estimate.skew_ppb).max(estimate.skew_ppb - low);
            let clock = NodeClock {
                at_ns: estimate.at.nanos_since_epoch(),
                offset_ns: offset,
                skew_ppb: estimate.skew_ppb,
                error_ns: above_ns.max(below_ns),
                skew_error_ppb,
            };
            nodes.insert(row.node, clock);
        }
        let ranks = run.manifest().ranks.iter().map(|rank| (rank.rank, NodeId(rank.node))).collect();
        Self { nodes, ranks }
    }

    /// That of a rank's node. Where nobody measured, ranks of one node share its clock.
    fn of_rank(&self, rank: u32, one_node: bool) -> Option<NodeClock> {
        if self.nodes.is_empty() {
            return one_node.then(NodeClock::default);
        }
        self.nodes.get(self.ranks.get(&rank)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_recording::{PageHead, PageState};

    #[test]
    fn a_page_of_a_process_that_is_gone_and_one_that_is_forged_are_left_out_with_the_reason() {
        let run = tempfile::tempdir().unwrap();
        std::fs::create_dir(run.path().join("live")).unwrap();
        let boot: String = text("/proc/sys/kernel/random/boot_id").chars().filter(char::is_ascii_hexdigit).collect();
        let half = |range: std::ops::Range<usize>| u64::from_str_radix(&boot[range], 16).unwrap();
        let page = |rank, pid, boot| {
            let mut words = [0; PAGE_BYTES / 8];
            words[..8].copy_from_slice(&PageHead { rank, pid, process_start: 1, boot }.words());
            words[48..80].copy_from_slice(&PageState::default().words(1));
            words.map(u64::to_le_bytes).concat()
        };
        let put = |name: &str, bytes: &[u8]| std::fs::write(run.path().join("live").join(name), bytes).unwrap();
        put("rank-0.page", &page(0, std::process::id(), [half(0..16), half(16..32)]));
        put("rank-1.page", &page(1, 4_000_000, [1, 2]));
        put("rank-2.page", &page(7, 1, [1, 2]));
        put("rank-3.page", b"RSLIVEPG and nothing else");
        put("notes.txt", b"none of ours");
        let mut problems = Vec::new();
        let kept = pages(run.path(), &mut problems);
        assert_eq!(
            kept.iter().map(|page| page.head.rank).collect::<Vec<_>>(),
            [1],
            "that of another node cannot be told from here"
        );
        problems.sort();
        let said = problems.join("\n");
        assert!(said.contains("Rank 0 is gone") && said.contains("page of rank 7") && said.contains("version"), "{said}");
        assert_eq!(problems.len(), 3, "{said}");
    }
}
