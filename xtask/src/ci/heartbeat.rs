//! A line a minute while something long runs, so that whoever watches can tell slow from stuck.
//!
//! It says nothing about progress: that is for what runs to tell.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(60);

/// Beats until it is dropped.
pub(super) struct Heartbeat {
    alive: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    pub(super) fn of_stage(name: &'static str) -> Self {
        Self::start(EVERY, move |seconds| println!("   still in stage {name}, {seconds} s"))
    }

    fn start(every: Duration, beat: impl Fn(u64) + Send + 'static) -> Self {
        let (alive, gone) = mpsc::channel::<()>();
        let begun = Instant::now();
        let thread = thread::spawn(move || {
            while gone.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                beat(begun.elapsed().as_secs());
            }
        });
        Self { alive: Some(alive), thread: Some(thread) }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            // A beat that panicked has said so; the stage it belongs to goes on.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_beats_while_it_lives_and_is_silent_after() {
        let (beats, heard) = mpsc::channel();
        let heart = Heartbeat::start(Duration::from_millis(1), move |_| {
            // The listener outlives the heart.
            let _ = beats.send(());
        });
        heard.recv().unwrap();
        heard.recv().unwrap();
        drop(heart);
        heard.try_iter().for_each(drop);
        assert_eq!(heard.recv(), Err(mpsc::RecvError), "the thread has ended, and what it would speak through is gone");
    }
}
