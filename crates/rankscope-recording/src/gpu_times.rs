//! [`GpuTimes`]: when a GPU worked on a span by its own clock, and between which ticks of the host that was.
//!
//! A kernel starts after it was launched, and whoever is told that it stopped is told so afterwards. So each such list bounds from both
//! sides how the GPU's clock stands to the host's. It is an argument of the span, [`GPU_TIMES`]; readers make a column of it. What was told
//! is kept as it is, however little sense it makes.

use super::args::Args;
use super::word::NameId;

/// The key of the argument.
pub const GPU_TIMES: &str = "gpu times";

/// When a GPU worked on a span, as it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuTimes {
    /// No later than the launch; none where nobody told of a launch, which is not the same as tick 0.
    pub launched_tick: Option<u64>,
    /// By the GPU's clock; zero where it was not told.
    pub start_ns: u64,
    /// By the GPU's clock; zero where it was not told.
    pub stop_ns: u64,
    /// When the host was told of the stop.
    pub seen_tick: u64,
}

impl GpuTimes {
    /// As the list that is recorded.
    pub fn to_list(self) -> [i64; 5] {
        let launched = self.launched_tick;
        [
            i64::from(launched.is_some()),
            launched.unwrap_or(0).cast_signed(),
            self.start_ns.cast_signed(),
            self.stop_ns.cast_signed(),
            self.seen_tick.cast_signed(),
        ]
    }

    /// Out of such a list; none where it is another.
    pub fn of_list(list: impl IntoIterator<Item = i64>) -> Option<Self> {
        let mut list = list.into_iter();
        let is_launched = match list.next()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let mut number = || list.next().map(i64::cast_unsigned);
        let (launched, start_ns, stop_ns, seen_tick) = (number()?, number()?, number()?, number()?);
        let launched_tick = is_launched.then_some(launched);
        list.next().is_none().then_some(Self { launched_tick, start_ns, stop_ns, seen_tick })
    }

    /// What the arguments of a span say; `is_key` knows the name [`GPU_TIMES`].
    pub fn of(args: Args<'_>, is_key: impl FnMut(NameId) -> bool) -> Option<Self> {
        args.lists(is_key).find_map(Self::of_list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_being_a_list_and_another_list_is_none() {
        for launched_tick in [None, Some(0), Some(u64::MAX)] {
            let times = GpuTimes { launched_tick, start_ns: u64::MAX, stop_ns: 0, seen_tick: 9 };
            assert_eq!(GpuTimes::of_list(times.to_list()), Some(times));
        }
        for wrong in [&[][..], &[1, 2, 3, 4], &[2, 2, 3, 4, 5], &[1, 2, 3, 4, 5, 6]] {
            assert_eq!(GpuTimes::of_list(wrong.iter().copied()), None, "{wrong:?}");
        }
    }
}
