//! Device work in a recording: what a plugin learned from a device's own profiler, told by an instant that has it as an argument.
//!
//! The argument [`DEVICE_WORK`] is a list: when the work started and ended on the recording's clock, where it ran, the library's
//! number of the call behind it, and which end of an arrow it is. The instant's name and category are the work's own, and its other
//! arguments, too. When the instant was recorded says nothing.

use crate::args::Args;
use crate::word::NameId;

/// The key of the argument that makes an instant device work.
pub const DEVICE_WORK: &str = "device_work";

/// What ran on a device, or a call into its library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceWork {
    /// When it started, in nanoseconds since 1970.
    pub start_ns: i64,
    /// When it ended; not before it started.
    pub end_ns: i64,
    /// Where it ran.
    pub place: WorkPlace,
    /// The library's number of the call behind it, or of the call itself; zero for none.
    pub correlation: u64,
    /// Whether an arrow from a call to its work touches it.
    pub arrow: Arrow,
}

/// Where device work is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkPlace {
    /// A stream or queue of a device.
    Stream {
        /// The device.
        device: u32,
        /// The stream.
        stream: u64,
    },
    /// A thread of the host, for calls.
    Thread {
        /// By the operating system's number.
        tid: u64,
    },
}

/// Which end of the arrow from a call to its work something is. The arrow's number is the correlation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrow {
    /// None.
    None,
    /// The call.
    Starts,
    /// The work.
    Ends,
}

impl DeviceWork {
    /// As the list that is recorded.
    pub fn to_list(self) -> [i64; 7] {
        let (on_host, device, stream) = match self.place {
            WorkPlace::Stream { device, stream } => (0, device, stream),
            WorkPlace::Thread { tid } => (1, 0, tid),
        };
        let arrow = match self.arrow {
            Arrow::None => 0,
            Arrow::Starts => 1,
            Arrow::Ends => 2,
        };
        [self.start_ns, self.end_ns, on_host, device.into(), stream.cast_signed(), self.correlation.cast_signed(), arrow]
    }

    /// Out of such a list; none where it is another.
    pub fn of_list(list: impl IntoIterator<Item = i64>) -> Option<Self> {
        let mut list = list.into_iter();
        let mut next = || list.next();
        let (start_ns, end_ns) = (next()?, next()?);
        let (on_host, device, stream) = (next()?, next()?, next()?.cast_unsigned());
        let place = match on_host {
            0 => WorkPlace::Stream { device: u32::try_from(device).ok()?, stream },
            1 => WorkPlace::Thread { tid: stream },
            _ => return None,
        };
        let correlation = next()?.cast_unsigned();
        let arrow = match next()? {
            0 => Arrow::None,
            1 => Arrow::Starts,
            2 => Arrow::Ends,
            _ => return None,
        };
        (start_ns <= end_ns).then_some(Self { start_ns, end_ns, place, correlation, arrow })
    }

    /// What an instant with `args` says about device work, if it does; `is_key` knows the name [`DEVICE_WORK`].
    pub fn of(args: Args<'_>, is_key: impl FnMut(NameId) -> bool) -> Option<Self> {
        args.lists(is_key).find_map(Self::of_list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_survives_being_a_list() {
        let places = [WorkPlace::Stream { device: u32::MAX, stream: u64::MAX }, WorkPlace::Thread { tid: 1234 }];
        for place in places {
            for arrow in [Arrow::None, Arrow::Starts, Arrow::Ends] {
                let work = DeviceWork { start_ns: -5, end_ns: i64::MAX, place, correlation: u64::MAX, arrow };
                assert_eq!(DeviceWork::of_list(work.to_list()), Some(work));
            }
        }
    }

    #[test]
    fn another_list_is_no_work() {
        let work = DeviceWork {
            start_ns: 1,
            end_ns: 2,
            place: WorkPlace::Stream { device: 0, stream: 7 },
            correlation: 0,
            arrow: Arrow::None,
        };
        let whole = work.to_list();
        assert_eq!(DeviceWork::of_list(whole[..6].iter().copied()), None);
        for (at, wrong) in [(1, 0), (2, 2), (3, -1), (6, 3)] {
            let mut list = whole;
            list[at] = wrong;
            assert_eq!(DeviceWork::of_list(list), None, "{list:?}");
        }
    }
}
