//! A node that does not lead, when something happens: it waits for the leader's call, keeps the end of what its own ranks recorded in its own run
//! directory, and sends that if the leader wants it.
//!
//! It is idle but for one question to the store in some seconds, and nothing of the job waits for it. When the job is over, what it is about is
//! given a minute; else it is gone with its process, in the middle of whatever it does.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::Duration;

use rankscope_probe::rendezvous::KeyValueStore;
use rankscope_run::{RunDirectory, open};

use super::hearing::hear;
use super::keeper::kept_by_process;
use super::nodes::{Nodes, PIECE_WITHIN};
use super::pieces::send;
use super::post::{Call, Kept, KeptFile, PostError, Wish, is_stale, keys, say, understood};
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
    /// Whether it answers a call just now.
    busy: Arc<AtomicBool>,
}

/// How long the leader may take before it wants what was kept, or not: others come first.
const WISHED_WITHIN: Duration = Duration::from_secs(90);

/// Measurements of clocks beyond this stay; the leader's own tell more.
const CLOCK_BYTES_MAX: u64 = 4 << 20;

/// Waits for calls from now on, for the run in `run`, until this process ends; returns whether one is being answered, then and later.
pub(super) fn wait(nodes: Nodes, run: &Path, observer: &Arc<dyn Observer>) -> Arc<AtomicBool> {
    let busy = Arc::<AtomicBool>::default();
    let outpost = Outpost { nodes, run: run.to_owned(), observer: Arc::clone(observer), busy: Arc::clone(&busy) };
    let started = Builder::new().name("rankscope-outpost".to_owned()).spawn(move || outpost.serve());
    if let Err(error) = started {
        observer.notice(&Notice::NoIncident(Error::NoProcess(error)));
    }
    busy
}

impl Outpost {
    fn serve(&self) {
        hear(&self.nodes, keys::CALLS, keys::call, |store, number, text| {
            self.busy.store(true, Ordering::Release);
            let answered = understood(text).and_then(|call| self.answer(store, number, &call));
            self.busy.store(false, Ordering::Release);
            if let Err(error) = answered {
                self.observer.notice(&Notice::NotSent(error.to_string()));
            }
            ControlFlow::Continue(())
        });
    }

    fn answer(&self, store: &mut dyn KeyValueStore, number: i64, call: &Call) -> Result<(), PostError> {
        if is_stale(call.called_unix_ns) {
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
