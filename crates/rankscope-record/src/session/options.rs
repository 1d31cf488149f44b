//! [`SessionOptions`]: what a session records, and where.

use std::path::PathBuf;
use std::time::Duration;

use crate::store::{Overflow, Storage};
use crate::test_clock::TestClock;
use rankscope_recording::Categories;

/// Seconds of its recording that a run wants of each of its processes, where it does not want all.
const RING: &str = "RANKSCOPE_RING";

/// Which threads a session is about.
///
/// ```
/// use rankscope_record::{Session, SessionOptions, ThreadFilter, record_function};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Session::start(SessionOptions::default().with_threads(ThreadFilter::Current))?;
/// drop(record_function!("here"));
/// std::thread::spawn(|| drop(record_function!("elsewhere"))).join().unwrap();
/// assert_eq!(session.stop()?.report.events(), 1);
/// # Ok(())
/// # }
/// ```
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

/// What to record, and where. The default is everything, in memory, up to a gigabyte.
///
/// ```
/// use rankscope_record::{Category, Overflow, Session, SessionOptions, record_function, record_op};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("rankscope-options-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let options = SessionOptions::to_file(folder.join("rank-%r.rkr"))
///     .with_categories(Category::USER_ANNOTATION)
///     .with_overflow(Overflow::Stop { max_bytes: 64 << 20 })
///     .with_keep_earlier(3);
/// let session = Session::start(options)?;
/// drop(record_function!("recorded"));
/// drop(record_op!("of another category"));
/// assert_eq!(session.stop()?.report.events(), 1);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionOptions {
    /// Sorts of events.
    pub categories: Categories,
    /// Threads.
    pub threads: ThreadFilter,
    /// Where the recording lies; a session that joins a running one takes it as it is, and may only name the same file.
    pub storage: Storage,
    /// How many earlier recordings stay beside a live file of the same path. The last one before it is moved to `<path>.1`, what
    /// lay there to `<path>.2`, and so on; what goes beyond this number is removed, the oldest first. With 0 the earlier
    /// recording is removed: say so only where nobody needs what a process that died has left.
    pub keep_earlier: u32,
    /// What happens when it is full; a session that joins a running one takes it as it is.
    pub overflow: Overflow,
    /// How often a live file is brought to the disk: what came later may be missing after a power failure. Of a process that is killed
    /// nothing is missing, whatever this says. A session that joins a running one takes it as it is.
    pub flush_every: Duration,
    /// Whether exports carry what PyTorch's tools look for in a trace of PyTorch's profiler: `External id` on every span, the
    /// profiler's own span and its mark of an iteration. Sessions of the [Kineto-compatible API](crate::kineto) always do. It
    /// holds for the whole recording.
    pub pytorch_marks: bool,
    /// For tests only: clocks of the host that are wrong in a known way. None takes them as they are; a session that joins a
    /// running one takes that one's.
    pub test_clock: Option<TestClock>,
}

/// Enough that a process that dies and is started again a few times leaves the first death to look at.
const KEEP_EARLIER: u32 = 8;
/// Less often loses more, more often keeps the disk busy.
const FLUSH_EVERY: Duration = Duration::from_millis(500);
/// Nobody is helped by a disk that does nothing else.
const FLUSH_EVERY_MIN: Duration = Duration::from_millis(50);

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            categories: Categories::ALL,
            threads: ThreadFilter::All,
            storage: Storage::Memory,
            keep_earlier: KEEP_EARLIER,
            overflow: Overflow::default(),
            flush_every: FLUSH_EVERY,
            pytorch_marks: false,
            test_clock: None,
        }
    }
}

impl SessionOptions {
    /// The default, into a live file: [`Storage::File`] says what may stand in `path`. An earlier recording there is put aside,
    /// and one that is still being written is left alone: then [`Session::start`](crate::Session::start) fails.
    pub fn to_file(path: impl Into<PathBuf>) -> Self {
        Self { storage: Storage::File(path.into()), ..Self::default() }
    }

    /// The same for these sorts of events.
    #[must_use]
    pub fn with_categories(mut self, categories: impl Into<Categories>) -> Self {
        self.categories = categories.into();
        self
    }

    /// The same for these threads.
    #[must_use]
    pub fn with_threads(mut self, threads: ThreadFilter) -> Self {
        self.threads = threads;
        self
    }

    /// The same, lying here.
    #[must_use]
    pub fn with_storage(mut self, storage: Storage) -> Self {
        self.storage = storage;
        self
    }

    /// The same with so many earlier recordings beside it.
    #[must_use]
    pub fn with_keep_earlier(mut self, keep_earlier: u32) -> Self {
        self.keep_earlier = keep_earlier;
        self
    }

    /// The same, doing this when it is full.
    #[must_use]
    pub fn with_overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// The same, as a ring where the run that this process is part of wants one of all its ranks (`rankscope run --ring`): then what is
    /// older than the run wants it makes room. Options that ask for a ring themselves keep theirs.
    #[must_use]
    pub fn with_ring_of_run(self) -> Self {
        match (self.overflow, ring_of_run(std::env::var(RING).ok().as_deref())) {
            (Overflow::Stop { max_bytes }, Some(keep)) => self.with_overflow(Overflow::Ring { max_bytes, keep }),
            _ => self,
        }
    }

    /// The same, brought to the disk so often, 20 times a second at most.
    #[must_use]
    pub fn with_flush_every(mut self, flush_every: Duration) -> Self {
        self.flush_every = flush_every.max(FLUSH_EVERY_MIN);
        self
    }

    /// The same, with or without what PyTorch's tools look for.
    #[must_use]
    pub fn with_pytorch_marks(mut self, pytorch_marks: bool) -> Self {
        self.pytorch_marks = pytorch_marks;
        self
    }

    /// The same on clocks that are wrong so; for tests.
    #[must_use]
    pub fn with_test_clock(mut self, test_clock: Option<TestClock>) -> Self {
        self.test_clock = test_clock;
        self
    }
}

/// What a run says of its ring, if that is a time.
fn ring_of_run(said: Option<&str>) -> Option<Duration> {
    let seconds: f64 = said?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().filter(|keep| !keep.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_a_time() {
        assert_eq!(ring_of_run(Some("60")), Some(Duration::from_secs(60)));
        assert_eq!(ring_of_run(Some(" 0.5\n")), Some(Duration::from_millis(500)));
        for no_time in ["", "0", "-1", "soon", "inf", "nan", "1e300"] {
            assert_eq!(ring_of_run(Some(no_time)), None, "{no_time:?}");
        }
        assert_eq!(ring_of_run(None), None);
    }
}
