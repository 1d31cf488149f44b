//! The critical path across ranks: the longest chain of work that a stretch of the job had to wait for.
//!
//! It is walked back from the end of the stretch: from each piece to what it was bound by, and from a collective in which the rank
//! waited to the rank that came last. Every nanosecond of the stretch is one segment's, so that the path is as long as the stretch
//! is, exactly. Where two clocks contradict each other the difference is a segment by itself; where nothing is known, the path says
//! so and goes no further. It never steps forward in time, and to no piece twice.

mod ends;
mod shares;
mod slack;
#[cfg(test)]
mod tests;
mod walk;

pub use shares::{PathShare, PathSums};
pub use slack::{LeastSlack, scarcest};

use rankscope_collectives::Kind;

use crate::{Activity, JobExecution, KeyId, MeetingId};

/// A stretch of time on the job's clock, and the rank whose own stretch it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathWindow {
    /// Index of the rank.
    pub rank: usize,
    /// Its start, in nanoseconds since the epoch.
    pub start_ns: i64,
    /// Its end.
    pub end_ns: i64,
}

impl PathWindow {
    /// Of the stretches of several ranks the one that ends last; of those that end together the longest, and then that of the lowest
    /// rank. Those without length are none.
    pub fn last(windows: impl IntoIterator<Item = Self>) -> Option<Self> {
        let windows = windows.into_iter().filter(|window| window.start_ns < window.end_ns);
        windows.max_by_key(|window| (window.end_ns, std::cmp::Reverse((window.start_ns, window.rank))))
    }

    /// How long it is, in nanoseconds.
    pub fn length_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// What time on a path is.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathClass {
    /// Kernels that compute.
    Compute,
    /// Collectives and messages, from when the last one had come.
    Communication,
    /// Copies and fills.
    Copy,
    /// The host.
    Host,
    /// From the host's call to the start of what it launched.
    Launch,
    /// Between two pieces of work of a device that were both launched.
    DeviceGap,
    /// Nothing is known that was waited for.
    Unknown,
    /// By their clocks, a rank left a collective this long before the last one came.
    Clock,
}

impl PathClass {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::Compute, Self::Communication, Self::Copy, Self::Host, Self::Launch, Self::DeviceGap, Self::Unknown, Self::Clock];

    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Communication => "communication",
            Self::Copy => "copy",
            Self::Host => "host",
            Self::Launch => "launch",
            Self::DeviceGap => "device_gap",
            Self::Unknown => "unknown",
            Self::Clock => "clock",
        }
    }
}

/// A part of a path: one class of one rank's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Index of the rank.
    pub rank: u32,
    /// Its start, on the job's clock, in nanoseconds since the epoch.
    pub start_ns: i64,
    /// Its end.
    pub end_ns: i64,
    /// What it is.
    pub class: PathClass,
    /// What ran, or, of the time before something started, what had not started; none where nothing is known.
    pub key: Option<KeyId>,
    /// The matched collective that it is part of.
    pub meeting: Option<MeetingId>,
}

impl Segment {
    /// How long it is, in nanoseconds.
    pub fn ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }

    /// What it is called in lists: of a matched collective what that is, of other device work the operator that launched it, if that
    /// is known.
    pub fn name<'j>(&self, job: &'j JobExecution<'_>) -> &'j str {
        match (self.class, self.key) {
            (PathClass::Clock, _) => CLOCKS_DISAGREE,
            (PathClass::Unknown, _) => NOTHING_BEFORE,
            (_, Some(key)) => label(job, self.rank as usize, key, self.meeting),
            (_, None) => NOT_RECORDED,
        }
    }

    /// The kernel or copy by its own name, where [`name`](Self::name) is another one.
    pub fn kernel<'j>(&self, job: &'j JobExecution<'_>) -> Option<&'j str> {
        let own = &job.ranks[self.rank as usize].key(self.key?).name[..];
        (!own.is_empty() && own != self.name(job)).then_some(own)
    }
}

/// The name of time of which nothing is recorded.
const NOT_RECORDED: &str = "not recorded";

/// The name of time before the first piece on a path: nothing is recorded that it waited for.
const NOTHING_BEFORE: &str = "before the first recorded work";

/// The name of time that two clocks put the wrong way round.
const CLOCKS_DISAGREE: &str = "the clocks disagree";

/// What a key is called in lists, and what the rank's part in `meeting` is.
fn label<'j>(job: &'j JobExecution<'_>, rank: usize, key: KeyId, meeting: Option<MeetingId>) -> &'j str {
    if let Some(kind) = meeting.and_then(|meeting| job.get(meeting).kind_of(rank as u32)).filter(|kind| *kind != Kind::Unknown)
    {
        return kind.name();
    }
    let key = job.ranks[rank].key(key);
    // An operator that hands over collectives hands over all of them.
    let by_operator = matches!(key.activity, Activity::Kernel | Activity::Copy | Activity::Fill) && !key.operator.is_empty();
    match if by_operator { &key.operator } else { &key.name } {
        name if name.is_empty() => NOT_RECORDED,
        name => name,
    }
}

/// Why a path is not told further back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEnd {
    /// It is told whole.
    Whole,
    /// Nothing is known that the first piece on it waited for; that piece is of the rank at this index.
    NothingKnown(u32),
    /// The order of the collectives contradicts itself there, so that the path would come back to where it was.
    Cycle(u32),
}

/// A critical path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The stretch that it is the path of.
    pub window: PathWindow,
    /// Its parts in order of time. Each starts where the one before ends, the first and the last at the edges of the window.
    pub segments: Vec<Segment>,
    /// How often it goes from one rank to another.
    pub hops: u64,
    /// How far back it is told.
    pub end: PathEnd,
}

/// The critical path of each of `windows`, in that order.
pub fn critical_paths(job: &JobExecution<'_>, windows: &[PathWindow]) -> Vec<Path> {
    let ends = ends::ends(job, windows);
    windows.iter().zip(ends).map(|(window, from)| walk::walk(job, *window, from)).collect()
}

/// The critical path of one window; for several, [`critical_paths`] looks for their ends once.
pub fn critical_path(job: &JobExecution<'_>, window: PathWindow) -> Path {
    let from = ends::ends(job, &[window]).pop().flatten();
    walk::walk(job, window, from)
}
