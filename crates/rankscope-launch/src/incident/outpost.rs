//! A node that does not lead, when something happens: it waits for the leader's call, keeps the end of what its own ranks recorded in its own run
//! directory, and sends that if the leader wants it.
//!
//! It is idle but for one question to the store in some seconds, and nothing waits for it: at the end of the job, or with its process, it is gone
//! in the middle of whatever it does.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, sleep};
use std::time::Duration;

use rankscope_probe::rendezvous::{KeyValueStore, StoreError};
use rankscope_run::{RunDirectory, now_unix_ns, open};

use super::keeper::kept_by_process;
use super::nodes::{Nodes, PIECE_WITHIN};
use super::post::{Call, Kept, KeptFile, PostError, Wish, keys, say, send, understood};
use super::{COUNTERS, RAW};
use crate::below::files_below;
use crate::directory;
use crate::error::Error;
use crate::executable::Executable;
use crate::notice::{Notice, Observer};

/// Who waits on a node that does not lead.
struct Outpost {
    nodes: Nodes,
    run: PathBuf,
    observer: Arc<dyn Observer>,
}

/// Between two questions whether there is a call.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// The store is not there yet, or not any more.
const PAUSE: Duration = Duration::from_secs(2);

/// How long the leader may take before it wants what was kept, or not: others come first.
const WISHED_WITHIN: Duration = Duration::from_secs(90);

/// A call that is older is over.
const STALE_NS: i64 = 30_000_000_000;

/// Measurements of clocks beyond this stay; the leader's own tell more.
const CLOCK_BYTES_MAX: u64 = 4 << 20;

/// Waits for calls from now on, for the run in `run`, until this process ends.
pub(super) fn wait(nodes: Nodes, run: &Path, observer: &Arc<dyn Observer>) {
    let outpost = Outpost { nodes, run: run.to_owned(), observer: Arc::clone(observer) };
    let started = Builder::new().name("rankscope-outpost".to_owned()).spawn(move || outpost.serve());
    if let Err(error) = started {
        observer.notice(&Notice::NoIncident(Error::NoProcess(error)));
    }
}

impl Outpost {
    fn serve(&self) {
        let Ok(mut store) = self.nodes.store() else { return };
        // The last call may have been made while this node came.
        let mut number = loop {
            match store.add(keys::CALLS, 0) {
                Ok(calls) => break calls.max(1),
                Err(StoreError::Unreachable { .. } | StoreError::TimedOut { .. }) => sleep(PAUSE),
                Err(_) => return,
            }
        };
        loop {
            match store.wait(&keys::call(number), ASK_EVERY) {
                Ok(text) => {
                    number += 1;
                    let answered = understood(&text).and_then(|call| self.answer(&mut *store, number - 1, &call));
                    if let Err(error) = answered {
                        self.observer.notice(&Notice::NotSent(error.to_string()));
                    }
                }
                Err(StoreError::TimedOut { .. }) => {}
                Err(StoreError::Unreachable { .. }) => sleep(PAUSE),
                Err(_) => return,
            }
        }
    }

    fn answer(&self, store: &mut dyn KeyValueStore, number: i64, call: &Call) -> Result<(), PostError> {
        let age_ns = now_unix_ns().unwrap_or(0).saturating_sub(call.called_unix_ns);
        if age_ns > STALE_NS {
            return Ok(());
        }
        let kept = self.kept(call);
        let node = self.nodes.node;
        say(store, &keys::kept(number, node), &kept)?;
        if kept.shares || kept.problem.is_some() {
            return Ok(());
        }
        self.observer.notice(&Notice::KeptHere { because: call.because.clone(), folder: kept.folder.clone() });
        let key = keys::wish(number, node);
        let wish: Wish = understood(&store.wait(&key, WISHED_WITHIN)?)?;
        store.set(&key, "")?;
        if wish == Wish::Leave {
            return Ok(());
        }
        for (at, file) in kept.files.iter().enumerate() {
            // The packed end of a recording changes no more.
            let bytes = open(&kept.folder.join(&file.name)).map_err(io::Error::other)?;
            send(store, (number, node, at), bytes, PIECE_WITHIN)?;
        }
        Ok(())
    }

    /// Keeps the end of what was recorded here, by a process of its own.
    fn kept(&self, call: &Call) -> Kept {
        let host = directory::host();
        if RunDirectory::open(&self.run).is_ok_and(|run| run.started_unix_ns() == call.started_unix_ns) {
            return Kept { host, shares: true, ..Kept::default() };
        }
        let last = Duration::from_millis(call.last_ms);
        let folder = Executable::own()
            .and_then(|own| kept_by_process(&own, own.keep_of_node(&self.run, last, &call.because)))
            .map(|(folder, _)| folder);
        match folder {
            Ok(folder) => Kept { host, files: files(&folder), folder, ..Kept::default() },
            Err(error) => Kept { host, problem: Some(error.to_string()), ..Kept::default() },
        }
    }
}

/// What there is in `folder` that a leader may want: recordings first.
fn files(folder: &Path) -> Vec<KeptFile> {
    let places = [RAW, COUNTERS, "clock"].into_iter().flat_map(|place| files_below(&folder.join(place), usize::MAX));
    let file = |(path, metadata): (PathBuf, std::fs::Metadata)| {
        let name = path.strip_prefix(folder).ok()?.to_str()?.to_owned();
        let is_small = !name.starts_with("clock") || metadata.len() <= CLOCK_BYTES_MAX;
        let file = KeptFile { name, bytes: metadata.len() };
        (is_small && file.path().is_some()).then_some(file)
    };
    places.filter_map(file).collect()
}
