//! What one node does: asks its processes to profile when it was asked to, and collects what they wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rankscope_on_demand::{Daemon, Plan, Wanted};

use super::clocks::NodeClock;
use super::files::{self, Asked, NodeWord, START, Start};

/// After the end of a profile its process writes it for so long at most.
const WRITTEN_WITHIN_MS: i64 = 60_000;

/// A node.
pub(super) struct Station {
    daemon: Daemon,
    run: PathBuf,
    node: u32,
    /// Whether its clock is the reference.
    leads: bool,
    rank_of: fn(i32) -> Option<u32>,
    under_way: BTreeMap<u32, Way>,
    /// Requests from before this node was there.
    settled: BTreeSet<u32>,
}

/// A request under way.
struct Way {
    folder: PathBuf,
    plan: Plan,
    word: NodeWord,
    /// Processes that are to write, and how long their files were at the last look.
    left: BTreeMap<i32, (u32, u64)>,
    until_ms: i64,
}

impl Station {
    /// A node that can be asked from now on.
    pub(super) fn open(
        daemon: Daemon,
        run: &Path,
        node: u32,
        leads: bool,
        rank_of: fn(i32) -> Option<u32>,
    ) -> io::Result<Self> {
        let folder = run.join(files::FOLDER);
        fs::create_dir_all(&folder)?;
        let settled = files::requests(&folder).into_iter().map(|(number, _)| number).collect();
        files::write(&folder.join(files::agent_name(node)), &serde_json::json!({"schema": 1, "node": node}))?;
        Ok(Self { daemon, run: run.to_owned(), node, leads, rank_of, under_way: BTreeMap::new(), settled })
    }

    /// Nobody can be asked any more.
    pub(super) fn close(self) {
        let _gone = fs::remove_file(self.run.join(files::FOLDER).join(files::agent_name(self.node)));
    }

    /// Looks for requests and for what was written; the wall clock shows `now_ns`.
    pub(super) fn look(&mut self, now_ns: i64) {
        for (number, folder) in files::requests(&self.run.join(files::FOLDER)) {
            if self.settled.contains(&number) || self.under_way.contains_key(&number) {
                continue;
            }
            if let Some(way) = self.begin(&folder, now_ns) {
                self.under_way.insert(number, way);
            }
        }
        let mut over = Vec::new();
        for (number, way) in &mut self.under_way {
            if way.collect(&self.run, now_ns) {
                over.push(*number);
            }
        }
        for number in over {
            self.under_way.remove(&number);
            self.settled.insert(number);
        }
    }

    /// Takes up a request, once it is known when to begin.
    fn begin(&self, folder: &Path, now_ns: i64) -> Option<Way> {
        let asked: Asked = files::read(&folder.join(files::REQUEST))?;
        let clock = NodeClock::read(&self.run, self.node);
        let start = folder.join(START);
        if self.leads && !start.is_file() {
            let now = clock.as_ref().map_or(Some(now_ns), |clock| clock.reference_ns(now_ns))?;
            let reference_ns = now.saturating_add(nanoseconds(asked.in_ms));
            // The others hear of it as soon as it can be written.
            let _later = files::write(&start, &Start { reference_ns });
        }
        let Start { reference_ns } = files::read(&start)?;
        let wall_ns = clock.as_ref().map_or(Some(reference_ns), |clock| clock.wall_ns(reference_ns))?;
        let start_ms = wall_ns.div_euclid(1_000_000);
        let file = folder.join("trace.json");
        let plan = Plan { file, start_ms, duration_ms: asked.duration_ms, iterations: asked.iterations };
        let mut way = Way {
            folder: folder.to_owned(),
            word: NodeWord { node: self.node, start_ms, is_aligned: clock.is_some(), ..NodeWord::default() },
            left: BTreeMap::new(),
            until_ms: start_ms
                .saturating_add(i64::try_from(asked.duration_ms).unwrap_or(i64::MAX))
                .saturating_add(WRITTEN_WITHIN_MS),
            plan,
        };
        self.place(&asked, &mut way);
        way.say(&self.word_path(folder));
        Some(way)
    }

    fn place(&self, asked: &Asked, way: &mut Way) {
        let is_wanted = |rank: u32| asked.ranks.as_ref().is_none_or(|ranks| ranks.contains(&rank));
        let ranks: BTreeMap<i32, u32> =
            self.daemon.pids().into_iter().filter_map(|pid| Some((pid, (self.rank_of)(pid)?))).collect();
        let pids: Vec<i32> = ranks.iter().filter(|(_, rank)| is_wanted(**rank)).map(|(pid, _)| *pid).collect();
        if pids.is_empty() {
            way.word.problem = Some("none of its processes that ask is one of these ranks".to_owned());
            return;
        }
        let limit = pids.len();
        let text = way.plan.text();
        let placed = self.daemon.place(&Wanted { job: None, pids, limit }, |_| text.clone());
        way.word.busy = placed.busy.iter().filter_map(|pid| ranks.get(pid).copied()).collect();
        for pid in placed.triggered {
            if let Some(rank) = ranks.get(&pid) {
                way.word.asked.push(*rank);
                way.left.insert(pid, (*rank, 0));
            }
        }
    }

    fn word_path(&self, folder: &Path) -> PathBuf {
        folder.join(files::word_name(self.node))
    }
}

impl Way {
    /// Collects what is written; returns whether nothing more will come.
    fn collect(&mut self, run: &Path, now_ns: i64) -> bool {
        let before = self.word.clone();
        let mut done = Vec::new();
        for (pid, (rank, bytes)) in &mut self.left {
            let Ok(number) = u32::try_from(*pid) else { continue };
            let file = self.plan.file_of(number);
            let Ok(metadata) = file.symlink_metadata() else { continue };
            // It is whole when it has not grown since the last look.
            if metadata.is_file() && metadata.len() > 0 && metadata.len() == *bytes {
                match keep(&file, run, &self.folder, *rank) {
                    Ok(()) => self.word.collected.push(*rank),
                    Err(error) => self.word.problem = Some(error.to_string()),
                }
                done.push(*pid);
            }
            *bytes = metadata.len();
        }
        self.left.retain(|pid, _| !done.contains(pid));
        self.word.is_over = self.left.is_empty() || now_ns.div_euclid(1_000_000) > self.until_ms;
        if self.word != before {
            self.say(&self.folder.join(files::word_name(self.word.node)));
        }
        self.word.is_over
    }

    fn say(&self, path: &Path) {
        // A folder that has gone is of a run that is over.
        let _gone = files::write(path, &self.word);
    }
}

/// Moves what a rank wrote to where traces of ranks are. One that is there already stays, and the new one beside the request.
fn keep(file: &Path, run: &Path, folder: &Path, rank: u32) -> io::Result<()> {
    let raw = run.join("raw");
    fs::create_dir_all(&raw)?;
    let name = format!("rank-{rank}.json");
    let is_there = raw.join(&name).exists() || raw.join(format!("{name}.gz")).exists();
    fs::rename(file, if is_there { folder.join(&name) } else { raw.join(&name) })
}

fn nanoseconds(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000_000)
}
