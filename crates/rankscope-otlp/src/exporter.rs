//! The thread that pushes, and the one place where a look waits for it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use std::{io, thread};

use rankscope_report::Figure;

use crate::answer::{Outcome, Trouble};
use crate::backoff::Backoff;
use crate::message::{Resource, request};
use crate::post::Post;
use crate::target::Target;

/// A job at one moment, to be pushed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// Of what.
    pub resource: Resource,
    /// What is told.
    pub figures: Vec<Figure>,
    /// When the job was looked at, in ns since 1970.
    pub time_ns: u64,
    /// Since when counters count.
    pub since_ns: u64,
}

/// What became of pushes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Looks that the collector took.
    pub accepted: u64,
    /// Looks that it did not want, or that newer ones took the place of.
    pub lost: u64,
}

/// Pushes looks, and never holds up whoever has one.
pub struct Exporter {
    shared: Arc<Shared>,
    interval: Duration,
    /// When a look was taken last.
    taken: Option<Instant>,
    thread: JoinHandle<()>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    next: Option<Look>,
    is_over: bool,
    tally: Tally,
}

impl Exporter {
    /// Pushes to `target` from now on. `say` is told what is wrong, from another thread, each kind of trouble once.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn start(target: Target, say: impl Fn(&Trouble) + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let interval = target.interval;
        let mut pusher = Pusher { shared: Arc::clone(&shared), post: Post::new(target), say: Box::new(say), said: Vec::new() };
        let thread = Builder::new().name("rankscope-otlp".to_owned()).spawn(move || pusher.run())?;
        Ok(Self { shared, interval, taken: None, thread })
    }

    /// Whether it is time for a look.
    pub fn is_due(&self, now: Instant) -> bool {
        self.taken.is_none_or(|taken| now.saturating_duration_since(taken) >= self.interval)
    }

    /// Takes a look. One that still waits is lost: this one is newer.
    pub fn take(&mut self, look: Look, now: Instant) {
        self.taken = Some(now);
        let mut state = self.shared.state();
        if state.next.replace(look).is_some() {
            state.tally.lost += 1;
        }
        self.shared.changed.notify_all();
    }

    /// What became of pushes until now.
    pub fn tally(&self) -> Tally {
        self.shared.state().tally
    }

    /// Pushes what waits, if that takes no longer than `within`, and ends. What is on its way then is lost.
    pub fn end(self, within: Duration) -> Tally {
        self.shared.state().is_over = true;
        self.shared.changed.notify_all();
        let until = Instant::now() + within;
        while !self.thread.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        let state = self.shared.state();
        // It hangs in a request, which its own bound of time or the end of the process ends.
        let on_its_way = u64::from(!self.thread.is_finished());
        Tally { lost: state.tally.lost + on_its_way + u64::from(state.next.is_some()), ..state.tally }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Pusher {
    shared: Arc<Shared>,
    post: Post,
    say: Box<dyn Fn(&Trouble) + Send>,
    said: Vec<Trouble>,
}

impl Pusher {
    fn run(&mut self) {
        let mut backoff = Backoff::default();
        let mut at_hand = None;
        while let Some(look) = self.next(at_hand.take()) {
            match self.post.send(&request(&look)) {
                Outcome::Accepted(remark) => {
                    backoff.succeed();
                    self.shared.state().tally.accepted += 1;
                    remark.iter().for_each(|remark| self.say(remark));
                }
                Outcome::Refused(trouble) => {
                    backoff.succeed();
                    self.shared.state().tally.lost += 1;
                    self.say(&trouble);
                }
                Outcome::Later(trouble, asked) => {
                    self.say(&trouble);
                    if self.wait(backoff.fail(asked, chance())) {
                        self.shared.state().tally.lost += 1;
                    } else {
                        at_hand = Some(look);
                    }
                }
            }
        }
    }

    /// The look to push: the newest, or the one `at_hand` while there is none. Waits for one; none once it is over.
    fn next(&self, at_hand: Option<Look>) -> Option<Look> {
        let mut state = self.shared.state();
        if let Some(newer) = state.next.take() {
            state.tally.lost += u64::from(at_hand.is_some());
            return Some(newer);
        }
        if at_hand.is_some() {
            return at_hand;
        }
        let waits = |state: &mut State| state.next.is_none() && !state.is_over;
        let mut state = self.shared.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
        state.next.take()
    }

    /// Waits before another try. Whether the look at hand is given up: it is over, and there was a try for it.
    fn wait(&self, pause: Duration) -> bool {
        let state = self.shared.state();
        if state.is_over {
            return true;
        }
        let waits = |state: &mut State| !state.is_over;
        // One last try, when it is over while this waits.
        let _time = self.shared.changed.wait_timeout_while(state, pause, waits).unwrap_or_else(PoisonError::into_inner);
        false
    }

    fn say(&mut self, trouble: &Trouble) {
        if !self.said.iter().any(|said| said.is_like(trouble)) {
            (self.say)(trouble);
            self.said.push(trouble.clone());
        }
    }
}

/// Of no secret: watchers of many jobs shall not come at once.
fn chance() -> u32 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(0) as u32
}
