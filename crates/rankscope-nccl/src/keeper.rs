//! [`Keeper`]: the thread that writes the recording, so that no callback has to.
//!
//! It follows the ring, puts operations together and notes them. What it has not come to when the process is killed is in the ring's
//! file. The end of the process, and of a communicator, wait for it, but not for long.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rankscope_record::plugins::block_signals;
use rankscope_record::{Session, SessionOptions, Storage, TestClock, set_host_name, ticks};

use crate::compose::{Composer, Done};
use crate::library::Library;
use crate::place::Place;
use crate::process::{self, Process};
use crate::ring::Follower;
use crate::told::Telling;
use crate::write::Writer;
use crate::{exit, mask, test_host};

/// Between looks at the ring. At ten million records a second it is full after six of these.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// The same where nothing happens.
const LOOK_SELDOM_EVERY: Duration = Duration::from_millis(5);
/// After so long, channels that never started are waited for no more.
const SETTLED_AFTER: Duration = Duration::from_millis(500);
/// How long others wait for the keeper.
const PATIENCE: Duration = Duration::from_secs(2);

/// The thread, for those who want something of it.
pub(crate) struct Keeper {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// How often somebody asked to be caught up with, and which of these is done.
    asked: u64,
    answered: u64,
    /// The process ends.
    ends: bool,
    /// The thread is gone, or never was.
    is_gone: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, at_most: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, at_most).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Keeper {
    /// Starts the thread. Where none can be had, that is said, and the ring is all there is.
    pub(crate) fn new(place: Place, interface: u8, library: Library, mask: i32) -> Self {
        let shared = Arc::new(Shared::default());
        let keeper = Self { shared: shared.clone() };
        let started = thread::Builder::new()
            .name("rankscope-nccl".to_owned())
            .spawn(move || keep(&shared, &Keeping { place, interface, library, mask }));
        match started {
            Ok(_detached) => exit::prepare(),
            Err(error) => {
                crate::say(&format!("collectives are not recorded: no thread can be had: {error}"));
                keeper.shared.lock().is_gone = true;
            }
        }
        keeper
    }

    /// Waits until what is in the ring now is in the recording.
    pub(crate) fn catch_up(&self) {
        self.ask(|_| {});
    }

    /// Has the recording completed: the process ends.
    pub(crate) fn finish(&self) {
        self.ask(|state| state.ends = true);
    }

    fn ask(&self, what: impl FnOnce(&mut State)) {
        let mut state = self.shared.lock();
        what(&mut state);
        state.asked += 1;
        let wanted = state.asked;
        self.shared.changed.notify_all();
        let began = Instant::now();
        while !state.is_gone && state.answered < wanted && began.elapsed() < PATIENCE {
            state = self.shared.wait(state, PATIENCE);
        }
    }
}

/// What the thread is told.
struct Keeping {
    place: Place,
    interface: u8,
    library: Library,
    mask: i32,
}

fn keep(shared: &Shared, keeping: &Keeping) {
    block_signals();
    // The process is there as soon as the init that started this thread is through.
    let process = loop {
        match process::get() {
            Some(process) => break process,
            None if process::is_off() => return,
            None => thread::sleep(LOOK_EVERY),
        }
    };
    match start(keeping) {
        Ok((session, clock)) => follow(shared, keeping, process, &session, clock),
        Err(why) => crate::say(&format!("collectives are not recorded: {why}")),
    }
    shared.lock().is_gone = true;
    shared.changed.notify_all();
}

fn start(keeping: &Keeping) -> Result<(Session, Option<TestClock>), Box<dyn std::error::Error>> {
    let place = &keeping.place;
    let path = place.recording(std::process::id()).ok_or("no place is given")?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let (name, clock) = test_host::from_environment()?.map(|host| (host.name, host.clock)).unzip();
    let options =
        SessionOptions::default().with_storage(Storage::file_at(&path)).with_test_clock(clock.clone()).with_ring_of_run();
    let session = Session::start(options)?;
    if let Some(name) = name {
        set_host_name(&name);
    }
    Ok((session, clock))
}

fn follow(shared: &Shared, keeping: &Keeping, process: &Process, session: &Session, clock: Option<TestClock>) {
    let writer = Writer::new(&keeping.place, keeping.interface, &keeping.library, keeping.mask);
    let ends_are_told = mask::tells_ends(keeping.mask);
    let mut telling = Telling::begin(&keeping.place, ends_are_told, clock);
    let mut composer = Composer::new(ends_are_told);
    let (mut follower, mut done) = (Follower::default(), Vec::new());
    let (began, first_tick) = (Instant::now(), ticks());
    let mut wait = LOOK_EVERY;
    loop {
        let (asked, ends) = {
            let mut state = shared.lock();
            if state.asked == state.answered {
                state = shared.wait(state, wait);
            }
            (state.asked, state.ends)
        };
        let mut is_idle = true;
        while let Some(record) = follower.next(process.ring()) {
            is_idle = false;
            if follower.lost > 0 {
                composer.lose();
            }
            telling.take(&record, || process.comms().get(record.comm).filter(|comm| writer.is_own(comm)));
            composer.take(&record, &mut done);
            done.drain(..).for_each(|done| write(&writer, &mut telling, process, &done));
        }
        telling.check(follower.lost);
        wait = if is_idle { LOOK_SELDOM_EVERY } else { LOOK_EVERY };
        if ends {
            composer.finish(&mut done);
        } else {
            composer.settle(before(began, first_tick, SETTLED_AFTER), &mut done);
        }
        done.drain(..).for_each(|done| write(&writer, &mut telling, process, &done));
        if ends {
            writer.write_counts(process.counts(), follower.lost);
            // What it recorded is in its file; nobody here wants to know more.
            let _stopped = session.stop();
            process.ring().remove_file();
        }
        let mut state = shared.lock();
        state.answered = asked;
        shared.changed.notify_all();
        if ends {
            return;
        }
    }
}

/// Writes an operation that is over, and tells that it is.
fn write(writer: &Writer<'_>, telling: &mut Telling, process: &Process, done: &Done) {
    writer.write(process.comms(), done);
    telling.leave(done);
}

/// The tick so long ago, by what a tick was worth so far; zero while too little is known.
fn before(began: Instant, first_tick: u64, ago: Duration) -> u64 {
    let elapsed = began.elapsed();
    if elapsed < ago {
        return 0;
    }
    let ticks_so_far = u128::from(ticks().saturating_sub(first_tick));
    let ago_ticks = ticks_so_far * ago.as_nanos() / elapsed.as_nanos().max(1);
    ticks().saturating_sub(u64::try_from(ago_ticks).unwrap_or(u64::MAX))
}
