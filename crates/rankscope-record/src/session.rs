//! [`Session`]: a wish to record. Any thread starts one and any thread stops it; several may run at once over the same stream of
//! events, each cut out of it by its window, its categories and its threads.
//!
//! The first session begins a recording (a store) and the last one ends it. Starting and stopping cost a few clock readings and
//! a look at every thread, whatever was recorded.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use rankscope_formats::recording::Cut;

use crate::lane::quiet::Quiet;
use crate::lane::registry::{self, Tally};
use crate::plugins::Registry;
use crate::recorded::{Lease, Recorded};
use crate::report::{Facts, Report};
use crate::store::{Overflow, Storage, Store};
use crate::ticks::ticks;
use crate::{Categories, TestClock, about, anchors, control, keeper, names};

/// Which threads a session is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ThreadFilter {
    /// All of them, those that come later included.
    #[default]
    All,
    /// The one that starts the session.
    Current,
    /// Those with these numbers, as the operating system gives them.
    Only(Vec<u64>),
}

/// What to record, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOptions {
    /// Sorts of events.
    pub categories: Categories,
    /// Threads.
    pub threads: ThreadFilter,
    /// Where the recording lies; a session that joins a running one takes it as it is, and may only name the same file.
    pub storage: Storage,
    /// What happens when it is full; a session that joins a running one takes it as it is.
    pub overflow: Overflow,
    /// For tests only: clocks of the host that are wrong in a known way. None takes them as they are; a session that joins a
    /// running one takes that one's.
    pub test_clock: Option<TestClock>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            categories: Categories::ALL,
            threads: ThreadFilter::All,
            storage: Storage::Memory,
            overflow: Overflow::default(),
            test_clock: None,
        }
    }
}

impl SessionOptions {
    /// The default, into a live file.
    pub fn to_file(path: impl Into<PathBuf>) -> Self {
        Self { storage: Storage::File(path.into()), ..Self::default() }
    }
}

/// Why no session was started. The program goes on as without one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Nothing would be recorded.
    #[error("the session names no category, so it would record nothing: name at least one")]
    NoCategories,
    /// A recording runs and lies elsewhere.
    #[error(
        "a recording is running {} and cannot also be written to {}: stop it first, or start this session with `Storage::Memory` to share it",
        running.as_ref().map_or("in memory".to_owned(), |path| format!("into {}", path.display())), wanted.display()
    )]
    StorageInUse {
        /// Where the running one lies.
        running: Option<PathBuf>,
        /// Where this one was to lie.
        wanted: PathBuf,
    },
    /// The memory or the file was refused.
    #[error("no room to record {}: {source}. Choose another place, or `Storage::Memory`", path.as_ref().map_or("in memory".to_owned(), |path| format!("at {}", path.display())))]
    Storage {
        /// The file, if it was to be one.
        path: Option<PathBuf>,
        /// What the system said.
        source: io::Error,
    },
}

/// Why a session could not be stopped, changed or looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StopError {
    /// It has been stopped already.
    #[error("session {id} has been stopped already: what it recorded was returned then")]
    AlreadyStopped {
        /// The session.
        id: u64,
    },
    /// It was started in the process this one was forked from.
    #[error("session {id} belongs to the process that this one was forked from: stop it there, or start one here")]
    OtherProcess {
        /// The session.
        id: u64,
    },
}

/// A session that runs.
pub(crate) struct Active {
    id: u64,
    pub(crate) categories: Categories,
    threads: ThreadFilter,
    start_tick: u64,
    changes: Vec<(u64, u32)>,
    own_stream: u32,
    before: Vec<Tally>,
    overwritten_before: u64,
    plugins: Option<Registry>,
}

/// What a session leaves.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// The events.
    pub recorded: Recorded,
    /// How it went.
    pub report: Report,
}

/// A running session, by handle. Dropping the handle does not stop it; a clone is the same session.
#[derive(Clone, Debug)]
pub struct Session {
    id: u64,
    process: u32,
}

impl Session {
    /// Starts one.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(options: SessionOptions) -> Result<Self, StartError> {
        Self::start_with(options, Registry::new())
    }

    /// Starts one with plugins, whose hooks run on this thread now and on the one that stops it.
    ///
    /// # Errors
    /// See [`StartError`]; a plugin that fails is none, but stands in the report.
    pub fn start_with(options: SessionOptions, mut plugins: Registry) -> Result<Self, StartError> {
        if plugins.is_empty() {
            return Self::begin(options);
        }
        let session = Self::begin(options.clone())?;
        plugins.start(&options);
        let mut control = control::lock();
        match control.sessions.iter_mut().find(|active| active.id == session.id) {
            Some(active) => active.plugins = Some(plugins),
            // Somebody counted sessions and has stopped this one; what its plugins started ends with them.
            None => {
                drop(control);
                plugins.finish();
            }
        }
        Ok(session)
    }

    fn begin(options: SessionOptions) -> Result<Self, StartError> {
        let SessionOptions { categories, threads, storage, overflow, test_clock } = options;
        if categories.is_empty() {
            return Err(StartError::NoCategories);
        }
        control::prepare_for_forks();
        let own_stream = registry::own_stream();
        let names = names::lock();
        let mut control = control::lock();
        let lease = match &control.current {
            Some(running) => joined(running, &storage)?,
            None => {
                control.last_epoch = control.last_epoch.wrapping_add(1).max(1);
                let lease = begin(control.last_epoch, &storage, overflow, test_clock)?;
                names.as_ref().inspect(|names| names.write_all(lease.store()));
                control.current = Some(lease.clone());
                lease
            }
        };
        drop(names);
        control.last_session += 1;
        let id = control.last_session;
        let store = lease.store();
        let (anchors, before, start_tick) = (anchors::take(store.test_clock.as_ref()), registry::lock().tallies(), ticks());
        store.system(|system| {
            system.anchors(&anchors);
            system.session_start(id, start_tick, categories.0);
        });
        let changes = vec![(start_tick, categories.0)];
        let overwritten_before = store.overwritten();
        control.sessions.push(Active {
            id,
            categories,
            threads,
            start_tick,
            changes,
            own_stream,
            before,
            overwritten_before,
            plugins: None,
        });
        control.publish();
        let fresh = control.sessions.len() == 1;
        drop(control);
        if fresh {
            about::write(&storage);
        }
        Ok(Self { id, process: std::process::id() })
    }

    /// Its number in the process, and in the recording.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether it runs.
    pub fn is_active(&self) -> bool {
        self.process == std::process::id() && control::lock().sessions.iter().any(|session| session.id == self.id)
    }

    /// Records other categories from now on. Spans that are open are ended as they would have been.
    ///
    /// # Errors
    /// See [`StopError`].
    pub fn set_categories(&self, categories: Categories) -> Result<(), StopError> {
        let (mut control, at) = self.find()?;
        let tick = ticks();
        let session = &mut control.sessions[at];
        session.categories = categories;
        session.changes.push((tick, categories.0));
        control.publish();
        if let Some(lease) = &control.current {
            lease.store().system(|system| system.session_start(self.id, tick, categories.0));
        }
        Ok(())
    }

    /// What was recorded so far; the session goes on.
    ///
    /// # Errors
    /// See [`StopError`].
    pub fn snapshot(&self) -> Result<Recorded, StopError> {
        let to_tick = ticks();
        let (control, at) = self.find()?;
        let lease = control.current.clone().ok_or(StopError::AlreadyStopped { id: self.id })?;
        let anchors = anchors::take(lease.store().test_clock.as_ref());
        lease.store().system(|system| system.anchors(&anchors));
        let cut = control.sessions[at].cut(to_tick, &registry::lock().tallies());
        Ok(Recorded::new(lease, cut))
    }

    /// Ends it, on any thread, and returns what it recorded and how it went.
    ///
    /// # Errors
    /// See [`StopError`].
    pub fn stop(&self) -> Result<Stopped, StopError> {
        let began = Instant::now();
        // Plugins record, so nothing may be locked while they stop.
        let plugins = self.find().map(|(mut control, at)| control.sessions[at].plugins.take())?;
        let failures = plugins.map_or_else(Vec::new, Registry::finish);
        let to_tick = ticks();
        let (mut control, at) = self.find()?;
        let session = control.sessions.remove(at);
        let lease = control.current.clone().ok_or(StopError::AlreadyStopped { id: self.id })?;
        control.publish();
        let store = lease.store();
        let anchors = anchors::take(store.test_clock.as_ref());
        store.system(|system| {
            system.anchors(&anchors);
            system.session_stop(self.id, to_tick);
        });
        keeper::write_drops(store);
        let after = registry::lock().tallies();
        if control.sessions.is_empty() {
            control.current = None;
            registry::lock().forget_departed();
            store.close();
        }
        drop(control);
        let cut = session.cut(to_tick, &after);
        let facts = Facts {
            before: &session.before,
            after: &after,
            streams: cut.streams.as_deref(),
            overwritten: store.overwritten() - session.overwritten_before,
            exhausted: store.exhausted(),
            anchors: &store.anchors(),
            bytes: store.bytes(),
            stop: began.elapsed(),
        };
        let report = Report { plugins: failures, ..Report::of(&facts) };
        Ok(Stopped { recorded: Recorded::new(lease, cut), report })
    }

    fn find(&self) -> Result<(Quiet<'static, control::Control>, usize), StopError> {
        if self.process != std::process::id() {
            return Err(StopError::OtherProcess { id: self.id });
        }
        let control = control::lock();
        let at = control.sessions.iter().position(|session| session.id == self.id);
        at.map(|at| (control, at)).ok_or(StopError::AlreadyStopped { id: self.id })
    }
}

impl Active {
    fn cut(&self, to_tick: u64, tallies: &[Tally]) -> Cut {
        let streams = match &self.threads {
            ThreadFilter::All => None,
            ThreadFilter::Current => Some(vec![self.own_stream]),
            ThreadFilter::Only(tids) => {
                Some(tallies.iter().filter(|tally| tids.contains(&tally.tid)).map(|tally| tally.stream).collect())
            }
        };
        Cut { from_tick: self.start_tick, to_tick, changes: self.changes.clone(), streams }
    }
}

/// The running recording, if a session that wants `storage` may join it.
fn joined(running: &Arc<Lease>, storage: &Storage) -> Result<Arc<Lease>, StartError> {
    match storage {
        Storage::File(wanted) if running.store().path() != Some(wanted) => {
            Err(StartError::StorageInUse { running: running.store().path().map(ToOwned::to_owned), wanted: wanted.clone() })
        }
        _ => Ok(running.clone()),
    }
}

fn begin(epoch: u32, storage: &Storage, overflow: Overflow, test_clock: Option<TestClock>) -> Result<Arc<Lease>, StartError> {
    let refused = |source| {
        let path = match storage {
            Storage::Memory => None,
            Storage::File(path) => Some(path.clone()),
        };
        StartError::Storage { path, source }
    };
    let store = Arc::new(Store::create(epoch, storage, overflow, test_clock).map_err(refused)?);
    registry::lock().forget_departed();
    keeper::start(store.clone());
    Ok(Arc::new(Lease::new(store)))
}
