//! [`Sampler`]: the thread that looks at sources, each at its pace. It wakes when one is due, and looks at those that nearly are as well.
#![expect(unsafe_code, reason = "the thread's own clock is read")]

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rankscope_record::plugins::block_signals;

use crate::absent::Absent;
use crate::options::Hz;
use crate::pace::Pace;
use crate::shares::shared;
use crate::source::Source;

/// A source, and how often it is looked at.
pub(crate) struct Paced {
    source: Box<dyn Source>,
    pace: Pace,
    /// Whether its share is a part of what all such sources have together.
    is_sharing: bool,
    /// What the last look took, and when it was.
    cost: Duration,
    looked: Option<Instant>,
}

impl Paced {
    /// One with a share of its own.
    pub(crate) fn alone(source: Box<dyn Source>, hz: Hz, share_ppm: u32) -> Self {
        let pace = Pace::new(hz.period(), share_ppm);
        Self { source, pace, is_sharing: false, cost: Duration::ZERO, looked: None }
    }

    /// One that shares with others, and with the thread's waking.
    pub(crate) fn sharing(source: Box<dyn Source>, hz: Hz) -> Self {
        Self { is_sharing: true, ..Self::alone(source, hz, 1) }
    }
}

/// What a sampler did.
#[derive(Debug, Default)]
pub(crate) struct Sampled {
    /// Looks at sources.
    pub(crate) looks: u64,
    /// Looks that were left out because their source is dear, or the thread was late.
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
    /// Starts it, for sources to be looked at so often; those that share have so many millionths of a core.
    ///
    /// # Errors
    /// The system has no thread.
    pub(crate) fn start(sources: Vec<Paced>, hz: Hz, shared_ppm: u32) -> Result<Self, Absent> {
        let (until_dropped, stopping) = mpsc::channel();
        let (hand_over, sampled) = mpsc::channel();
        let spawned = thread::Builder::new().name("rankscope-count".to_owned()).stack_size(256 << 10).spawn(move || {
            block_signals();
            // Nobody listens any more if the session did not wait.
            let _ = hand_over.send(sample(Sampling::new(sources, hz.period(), shared_ppm), &stopping));
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

fn sample(mut sampling: Sampling, stopping: &Receiver<()>) -> Sampled {
    let mut rested = own_time();
    loop {
        sampling.woke(own_time().saturating_sub(rested));
        sampling.look(Instant::now());
        rested = own_time();
        let due = sampling.due().map(|due| due.saturating_duration_since(Instant::now()));
        // What was missed is not made up for.
        if stopping.recv_timeout(due.unwrap_or(NOTHING_LEFT)) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    Sampled { cost: own_time(), ..sampling.sampled }
}

/// Between wakings of a thread that has no source left.
const NOTHING_LEFT: Duration = Duration::from_secs(60);

/// The sources, and what became of them.
struct Sampling {
    sources: Vec<Paced>,
    period: Duration,
    shared_ppm: u32,
    /// What a waking takes, as a mean of the last few.
    waking: Duration,
    sampled: Sampled,
}

impl Sampling {
    fn new(sources: Vec<Paced>, period: Duration, shared_ppm: u32) -> Self {
        Self { sources, period, shared_ppm, waking: Duration::ZERO, sampled: Sampled::default() }
    }

    fn woke(&mut self, took: Duration) {
        self.waking = (self.waking * 7 + took) / 8;
    }

    /// When the next look is due.
    fn due(&self) -> Option<Instant> {
        self.sources.iter().filter_map(|paced| paced.pace.due()).min()
    }

    /// Looks at all that are due; those that show nothing any more are let go.
    fn look(&mut self, now: Instant) {
        let mut before = own_time();
        let (sampled, period) = (&mut self.sampled, self.period);
        self.sources.retain_mut(|paced| {
            if !paced.pace.is_due(now) {
                return true;
            }
            let looked = paced.source.look(Instant::now());
            let after = own_time();
            paced.cost = after.saturating_sub(before);
            before = after;
            sampled.looks += 1;
            let last = paced.looked.replace(now);
            sampled.spared += last.map_or(0, |last| left_out(now.saturating_duration_since(last), period));
            looked.map_err(|absent| sampled.lost.push((paced.source.name().to_owned(), absent))).is_ok()
        });
        self.pace(now);
    }

    /// Says when those that were looked at `now` are due again.
    fn pace(&mut self, now: Instant) {
        let costs: Vec<Duration> = self.sources.iter().filter(|paced| paced.is_sharing).map(|paced| paced.cost).collect();
        let (period, shares_ppm) = shared(self.shared_ppm, self.period, self.waking, &costs);
        let mut shares_ppm = shares_ppm.into_iter();
        for paced in &mut self.sources {
            if let Some(share_ppm) = paced.is_sharing.then(|| shares_ppm.next()).flatten() {
                paced.pace = paced.pace.with(period, share_ppm);
            }
            if paced.looked == Some(now) {
                paced.pace.looked(now, paced.cost);
            }
        }
    }
}

/// Periods between two looks in which there was none.
fn left_out(apart: Duration, period: Duration) -> u64 {
    let periods = (apart + period / 2).as_nanos() / period.as_nanos().max(1);
    u64::try_from(periods).unwrap_or(u64::MAX).saturating_sub(1)
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

    fn sampling(sources: Vec<Box<dyn Source>>) -> Sampling {
        let hz = Hz::new(10).unwrap();
        let sources = sources.into_iter().map(|source| Paced::sharing(source, hz)).collect();
        Sampling::new(sources, hz.period(), 1_000_000)
    }

    #[test]
    fn a_source_that_shows_nothing_any_more_is_let_go_and_the_others_are_looked_at() {
        let mut sampling = sampling(vec![Box::new(Few(1)), Box::new(Few(5))]);
        let began = Instant::now();
        (0..4).for_each(|second| sampling.look(began + Duration::from_secs(second)));
        assert_eq!((sampling.sources.len(), sampling.sampled.lost.len()), (1, 1));
        assert_eq!(sampling.sampled.lost[0].0, "few");
        // One that was looked at four times, and one that was let go at its second look.
        assert_eq!((sampling.sampled.looks, sampling.sampled.spared), (6, 4 * 9));
    }

    #[test]
    fn nobody_is_looked_at_before_it_is_due() {
        let mut sampling = sampling(vec![Box::new(Few(5))]);
        assert_eq!(sampling.due(), None, "at once");
        let began = Instant::now();
        sampling.look(began);
        let due = sampling.due().unwrap();
        sampling.look(began + Duration::from_millis(50));
        assert_eq!((sampling.sampled.looks, sampling.due()), (1, Some(due)));
        sampling.look(due);
        assert_eq!((sampling.sampled.looks, sampling.sampled.spared), (2, 0));
    }
}
