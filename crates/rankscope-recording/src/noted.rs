//! [`Noted`]: a span that was written down when it was over, by somebody who watched it from several threads.
//!
//! Ticks of a thread never fall, so what began earlier cannot be recorded as a begin any more. It is an instant with an argument,
//! [`NOTED`]: a list of the ticks at which it began and ended. The instant's name, category and other arguments are the span's own;
//! when it was recorded says nothing. Readers show it as an asynchronous span, as such spans overlap each other.

use super::args::Args;
use super::word::NameId;

/// The key of the argument that makes an instant such a span.
pub const NOTED: &str = "noted";

/// When such a span was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted {
    /// When it began.
    pub start_tick: u64,
    /// When it ended; not before it began.
    pub end_tick: u64,
}

impl Noted {
    /// As the list that is recorded.
    pub fn to_list(self) -> [i64; 2] {
        [self.start_tick.cast_signed(), self.end_tick.cast_signed()]
    }

    /// Out of such a list; none where it is another.
    pub fn of_list(list: impl IntoIterator<Item = i64>) -> Option<Self> {
        let mut list = list.into_iter();
        let (start_tick, end_tick) = (list.next()?.cast_unsigned(), list.next()?.cast_unsigned());
        (start_tick <= end_tick && list.next().is_none()).then_some(Self { start_tick, end_tick })
    }

    /// What the arguments of an instant say; `is_key` knows the name [`NOTED`].
    pub fn of(args: Args<'_>, is_key: impl FnMut(NameId) -> bool) -> Option<Self> {
        args.lists(is_key).find_map(Self::of_list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_survives_being_a_list_and_another_list_is_none() {
        let noted = Noted { start_tick: 7, end_tick: u64::MAX };
        assert_eq!(Noted::of_list(noted.to_list()), Some(noted));
        for wrong in [&[][..], &[1], &[2, 1], &[1, 2, 3]] {
            assert_eq!(Noted::of_list(wrong.iter().copied()), None, "{wrong:?}");
        }
    }
}
