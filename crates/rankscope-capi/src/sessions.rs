//! Sessions by handle. A handle is a number that is never used again, so one that was closed is known as such.
//!
//! The table's lock is held only to look something up: nothing of the recorder is called under it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rankscope_record::{
    Categories, JoinedRun, Overflow, Recorded, Session, SessionOptions, Stopped, Storage, ThreadFilter, join_run,
};

use crate::forks;
use crate::guard::answered;
use crate::plugins;
use crate::status::{Error, Status};
use crate::structures::sized;
use crate::texts::{self, NUL_TERMINATED};

/// What a handle stands for.
#[derive(Clone, Debug)]
pub(crate) enum Held {
    /// A session that runs, unless somebody stopped it.
    Running(Session),
    /// One that runs as part of a run, which is completed when it is closed.
    Joined(Arc<JoinedRun>),
    /// What a session left.
    Stopped(Arc<Stopped>),
    /// What a session had recorded when it was looked at.
    Snapshot(Recorded),
}

static TABLE: Mutex<BTreeMap<u64, Held>> = Mutex::new(BTreeMap::new());
static LAST: AtomicU64 = AtomicU64::new(0);

/// What is recorded, and where. Set all to zero and `struct_size` first (`RANKSCOPE_SESSION_OPTIONS_INIT` does): that is
/// everything, on all threads, in memory, up to a gigabyte.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Options {
    /// `sizeof(rankscope_session_options)`.
    pub struct_size: u32,
    /// Sorts of events, a bit (`RANKSCOPE_BIT`) each; zero is all.
    pub categories: u32,
    /// Where the recording lies while it is made, ending in zero: a live file, which survives the process. `%p` in it is the number
    /// of the process, `%r` its rank. Null is in memory.
    pub path: *const c_char,
    /// Its size in bytes; zero is a gigabyte.
    pub bytes_max: u64,
    /// Not zero: when it is full, the oldest events make room instead of the latest being dropped.
    pub ring: u32,
    /// Seconds after which events make room in a ring; zero is never.
    pub keep_seconds: u32,
    /// Not zero: only the calling thread.
    pub this_thread_only: u32,
    /// How many earlier recordings stay beside the file, and one more; zero is eight of them.
    pub keep_earlier_plus_one: u32,
}

const LEAST: u32 = 40;
const BYTES_DEFAULT: u64 = 1 << 30;

/// The table, locked.
pub(crate) fn lock() -> MutexGuard<'static, BTreeMap<u64, Held>> {
    forks::prepare();
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Handles that are not closed.
pub(crate) fn open() -> usize {
    lock().len()
}

/// What `handle` stands for.
pub(crate) fn look_up(handle: u64) -> Result<Held, Error> {
    lock().get(&handle).cloned().ok_or(Error::Handle { handle })
}

fn keep(held: Held) -> u64 {
    let handle = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    lock().insert(handle, held);
    handle
}

/// The session of `handle`, to do what is `wanted` with it.
pub(crate) fn session(handle: u64, wanted: &'static str) -> Result<Session, Error> {
    match look_up(handle)? {
        Held::Running(session) => Ok(session),
        Held::Joined(run) => Ok(run.session().clone()),
        Held::Stopped(_) | Held::Snapshot(_) => Err(Error::NotRunning { handle, wanted }),
    }
}

/// Puts a number where C wants it.
///
/// # Safety
/// `to` is null or may be written.
unsafe fn give(to: *mut u64, handle: impl FnOnce() -> Result<u64, Error>) -> Result<(), Error> {
    if to.is_null() || !to.is_aligned() {
        return Err(Error::Null { argument: "the place of the handle" });
    }
    // SAFETY: the caller says so.
    unsafe { to.write(0) };
    let handle = handle()?;
    // SAFETY: the caller says so.
    unsafe { to.write(handle) };
    Ok(())
}

/// Starts a session: recording is on from here. Null options are the default ones. The session runs until `rankscope_session_stop`,
/// or to the end of the process; several may run at once.
///
/// # Safety
/// `options` is null, or has as many bytes as it says and a path that ends in zero; `session` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_session_start(options: *const Options, session: *mut u64) -> Status {
    answered(|| {
        // SAFETY: the caller says so.
        let options = unsafe { read(options) }?;
        // SAFETY: the caller says so.
        unsafe { give(session, || Ok(keep(Held::Running(Session::start_with(options, plugins::all())?)))) }
    })
}

/// # Safety
/// That of [`rankscope_session_start`].
unsafe fn read(options: *const Options) -> Result<SessionOptions, Error> {
    if options.is_null() {
        return Ok(SessionOptions::default());
    }
    // SAFETY: the caller says so; any bits are options, and the path is looked at below.
    let options = unsafe { sized(options, "rankscope_session_options", LEAST) }?;
    let storage = if options.path.is_null() {
        Storage::Memory
    } else {
        // SAFETY: the caller says that it ends in zero.
        let path = unsafe { texts::bytes("options.path", options.path, NUL_TERMINATED) }?;
        Storage::File(PathBuf::from(OsStr::from_bytes(path)))
    };
    let max_bytes = if options.bytes_max == 0 { BYTES_DEFAULT } else { options.bytes_max };
    let keep = if options.keep_seconds == 0 { Duration::MAX } else { Duration::from_secs(options.keep_seconds.into()) };
    let overflow = if options.ring == 0 { Overflow::Stop { max_bytes } } else { Overflow::Ring { max_bytes, keep } };
    let mut asked = SessionOptions::default().with_storage(storage).with_overflow(overflow);
    if options.categories != 0 {
        asked = asked.with_categories(Categories(options.categories));
    }
    if options.this_thread_only != 0 {
        asked = asked.with_threads(ThreadFilter::Current);
    }
    if let Some(keep) = options.keep_earlier_plus_one.checked_sub(1) {
        asked = asked.with_keep_earlier(keep);
    }
    Ok(asked)
}

/// Records this process as a rank of the run that `rankscope run` started it in; `RANKSCOPE_STATUS_NOT_IN_A_RUN`, and nothing
/// happens, where it is part of none. Close the handle at the end of `main`: that completes the recording in the run's directory.
///
/// # Safety
/// `session` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_join_run(session: *mut u64) -> Status {
    answered(|| {
        let join = || Ok(keep(Held::Joined(Arc::new(join_run().ok_or(Error::NotInARun)?))));
        // SAFETY: the caller says so.
        unsafe { give(session, join) }
    })
}

/// Stops a session. The handle then stands for what it recorded: export it, ask for its report, close it.
#[unsafe(no_mangle)]
pub extern "C" fn rankscope_session_stop(session: u64) -> Status {
    answered(|| {
        let stopped = Arc::new(self::session(session, "stop")?.stop()?);
        // Whoever closed it meanwhile does not want to know.
        let before = lock().get_mut(&session).map(|held| std::mem::replace(held, Held::Stopped(stopped)));
        // Outside of the lock, because it may end a run.
        drop(before);
        Ok(())
    })
}

/// Records other categories from now on: a bit (`RANKSCOPE_BIT`) each.
#[unsafe(no_mangle)]
pub extern "C" fn rankscope_session_set_categories(session: u64, categories: u32) -> Status {
    answered(|| Ok(self::session(session, "change")?.set_categories(Categories(categories))?))
}

/// What the session recorded so far, as a handle of its own to export and close; the session goes on. This is how a flight recorder
/// is read when something went wrong.
///
/// # Safety
/// `snapshot` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_session_snapshot(session: u64, snapshot: *mut u64) -> Status {
    answered(|| {
        let take = || Ok(keep(Held::Snapshot(self::session(session, "look at")?.snapshot()?)));
        // SAFETY: the caller says so.
        unsafe { give(snapshot, take) }
    })
}

/// Lets go of a handle. A session that runs is stopped; what it recorded stays where it lies in a file, and is gone otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn rankscope_session_close(session: u64) -> Status {
    answered(|| {
        let held = lock().remove(&session).ok_or(Error::Handle { handle: session })?;
        if let Held::Running(session) = held {
            // It may have been stopped by others, or be the parent's; then there is nothing to do.
            let _ = session.stop();
        }
        Ok(())
    })
}

/// Stops all sessions that were started from C and closes all handles. The library may be used again afterwards.
#[unsafe(no_mangle)]
pub extern "C" fn rankscope_shutdown() -> Status {
    answered(|| {
        let all = std::mem::take(&mut *lock());
        for held in all.into_values() {
            if let Held::Running(session) = held {
                let _ = session.stop();
            }
        }
        Ok(())
    })
}
