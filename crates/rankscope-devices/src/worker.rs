//! [`Worker`]: the thread that decodes what comes back, and looks after a session in between.
//!
//! It looks every few milliseconds instead of being woken: a callback that wakes somebody may have to wait itself. A pool is meant to hold
//! more than is filled in that time.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rankscope_record::plugins::block_signals;

/// Between looks. A pool of 64 MiB is filled in that time at 6 GB/s, some forty million kernels a second.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Longer than decoding what is left takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// What such a thread does.
pub trait Collect: Send + 'static {
    /// What it leaves.
    type Left: Send + 'static;

    /// Asks the profiler for what is complete.
    fn ask(&mut self);

    /// Decodes what came back, and hands it over to the recording.
    fn collect(&mut self);

    /// Looks after the session, while it lasts.
    fn between(&mut self) {}

    /// Nothing more comes.
    fn finish(self) -> Self::Left;
}

/// The thread.
#[derive(Debug)]
pub struct Worker<L> {
    /// It ends when this is dropped.
    until_dropped: Sender<()>,
    left: Receiver<L>,
}

impl<L: Send + 'static> Worker<L> {
    /// Starts it; it asks for what is complete so often.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(name: &str, collect: impl Collect<Left = L>, ask_every: Duration) -> io::Result<Self> {
        let (until_dropped, stopping) = mpsc::channel();
        let (hand_over, left) = mpsc::channel();
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            block_signals();
            // Nobody listens any more if the session did not wait.
            let _ = hand_over.send(work(collect, ask_every, &stopping));
        })?;
        Ok(Self { until_dropped, left })
    }

    /// Has it finish, and returns what it left; none if it does not.
    pub fn finish(self) -> Option<L> {
        drop(self.until_dropped);
        self.left.recv_timeout(PATIENCE).ok()
    }
}

fn work<C: Collect>(mut collect: C, ask_every: Duration, stopping: &Receiver<()>) -> C::Left {
    let mut asked = Instant::now();
    loop {
        let is_last = stopping.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout);
        if !is_last && asked.elapsed() >= ask_every {
            collect.ask();
            asked = Instant::now();
        }
        collect.collect();
        if is_last {
            return collect.finish();
        }
        collect.between();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting(u32);

    impl Collect for Counting {
        type Left = u32;

        fn ask(&mut self) {}

        fn collect(&mut self) {
            self.0 += 1;
        }

        fn finish(self) -> u32 {
            self.0
        }
    }

    #[test]
    fn it_looks_once_more_when_it_is_told_to_finish() {
        let worker = Worker::start("test", Counting(0), Duration::MAX).unwrap();
        assert!(worker.finish().unwrap() >= 1);
    }

    struct Panics;

    impl Collect for Panics {
        type Left = ();

        fn ask(&mut self) {}

        fn collect(&mut self) {
            panic!("on purpose");
        }

        fn finish(self) {}
    }

    #[test]
    fn one_that_panics_leaves_nothing_and_takes_nobody_along() {
        assert_eq!(Worker::start("test", Panics, Duration::MAX).unwrap().finish(), None);
    }
}
