//! What comes out of a recording: events in the order their thread recorded them, in ticks.

use super::NameId;

/// One event of one thread. Arguments are lent beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When, in ticks of the recording.
    pub tick: u64,
    /// Its name; none for ends and memory.
    pub name: NameId,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// A span begins.
    Begin {
        /// Its correlation id: thread slot in the upper 16 bits, a count in the lower 48.
        id: u64,
        /// What follows the name, behind a `#`.
        number: Option<i64>,
    },
    /// A span ends: the innermost, unless it says otherwise.
    End {
        /// It never ended in the recording: this is the cut, not an end.
        unfinished: bool,
        /// How many spans of the thread that began after it are still open. Where it is not zero, the span overlaps each of them and
        /// lies in none.
        above: u32,
    },
    /// A moment.
    Instant,
    /// A value.
    Counter(CounterValue),
    /// An arrow touches the innermost open span.
    Flow {
        /// Ties the points of one arrow together.
        id: u64,
        /// Which point this is.
        stage: FlowStage,
    },
    /// A span begins that may end elsewhere.
    AsyncBegin {
        /// Ties its two ends together.
        id: u64,
    },
    /// Such a span ends.
    AsyncEnd {
        /// Ties its two ends together.
        id: u64,
    },
    /// Memory taken (positive) or given back (negative).
    Memory {
        /// Address of the block.
        address: u64,
        /// Its bytes, signed.
        bytes: i64,
        /// Kind of device, as torch numbers them: 0 CPU, 1 CUDA.
        device_type: u8,
        /// Which of them; −1 for the host.
        device_index: i16,
        /// The memory was not there.
        out_of_memory: bool,
    },
}

/// Takes out the open span that [`What::End`] ends: the one with `above` others on it, of `open` with the outermost first. None
/// where its begin is not in the recording. What was above it then stands from `open.len() - above` on.
pub fn take_out<T>(open: &mut Vec<T>, above: u32) -> Option<T> {
    let at = open.len().checked_sub(above as usize + 1)?;
    Some(open.remove(at))
}

/// The value of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CounterValue {
    /// A whole number.
    I64(i64),
    /// Any number.
    F64(f64),
}

/// A point of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowStage {
    /// Where it starts.
    Start,
    /// Where it passes.
    Step,
    /// Where it ends.
    End,
}

/// The clocks an anchor may tie ticks to. Other numbers are clocks of plugins; readers keep them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClockId(pub u32);

impl ClockId {
    /// `CLOCK_MONOTONIC_RAW`: never stepped, never slewed. The clock of the recording.
    pub const MONOTONIC_RAW: Self = Self(1);
    /// `CLOCK_MONOTONIC`: slewed.
    pub const MONOTONIC: Self = Self(2);
    /// `CLOCK_REALTIME`: stepped and slewed; nanoseconds since the Unix epoch.
    pub const REALTIME: Self = Self(3);
    /// `CLOCK_BOOTTIME`: as monotonic, suspension included.
    pub const BOOTTIME: Self = Self(4);
}

/// Why an event is not in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// The recording had reached the size it was given.
    Full = 1,
    /// The storage could not grow: disk full, file size limit.
    Storage = 2,
    /// A signal handler, or an allocator called by the recorder, recorded while its thread was recording.
    Reentrant = 3,
    /// More spans were open on a thread than are kept.
    TooDeep = 4,
    /// The process forked and the child does not record.
    Forked = 5,
    /// A ring let go of them to make room.
    Overwritten = 6,
}

impl DropReason {
    /// All reasons.
    pub const ALL: [Self; 6] = [Self::Full, Self::Storage, Self::Reentrant, Self::TooDeep, Self::Forked, Self::Overwritten];

    /// The one with this number.
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| *reason as u32 == number)
    }

    /// Whether an event is missing that was to be kept. A ring that overwrites what is old does what it was asked to do.
    pub const fn is_loss(self) -> bool {
        !matches!(self, Self::Overwritten)
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Storage => "storage",
            Self::Reentrant => "reentrant",
            Self::TooDeep => "too_deep",
            Self::Forked => "forked",
            Self::Overwritten => "overwritten",
        }
    }
}

/// What a recorder counts that is no loss of an event: calls it had to make sense of, and limits of what one event may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Remark {
    /// Spans that ended while one that began later on their thread was open. Their true end is recorded.
    Misnested = 16,
    /// Ends of spans that are not open on the thread: begun on another one, or ended before. They changed nothing.
    Misuse = 17,
    /// Texts, bytes and lists that were too long, and were cut.
    ValuesCut = 18,
    /// Arguments beyond those that an event may have.
    ArgumentsLeftOut = 19,
    /// Names that were too long, and were cut.
    NamesCut = 20,
}

impl Remark {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Misnested, Self::Misuse, Self::ValuesCut, Self::ArgumentsLeftOut, Self::NamesCut];

    /// The one with this number.
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|remark| *remark as u32 == number)
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Misnested => "misnested",
            Self::Misuse => "misuse",
            Self::ValuesCut => "values_cut",
            Self::ArgumentsLeftOut => "arguments_left_out",
            Self::NamesCut => "names_cut",
        }
    }

    /// What so many of it are, for people.
    pub fn in_words(self, count: u64) -> String {
        let s = if count == 1 { "" } else { "s" };
        match self {
            Self::Misnested => format!("{count} span{s} ended out of order (with their true ends)"),
            Self::Misuse => format!("{count} end{s} of spans that were not open on their thread (ignored)"),
            Self::ValuesCut => format!("{count} value{s} of arguments cut"),
            Self::ArgumentsLeftOut => format!("{count} argument{s} left out"),
            Self::NamesCut => format!("{count} name{s} cut"),
        }
    }
}
