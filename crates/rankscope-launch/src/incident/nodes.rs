//! The nodes of a job that share no directory, as the one that leads sees them when something happens: it calls, keeps its own end, and then
//! takes what the others kept into the folder of the incident, as far as that is small and comes in time.
//!
//! Where it is too large, or only a part of it came, it is said where the node's own copy lies. A node that shares the directory has nothing
//! to add, and one that is silent costs the time for silence and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rankscope_config::ClockSettings;
use rankscope_probe::key::SharedKey;
use rankscope_probe::launch::command::Agents;
use rankscope_probe::rendezvous::{self, KeyValueStore, Meeting, Place, StoreError, StoreServer};
use rankscope_run::{NodePart, RankEntry, RunDirectory, node_part, now_unix_ns};
use rankscope_trace::rank_of_name;
use serde::Serialize;

use super::pieces::receive;
use super::post::{Call, Kept, KeptFile, PostError, Wish, keys, say, understood};
use crate::agent::key;
use crate::directory::{self, Directory};
use crate::together::milliseconds;

/// How the processes of `rankscope run` reach each other: through the store of their agents.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    place: Place,
    key: Option<SharedKey>,
    run_id: String,
    pub(crate) node: u32,
    pub(crate) num_nodes: u32,
}

/// How long the store may be silent.
const PATIENCE: Duration = Duration::from_secs(3);

/// That of one that is no more than a way round.
const NEAR_PATIENCE: Duration = Duration::from_secs(1);

/// How long nodes may take to keep their ends, all of them, and to send them.
const KEPT_WITHIN: Duration = Duration::from_secs(30);
const SENT_WITHIN: Duration = Duration::from_secs(60);

/// How long one piece may take.
pub(super) const PIECE_WITHIN: Duration = Duration::from_secs(10);

/// What is taken of one node, and of all.
const NODE_BYTES_MAX: u64 = 64 << 20;
const ALL_BYTES_MAX: u64 = 1 << 30;

/// What became of a node's part, for whoever comes to `nodes.json` of the incident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Part {
    pub(crate) node: u32,
    pub(crate) host: Option<String>,
    /// Where the node's own copy lies.
    pub(crate) folder: Option<PathBuf>,
    /// Ranks of which recordings were taken.
    pub(crate) ranks: BTreeSet<u32>,
    /// Why not all of it is here.
    pub(crate) lacks: Option<String>,
}

impl Nodes {
    /// Those of the job that `described` tells of, where there are several, each has a process of ours, and they may speak to each other without a
    /// directory in common: whoever shares no directory has been given the key.
    pub(crate) fn of(described: &Agents, directory: &Directory, settings: Option<&ClockSettings>) -> Option<Self> {
        let settings = settings?;
        let Agents::Here { num_nodes: 2.., local_rank: 0, place: Some(place), .. } = described else { return None };
        let key = key::given(settings, Duration::ZERO, &mut |_| {}).ok()?;
        let may_speak = key.is_some() || settings.insecure;
        may_speak.then(|| Self {
            place: place.clone(),
            key,
            run_id: directory.run_id().to_owned(),
            node: directory.seat.node,
            num_nodes: directory.seat.num_nodes,
        })
    }

    /// Those of a job whose agents meet at `place`.
    #[cfg(test)]
    pub(crate) fn at(place: Place, key: Option<SharedKey>, (node, num_nodes): (u32, u32)) -> Self {
        Self { place, key, run_id: "run".to_owned(), node, num_nodes }
    }

    /// All but this one.
    pub(crate) fn others(&self) -> impl Iterator<Item = u32> {
        let own = self.node;
        (0..self.num_nodes).filter(move |node| *node != own)
    }

    /// The store that they speak through.
    pub(crate) fn store(&self) -> Result<Box<dyn KeyValueStore>, StoreError> {
        // The agent of node 0 hosts it.
        Ok(self.meeting(&self.place, false, PATIENCE)?.store)
    }

    /// One of their own that a node hosts at `at`.
    pub(crate) fn store_at(&self, at: SocketAddr) -> Result<Box<dyn KeyValueStore>, StoreError> {
        Ok(self.meeting(&Place::Tcp { host: at.ip().to_string(), port: at.port() }, false, NEAR_PATIENCE)?.store)
    }

    /// Hosts one at `address` of this host, on any port.
    pub(crate) fn host(&self, address: IpAddr) -> Result<(Box<dyn KeyValueStore>, Option<StoreServer>), StoreError> {
        let Meeting { store, server } =
            self.meeting(&Place::Tcp { host: address.to_string(), port: 0 }, true, NEAR_PATIENCE)?;
        Ok((store, server))
    }

    fn meeting(&self, place: &Place, host: bool, patience: Duration) -> Result<Meeting, StoreError> {
        let (run_id, restart, key) = (self.run_id.clone(), directory::restart(), self.key.clone());
        Meeting::at(place, rendezvous::MeetingOptions { run_id, restart, key, patience, host })
    }

    /// Calls the others to keep their last `last`; the number of the call.
    pub(super) fn call(&self, run: &Path, because: &str, last: Duration) -> Result<i64, PostError> {
        let mut store = self.store()?;
        let started_unix_ns = RunDirectory::open(run).map_or(0, |run| run.started_unix_ns());
        let last_ms = milliseconds(last);
        let called_unix_ns = now_unix_ns().unwrap_or(0);
        let number = store.add(keys::CALLS, 1)?;
        say(&mut *store, &keys::call(number), &Call { because: because.to_owned(), last_ms, called_unix_ns, started_unix_ns })?;
        Ok(number)
    }

    /// Takes what the others kept after the call `number` into `folder`, and writes down what became of it.
    pub(super) fn collect(&self, number: i64, folder: &Path) -> Result<Vec<Part>, PostError> {
        let mut collector = Collector {
            store: self.store()?,
            number,
            folder,
            left: ALL_BYTES_MAX,
            kept_by: Instant::now() + KEPT_WITHIN,
            sent_by: Instant::now() + SENT_WITHIN,
        };
        let own = ranks_in(folder);
        let parts: Vec<Part> = self.others().filter_map(|node| collector.part(node)).collect();
        if !parts.is_empty() {
            tell_whose(folder, self.node, own, &parts)?;
            let text = serde_json::json!({"schema": 1, "nodes": parts});
            fs::write(folder.join("nodes.json"), format!("{text:#}\n"))?;
        }
        Ok(parts)
    }
}

/// Takes the parts of nodes, one after the other.
struct Collector<'a> {
    store: Box<dyn KeyValueStore>,
    number: i64,
    folder: &'a Path,
    /// Bytes that may yet be taken.
    left: u64,
    kept_by: Instant,
    sent_by: Instant,
}

impl Collector<'_> {
    /// That of `node`; none where it shares the directory.
    fn part(&mut self, node: u32) -> Option<Part> {
        let mut part = Part { node, host: None, folder: None, ranks: BTreeSet::new(), lacks: None };
        if Instant::now() > self.sent_by {
            // A store that is gone would cost its patience for each of a thousand nodes.
            part.lacks = Some("no time was left to ask it".to_owned());
            return Some(part);
        }
        match self.kept(node) {
            Ok(kept) if kept.shares => return None,
            Ok(kept) => {
                (part.host, part.folder) =
                    (Some(kept.host.clone()), Some(kept.folder.clone()).filter(|_| kept.problem.is_none()));
                part.lacks = match kept.problem {
                    Some(problem) => Some(problem),
                    None => self.take(node, &kept.files, &mut part.ranks).err(),
                };
            }
            Err(error) => part.lacks = Some(format!("it has not said what it kept: {error}")),
        }
        Some(part)
    }

    fn kept(&mut self, node: u32) -> Result<Kept, PostError> {
        let key = keys::kept(self.number, node);
        let text = self.store.wait(&key, self.kept_by.saturating_duration_since(Instant::now()))?;
        // It is read once.
        self.store.set(&key, "")?;
        understood(&text)
    }

    /// Takes the files of `node`, or says why not all of them.
    fn take(&mut self, node: u32, files: &[KeptFile], ranks: &mut BTreeSet<u32>) -> Result<(), String> {
        let bytes = files.iter().map(|file| file.bytes).fold(0, u64::saturating_add);
        let is_small = bytes <= NODE_BYTES_MAX.min(self.left) && Instant::now() < self.sent_by;
        let wish = if is_small { Wish::Send } else { Wish::Leave };
        say(&mut *self.store, &keys::wish(self.number, node), &wish).map_err(|error| error.to_string())?;
        if !is_small {
            return Err(format!("{} MiB are too much to be sent", bytes.div_ceil(1 << 20)));
        }
        self.left -= bytes;
        for (number, file) in files.iter().enumerate() {
            let is_new = self.take_one((node, number), file).map_err(|error| format!("{}: {error}", file.name))?;
            ranks.extend(file.rank().filter(|_| is_new));
        }
        Ok(())
    }

    /// Takes one file; false where there is one of its name already.
    fn take_one(&mut self, (node, number): (u32, usize), file: &KeptFile) -> Result<bool, PostError> {
        let path = self.folder.join(file.path().ok_or(PostError::Foreign)?);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        // What is here already is this node's own, or another's that came first.
        let mut into = match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
            made => Some(made?),
        };
        let within = PIECE_WITHIN.min(self.sent_by.saturating_duration_since(Instant::now()));
        let received = receive(&mut *self.store, (self.number, node, number), file.bytes, within, |bytes| {
            into.as_mut().map_or(Ok(()), |into| into.write_all(bytes))
        });
        if received.is_err() && into.is_some() {
            // A part of a recording would pass for all of it.
            let _gone = fs::remove_file(&path);
        }
        received.map(|()| into.is_some())
    }
}

/// Ranks that there are recordings of in `folder`.
fn ranks_in(folder: &Path) -> BTreeSet<u32> {
    let entries = fs::read_dir(folder.join("raw")).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(rank_of_name(entry.file_name().to_str()?)?.0)).collect()
}

/// Writes down which ranks ran on which node, by which clocks that were measured become theirs: this node's `own` ones, and all that came.
fn tell_whose(folder: &Path, node: u32, own: BTreeSet<u32>, parts: &[Part]) -> io::Result<()> {
    let mut of_node: BTreeMap<u32, (String, BTreeSet<u32>)> = BTreeMap::new();
    of_node.insert(node, (directory::host(), own));
    for part in parts {
        of_node.insert(part.node, (part.host.clone().unwrap_or_default(), part.ranks.clone()));
    }
    for (node, (host, ranks)) in of_node {
        let entry = |rank| RankEntry { rank, node, host: Some(host.clone()), pid: None };
        let part = NodePart { node, host: host.clone(), ranks: ranks.into_iter().map(entry).collect() };
        node_part(folder, &part).map_err(io::Error::other)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rankscope_probe::rendezvous::DirectoryStore;

    use super::*;

    /// What the leader makes of a node that said `kept`, with the folder of the incident and what the node was told of it.
    fn part_of(kept: Option<&Kept>) -> (Option<Part>, tempfile::TempDir, Option<String>) {
        let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut store = DirectoryStore::open(place.path()).unwrap();
        if let Some(kept) = kept {
            say(&mut store, &keys::kept(1, 3), kept).unwrap();
        }
        // Nothing more comes: whoever waits for a piece waits in vain.
        let (kept_by, sent_by) = (Instant::now(), Instant::now() + Duration::from_millis(300));
        let store = Box::new(store);
        let mut collector = Collector { store, number: 1, folder: folder.path(), left: ALL_BYTES_MAX, kept_by, sent_by };
        let part = collector.part(3);
        let told = collector.store.get(&keys::wish(1, 3)).unwrap();
        (part, folder, told)
    }

    fn kept(name: &str, bytes: u64) -> Kept {
        let files = vec![KeptFile { name: name.to_owned(), bytes }];
        Kept { host: "b".to_owned(), folder: "/runs/x/incidents/1".into(), files, ..Kept::default() }
    }

    #[test]
    fn a_node_that_shares_the_directory_has_nothing_to_add() {
        assert_eq!(part_of(Some(&Kept { shares: true, ..Kept::default() })).0, None);
    }

    #[test]
    fn where_the_end_of_a_node_lies_is_known_when_it_is_too_large() {
        let (part, folder, told) = part_of(Some(&kept("raw/rank-3.rkr", NODE_BYTES_MAX + 1)));
        let part = part.unwrap();
        assert_eq!((part.host.as_deref(), part.folder.as_deref()), (Some("b"), Some(Path::new("/runs/x/incidents/1"))));
        assert_eq!(part.lacks.as_deref(), Some("65 MiB are too much to be sent"));
        assert_eq!((told.as_deref(), fs::read_dir(folder.path()).unwrap().count()), (Some("\"leave\""), 0));
    }

    #[test]
    fn of_what_does_not_come_nothing_is_left() {
        let (part, folder, told) = part_of(Some(&kept("raw/rank-3.rkr", 9)));
        let lacks = part.unwrap().lacks.unwrap();
        assert!(lacks.starts_with("raw/rank-3.rkr: nothing more came"), "{lacks}");
        assert_eq!((told.as_deref(), ranks_in(folder.path()).len()), (Some("\"send\""), 0));
        let lacks = part_of(None).0.unwrap().lacks.unwrap();
        assert!(lacks.starts_with("it has not said what it kept"), "{lacks}");
        let problem = Kept { problem: Some("no rank records itself".to_owned()), ..kept("raw/rank-3.rkr", 9) };
        let part = part_of(Some(&problem)).0.unwrap();
        assert_eq!((part.lacks.as_deref(), part.folder), (Some("no rank records itself"), None));
    }

    #[test]
    fn nobody_is_asked_when_the_time_is_over() {
        let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut store = Box::new(DirectoryStore::open(place.path()).unwrap());
        say(&mut *store, &keys::kept(1, 3), &kept("raw/rank-3.rkr", 9)).unwrap();
        let over = Instant::now().checked_sub(Duration::from_millis(1)).unwrap();
        let mut collector = Collector { store, number: 1, folder: folder.path(), left: 9, kept_by: over, sent_by: over };
        assert_eq!(collector.part(3).unwrap().lacks.as_deref(), Some("no time was left to ask it"));
        assert_eq!(collector.store.get(&keys::wish(1, 3)).unwrap(), None);
    }

    #[test]
    fn a_node_writes_nowhere_but_where_recordings_are() {
        for name in ["../rank-3.rkr", "run.json", "/etc/x.rkr", "raw/../../x.rkr"] {
            let (part, folder, _) = part_of(Some(&kept(name, 9)));
            assert!(part.unwrap().lacks.unwrap().contains("not understood"), "{name}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{name}");
        }
    }

    #[test]
    fn whose_ranks_are_whose_is_in_the_words_of_nodes() {
        let folder = tempfile::tempdir().unwrap();
        let part = Part { node: 3, host: Some("b".to_owned()), folder: None, ranks: [6, 7].into(), lacks: None };
        tell_whose(folder.path(), 0, [0].into(), &[part]).unwrap();
        let text = fs::read_to_string(folder.path().join("nodes/node-3.json")).unwrap();
        let told: NodePart = serde_json::from_str(&text).unwrap();
        let ranks: Vec<_> = told.ranks.iter().map(|rank| (rank.rank, rank.node, rank.host.as_deref())).collect();
        assert_eq!((told.host.as_str(), ranks), ("b", vec![(6, 3, Some("b")), (7, 3, Some("b"))]));
    }
}
