//! Closed vocabularies as the numbers that files have for them. A number never changes its meaning, and none is used twice.
//!
//! A variant without a number cannot be written: an error, and never another variant.

use rankscope_align::validate::Rule;
use rankscope_analyze::{Class, ClassMode, Direction, Side, StepSource};
use rankscope_collectives::{ExpertKernel, ExpertOp, Kind, Reach};
use rankscope_execution::{Activity, LaneKind};
use rankscope_trace::{HostClock, ProblemKind, RankSource, SourceFormat};

use crate::error::Error;

/// A vocabulary of at most 256 values.
pub(super) trait Numbered: Copy {
    /// The number in files; none for a variant that came later than this table.
    fn number(self) -> Option<u8>;

    /// The value of a number.
    fn of(number: u8) -> Option<Self>;
}

/// The numbers of `values`.
pub(super) fn numbers<T: Numbered>(values: impl IntoIterator<Item = T>) -> Result<Vec<u8>, Error> {
    let unknown = Error::Unwritable { what: "it holds a value that this version has no number for" };
    values.into_iter().map(T::number).collect::<Option<_>>().ok_or(unknown)
}

/// A table of numbers. A rest of `_` is for enums of other crates that may grow.
macro_rules! numbered {
    ($type:ident { $($number:literal = $variant:ident),+ $(; $rest:tt)? }) => {
        impl Numbered for $type {
            fn number(self) -> Option<u8> {
                match self {
                    $(Self::$variant => Some($number),)+
                    $($rest => None,)?
                }
            }

            fn of(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

numbered!(SourceFormat {
    0 = Memory, 1 = Kineto, 2 = Perfetto, 3 = Recording, 4 = XSpace, 5 = Rocprof, 6 = Rocpd, 7 = Nsys, 8 = Inspector; _
});
numbered!(RankSource { 0 = Header, 1 = Events, 2 = FileName, 3 = Order });
numbered!(StepSource { 0 = DeviceAnnotations, 1 = Launches, 2 = HostAnnotations, 3 = None });
numbered!(ClassMode { 0 = Default, 1 = Tracelens });
numbered!(Side { 0 = Device, 1 = Host });
numbered!(Direction { 0 = HostToDevice, 1 = DeviceToHost, 2 = DeviceToDevice, 3 = PeerToPeer, 4 = Other });
numbered!(LaneKind { 0 = Thread, 1 = Stream });
numbered!(Activity {
    0 = Kernel, 1 = Communication, 2 = Copy, 3 = Fill, 4 = Operator, 5 = Call, 6 = Synchronization, 7 = Annotation, 8 = Python,
    9 = Unrecorded; _
});
numbered!(Rule {
    0 = CollectiveOverlap, 1 = RootTakesPart, 2 = ReceiveAfterSend, 3 = KernelAfterLaunch, 4 = WaitNamesRecord,
    5 = RecordBeforeWait, 6 = StreamIdleAtSync, 7 = CollectiveFields, 8 = BackwardName, 9 = Nesting, 10 = FlowId,
    11 = FlowBegin, 12 = FlowEnclosed, 13 = FlowForward, 14 = Damage, 15 = Drops, 16 = Unfinished, 17 = Duration, 18 = Outside
});
numbered!(ExpertOp {
    0 = Dispatch, 1 = Combine, 2 = NotifyDispatch, 3 = CachedNotify, 4 = CachedNotifyDispatch, 5 = CachedNotifyCombine,
    6 = CleanBuffer; _
});
numbered!(Reach { 0 = Intranode, 1 = Internode, 2 = LowLatency, 3 = Unsaid; _ });
numbered!(ProblemKind {
    0 = TruncatedCompression, 1 = CorruptCompression, 2 = Truncated, 3 = MalformedEvent, 4 = UnescapedQuote,
    5 = ControlCharacter, 6 = InvalidUtf8, 7 = NegativeDuration, 8 = OverflowedDuration, 9 = MissingTimestamp, 10 = BadNumber,
    11 = UnbalancedSpan, 12 = TrailingData, 13 = Unsupported, 14 = TooLong, 15 = MissingInterned, 16 = LostPackets,
    17 = DamagedBlock, 18 = ProfilerMessage, 19 = RankDisagreement, 20 = TruncatedRankList,
    21 = ContradictedWait; _
});

/// Copies from here on, by their direction.
const COPY: u8 = 16;

impl Numbered for Class {
    fn number(self) -> Option<u8> {
        match self {
            Self::Compute => Some(0),
            Self::Comm => Some(1),
            Self::Memset => Some(2),
            Self::Memcpy(direction) => direction.number()?.checked_add(COPY),
        }
    }

    fn of(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Compute),
            1 => Some(Self::Comm),
            2 => Some(Self::Memset),
            _ => Direction::of(number.checked_sub(COPY)?).map(Self::Memcpy),
        }
    }
}

/// The kinds that need nothing more; the others from [`EXPERT`] on.
const KINDS: [(u8, Kind); 13] = [
    (0, Kind::AllReduce),
    (1, Kind::AllGather),
    (2, Kind::ReduceScatter),
    (3, Kind::AllToAll),
    (4, Kind::Broadcast),
    (5, Kind::Reduce),
    (6, Kind::Gather),
    (7, Kind::Scatter),
    (8, Kind::Barrier),
    (9, Kind::Send),
    (10, Kind::Recv),
    (11, Kind::SendRecv),
    (12, Kind::Unknown),
];

/// Kernels of expert-parallel libraries: [`REACHES`] numbers for each operation.
const EXPERT: u8 = 64;
const REACHES: u8 = 8;

impl Numbered for Kind {
    fn number(self) -> Option<u8> {
        if let Self::Expert(ExpertKernel { op, reach }) = self {
            return op.number()?.checked_mul(REACHES)?.checked_add(EXPERT)?.checked_add(reach.number()?);
        }
        KINDS.iter().find(|(_, kind)| *kind == self).map(|(number, _)| *number)
    }

    fn of(number: u8) -> Option<Self> {
        if let Some(expert) = number.checked_sub(EXPERT) {
            let (op, reach) = (ExpertOp::of(expert / REACHES)?, Reach::of(expert % REACHES)?);
            return Some(Self::Expert(ExpertKernel { op, reach }));
        }
        KINDS.iter().find(|(known, _)| *known == number).map(|(_, kind)| *kind)
    }
}

/// Clocks that have no name here, behind their own number.
const OTHER_CLOCK: u64 = 16;

/// The number of a clock.
pub(super) fn clock_number(clock: HostClock) -> u64 {
    match clock {
        HostClock::MonotonicRaw => 0,
        HostClock::Monotonic => 1,
        HostClock::Realtime => 2,
        HostClock::Boottime => 3,
        HostClock::Other(number) => OTHER_CLOCK + u64::from(number),
    }
}

/// The clock of a number.
pub(super) fn clock_of(number: u64) -> Option<HostClock> {
    match number {
        0 => Some(HostClock::MonotonicRaw),
        1 => Some(HostClock::Monotonic),
        2 => Some(HostClock::Realtime),
        3 => Some(HostClock::Boottime),
        _ => u32::try_from(number.checked_sub(OTHER_CLOCK)?).ok().map(HostClock::Other),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;

    /// Every value has a number of its own, and there are no others.
    fn all<T: Numbered + PartialEq + Debug>(values: impl IntoIterator<Item = T>) {
        let values: Vec<T> = values.into_iter().collect();
        for value in &values {
            assert_eq!(value.number().and_then(T::of), Some(*value), "{value:?}");
        }
        assert_eq!((0..=u8::MAX).filter_map(T::of).count(), values.len());
    }

    #[test]
    fn every_variant_of_an_enum_that_may_grow_has_a_number() {
        all(SourceFormat::ALL);
        all(ProblemKind::ALL);
        all(ExpertOp::ALL);
        all(Reach::ALL);
        let experts = ExpertOp::ALL.into_iter().flat_map(|op| Reach::ALL.map(|reach| Kind::Expert(ExpertKernel { op, reach })));
        all(KINDS.into_iter().map(|(_, kind)| kind).chain(experts));
    }

    #[test]
    fn every_kind_is_in_the_table() {
        // A new one does not compile until it is named here; give it a number, too.
        let is_named = |kind: Kind| match kind {
            Kind::AllReduce | Kind::AllGather | Kind::ReduceScatter | Kind::AllToAll | Kind::Broadcast | Kind::Reduce => true,
            Kind::Gather | Kind::Scatter | Kind::Barrier | Kind::Send | Kind::Recv | Kind::SendRecv | Kind::Unknown => true,
            Kind::Expert(_) => false,
        };
        assert!(KINDS.into_iter().all(|(_, kind)| is_named(kind)));
    }

    #[test]
    fn every_other_variant_comes_back() {
        all([RankSource::Header, RankSource::Events, RankSource::FileName, RankSource::Order]);
        all([StepSource::DeviceAnnotations, StepSource::Launches, StepSource::HostAnnotations, StepSource::None]);
        all([ClassMode::Default, ClassMode::Tracelens]);
        all([Side::Device, Side::Host]);
        all(Rule::ACROSS_RANKS.into_iter().chain(Rule::OF_TRACE));
        let directions = [
            Direction::HostToDevice,
            Direction::DeviceToHost,
            Direction::DeviceToDevice,
            Direction::PeerToPeer,
            Direction::Other,
        ];
        all(directions);
        all(directions.map(Class::Memcpy).into_iter().chain([Class::Compute, Class::Comm, Class::Memset]));
        for clock in (0..4).filter_map(clock_of).chain([HostClock::Other(0), HostClock::Other(u32::MAX)]) {
            assert_eq!(clock_of(clock_number(clock)), Some(clock));
        }
        assert_eq!((4..OTHER_CLOCK).find_map(clock_of), None);
        assert_eq!(clock_of(OTHER_CLOCK + u64::from(u32::MAX) + 1), None);
    }
}
