//! Where and when memory of a device was asked for, told by an event of memory that has it as an argument.
//!
//! Such events lie on [`DEVICE_STREAM`](super::DEVICE_STREAM), which is no thread. The argument [`MEMORY_PLACE`] is a list: the instant on the
//! recording's clock, and the thread where that is known.

use crate::args::Args;
use crate::word::NameId;

/// The key of the argument.
pub const MEMORY_PLACE: &str = "memory_place";

/// The key of the argument that says what kind of memory it is, in the words of [`MemoryKind`](super::MemoryKind): what a device's library told,
/// and no allocator of the program.
pub const MEMORY_KIND: &str = "Memory Kind";

/// Where and when memory of a device was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPlace {
    /// When, in nanoseconds since 1970.
    pub at_ns: i64,
    /// By which thread, by the operating system's number; none where nobody knows.
    pub thread: Option<u64>,
}

impl MemoryPlace {
    /// As the list that is recorded.
    pub fn to_list(self) -> Vec<i64> {
        std::iter::once(self.at_ns).chain(self.thread.map(u64::cast_signed)).collect()
    }

    /// Out of such a list; none where it is another.
    pub fn of_list(list: impl IntoIterator<Item = i64>) -> Option<Self> {
        let mut list = list.into_iter();
        let (at_ns, thread) = (list.next()?, list.next().map(i64::cast_unsigned));
        list.next().is_none().then_some(Self { at_ns, thread })
    }

    /// What an event with `args` says of it; `is_key` knows the name [`MEMORY_PLACE`].
    pub fn of(args: Args<'_>, is_key: impl FnMut(NameId) -> bool) -> Option<Self> {
        args.lists(is_key).find_map(Self::of_list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_survive_being_lists_and_another_list_is_none() {
        for thread in [None, Some(0), Some(u64::MAX)] {
            let place = MemoryPlace { at_ns: i64::MIN, thread };
            assert_eq!(MemoryPlace::of_list(place.to_list()), Some(place));
        }
        for wrong in [&[][..], &[1, 2, 3]] {
            assert_eq!(MemoryPlace::of_list(wrong.iter().copied()), None, "{wrong:?}");
        }
    }
}
