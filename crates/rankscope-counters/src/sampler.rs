//! [`Sampler`]: the thread that looks at sources, each at its pace.
#![expect(unsafe_code, reason = "the thread's own clock is read")]

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rankscope_record::plugins::block_signals;

use crate::absent::Absent;
use crate::options::Hz;
use crate::pace::Pace;
use crate::source::Source;

/// A source, and how often it is looked at.
pub(crate) struct Paced {
    pub(crate) source: Box<dyn Source>,
    pub(crate) pace: Pace,
}

/// What a sampler did.
#[derive(Debug, Default)]
pub(crate) struct Sampled {
    /// Looks at sources.
    pub(crate) looks: u64,
    /// Looks that were left out because their source is dear.
    pub(crate) spared: u64,
    /// What all of it took.
    pub(crate) cost: Duration,
    /// Sources that showed nothing any more, and why.
    pub(crate) lost: Vec<(String, Absent)>,
}

/// The thread.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// It ends when this is dropped.
    until_dropped: Sender<()>,
    sampled: Receiver<Sampled>,
}

/// Longer than a look takes. A driver that never answers must not keep the program from ending.
const PATIENCE: Duration = Duration::from_secs(3);

impl Sampler {
    /// Starts it.
    ///
    /// # Errors
    /// The system has no thread.
    pub(crate) fn start(sources: Vec<Paced>, hz: Hz) -> Result<Self, Absent> {
        let (until_dropped, stopping) = mpsc::channel();
        let (hand_over, sampled) = mpsc::channel();
        let spawned = thread::Builder::new().name("rankscope-count".to_owned()).stack_size(256 << 10).spawn(move || {
            block_signals();
            // Nobody listens any more if the session did not wait.
            let _ = hand_over.send(sample(sources, hz.period(), &stopping));
        });
        spawned.map_err(Absent::NoThread)?;
        Ok(Self { until_dropped, sampled })
    }

    /// Has it end; none where it does not, or panicked.
    pub(crate) fn end(self) -> Option<Sampled> {
        drop(self.until_dropped);
        self.sampled.recv_timeout(PATIENCE).ok()
    }
}

fn sample(mut sources: Vec<Paced>, period: Duration, stopping: &Receiver<()>) -> Sampled {
    let mut sampled = Sampled::default();
    let mut next = Instant::now();
    loop {
        look(&mut sources, &mut sampled);
        // What was missed is not made up for.
        next = (next + period).max(Instant::now());
        if stopping.recv_timeout(next.saturating_duration_since(Instant::now())) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    sampled.cost = own_time();
    sampled
}

/// Looks at all that are due; those that show nothing any more are let go.
fn look(sources: &mut Vec<Paced>, sampled: &mut Sampled) {
    sources.retain_mut(|Paced { source, pace }| {
        let now = Instant::now();
        if !pace.is_due(now) {
            sampled.spared += 1;
            return true;
        }
        let before = own_time();
        let looked = source.look(now);
        pace.looked(now, own_time().saturating_sub(before));
        sampled.looks += 1;
        looked.map_err(|absent| sampled.lost.push((source.name().to_owned(), absent))).is_ok()
    });
}

/// The processor time that this thread has taken.
fn own_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place for the answer is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// Shows something so many times.
    struct Few(u32);

    impl Source for Few {
        fn name(&self) -> &'static str {
            "few"
        }

        fn look(&mut self, _: Instant) -> Result<(), Absent> {
            self.0 = self.0.checked_sub(1).ok_or_else(|| Absent::NoThread(io::Error::other("over")))?;
            Ok(())
        }
    }

    #[test]
    fn a_source_that_shows_nothing_any_more_is_let_go_and_the_others_are_looked_at() {
        let paced = |times| Paced { source: Box::new(Few(times)), pace: Pace::new(Duration::ZERO, 1_000_000) };
        let (mut sources, mut sampled) = (vec![paced(1), paced(5)], Sampled::default());
        // Whoever costs much waits, so there may be more rounds than looks.
        while sampled.looks < 6 {
            look(&mut sources, &mut sampled);
        }
        assert_eq!((sources.len(), sampled.lost.len()), (1, 1));
        assert_eq!(sampled.lost[0].0, "few");
    }
}
