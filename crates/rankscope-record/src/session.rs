//! [`Session`]: turns recording on. Any thread starts one and any thread stops it; several may run at once over the same stream
//! of events, each cut out of it by its window, its categories and its threads.
//!
//! The first session begins a recording (a store) and the last one ends it. Starting and stopping cost a few clock readings and
//! a look at every thread, whatever was recorded. Only a session that shared its recording with others, and one over a ring,
//! reads what is recorded when it stops, because counts of threads do not tell what of it is its own.

mod end;
mod error;
mod options;

use std::sync::Arc;

pub use error::{StartError, StopError};
pub use options::{SessionOptions, ThreadFilter};
use rankscope_recording::Categories;
use rankscope_recording::keys::KINETO_API;

use crate::control::{Active, Companion, Handle};
use crate::lane::registry;
use crate::lease::Lease;
use crate::plugins::Registry;
use crate::recorded::Recorded;
use crate::report::Report;
use crate::store::{Refused, Storage, Store, pattern};
use crate::ticks::ticks;
use crate::{about, anchors, control, forks, keeper, names};

/// What a session leaves.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// The events.
    pub recorded: Recorded,
    /// How it went.
    pub report: Report,
}

/// A running session, by handle. A clone is the same session, and dropping the last one stops it, unless it was
/// [detached](Session::detach). What a session recorded that is stopped by dropping is gone, but for a live file.
///
/// ```
/// use rankscope_record::{Session, SessionOptions, record_function};
///
/// fn work() {
///     let _span = record_function!("work");
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Session::start(SessionOptions::default())?;
/// work();
/// let stopped = session.stop()?;
/// assert_eq!(stopped.report.events(), 1);
/// # let path = std::env::temp_dir().join(format!("rankscope-session-{}.pftrace", std::process::id()));
/// stopped.recorded.save(&path)?; // opens on ui.perfetto.dev
/// # std::fs::remove_file(&path)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a session stops when its last handle is dropped: give it a name like `_session`, or `detach` it"]
pub struct Session(Arc<Handle>);

impl Session {
    /// Starts one.
    ///
    /// # Errors
    /// See [`StartError`]; then nothing runs and no file was moved.
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
        match control.sessions.iter_mut().find(|active| active.id == session.id()) {
            Some(active) => active.plugins = Some(Box::new(plugins)),
            // Somebody counted sessions and has stopped this one; what its plugins started ends with them.
            None => {
                drop(control);
                Box::new(plugins).finish();
            }
        }
        Ok(session)
    }

    fn begin(options: SessionOptions) -> Result<Self, StartError> {
        if options.categories.is_empty() {
            return Err(StartError::NoCategories);
        }
        let options = SessionOptions { storage: filled(options.storage)?, ..options };
        forks::prepare();
        let own_stream = registry::own_stream();
        let names = names::lock();
        let mut control = control::lock();
        let lease = match &control.current {
            Some(running) => joined(running, &options.storage)?,
            None => {
                control.last_epoch = control.last_epoch.wrapping_add(1).max(1);
                let lease = begin(control.last_epoch, &options)?;
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
            system.session_start(id, start_tick, options.categories.0);
        });
        let handle = Arc::new(Handle::new(id));
        let overwritten_before = store.overwritten();
        control.sessions.push(Active {
            id,
            handle: Arc::downgrade(&handle),
            categories: options.categories,
            threads: options.threads,
            start_tick,
            changes: vec![(start_tick, options.categories.0)],
            own_stream,
            before,
            overwritten_before,
            has_shared: false,
            plugins: None,
        });
        control.publish();
        let is_fresh = control.sessions.len() == 1;
        control.sessions.iter_mut().for_each(|session| session.has_shared |= !is_fresh);
        drop(control);
        if is_fresh {
            about::write(&options.storage);
        }
        if options.pytorch_marks {
            about::set_api(KINETO_API);
        }
        Ok(Self(handle))
    }

    /// Handles to all sessions of this process that run, in the order they were started: also to those that were detached.
    /// Dropping such a handle stops a session where dropping a clone would: if it is the last one, and not detached.
    pub fn all() -> Vec<Self> {
        control::lock().sessions.iter_mut().map(|session| Self(session.handle())).collect()
    }

    /// Lets it run on without a handle, until somebody finds it with [`Session::all`] and stops it, or to the end of the
    /// process. Its clones do not stop it either any more.
    ///
    /// ```
    /// use rankscope_record::{Session, SessionOptions, record_function};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// Session::start(SessionOptions::default())?.detach();
    /// drop(record_function!("work"));
    /// for session in Session::all() {
    ///     assert_eq!(session.stop()?.report.events(), 1);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn detach(self) {
        self.0.detach();
    }

    /// Its number in the process, and in the recording.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Whether it runs.
    pub fn is_active(&self) -> bool {
        self.0.find().is_ok()
    }

    /// Records other categories from now on. Spans that are open are ended as they would have been.
    ///
    /// # Errors
    /// See [`StopError`].
    pub fn set_categories(&self, categories: Categories) -> Result<(), StopError> {
        let (mut control, at) = self.0.find()?;
        let tick = ticks();
        let session = &mut control.sessions[at];
        session.categories = categories;
        session.changes.push((tick, categories.0));
        control.publish();
        if let Some(lease) = &control.current {
            lease.store().system(|system| system.session_start(self.id(), tick, categories.0));
        }
        Ok(())
    }

    /// What was recorded so far; the session goes on.
    ///
    /// # Errors
    /// See [`StopError`].
    pub fn snapshot(&self) -> Result<Recorded, StopError> {
        let to_tick = ticks();
        let (control, at) = self.0.find()?;
        let lease = control.current.clone().ok_or(StopError::AlreadyStopped { id: self.id() })?;
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
        Ok(self.0.end()?.report())
    }

    /// Ends it where nobody wants to know what it recorded, which then is not counted.
    pub(crate) fn discard(&self) -> Result<(), StopError> {
        self.0.end().map(drop)
    }
}

/// The storage, with its placeholders filled in.
fn filled(storage: Storage) -> Result<Storage, StartError> {
    match storage {
        Storage::Memory => Ok(Storage::Memory),
        Storage::File(path) => match pattern::filled(&path) {
            Ok(filled) => Ok(Storage::File(filled)),
            Err(placeholder) => Err(StartError::Placeholder { path, placeholder }),
        },
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

fn begin(epoch: u32, options: &SessionOptions) -> Result<Arc<Lease>, StartError> {
    let SessionOptions { storage, keep_earlier, overflow, flush_every, test_clock, .. } = options;
    let store = Store::create(epoch, storage, *keep_earlier, *overflow, test_clock.clone());
    let store = Arc::new(store.map_err(|refused| why(storage, refused))?);
    registry::lock().forget_departed();
    keeper::start(store.clone(), *flush_every);
    Ok(Arc::new(Lease::new(store)))
}

fn why(storage: &Storage, refused: Refused) -> StartError {
    let path = match storage {
        Storage::Memory => None,
        Storage::File(path) => Some(path.clone()),
    };
    match refused {
        Refused::Io(source) => StartError::Storage { path, source },
        Refused::InUse { process } => StartError::InUse { path: path.unwrap_or_default(), process },
        Refused::NotARecording { path, what } => StartError::NotARecording { path, what },
    }
}
