//! [`Record`]: what a callback leaves, in 32 bytes.
//!
//! Four words, of which the second is written last: it holds the lap of the ring in its upper byte, so that a reader knows a record
//! that is whole from one that is being written or is of another lap.

use crate::event::Sort;

/// What happened to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// It starts.
    Start = 0,
    /// It stops.
    Stop = 1,
    /// What else is known of an operation that has just started.
    More = 2,
    /// The GPU's clock when it stopped there.
    GpuStop = 3,
    /// Its communicator ends.
    Finalize = 4,
    /// The application's own number for it.
    Tag = 5,
}

impl Phase {
    const ALL: [Self; 6] = [Self::Start, Self::Stop, Self::More, Self::GpuStop, Self::Finalize, Self::Tag];
}

/// One callback's news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// When, in ticks.
    pub(crate) tick: u64,
    /// Which sort of event.
    pub(crate) sort: Sort,
    /// What happened to it.
    pub(crate) phase: Phase,
    /// Slot of its communicator.
    pub(crate) comm: u16,
    /// Function of an operation; its algorithm in [`Phase::More`].
    pub(crate) function: u8,
    /// Element type of an operation; its protocol in [`Phase::More`].
    pub(crate) element: u8,
    /// Channel, or how many; warps in [`Phase::More`].
    pub(crate) channel: u8,
    /// Number of the event's handle.
    pub(crate) handle: u32,
    /// Sequence number of a collective, the other end of a message; the parent's handle of everything else.
    pub(crate) link: u32,
    /// Elements, the GPU's time, the root and whether a graph was captured, or the application's number.
    pub(crate) value: u64,
}

/// Words of a record.
pub(crate) const RECORD_WORDS: usize = 4;

impl Record {
    /// As words, in that lap of the ring.
    #[inline]
    pub(crate) fn to_words(self, lap: u8) -> [u64; RECORD_WORDS] {
        let about = u64::from(self.sort as u8)
            | u64::from(self.phase as u8) << 8
            | u64::from(self.comm) << 16
            | u64::from(self.function) << 32
            | u64::from(self.element) << 40
            | u64::from(self.channel) << 48
            | u64::from(lap) << 56;
        [self.tick, about, u64::from(self.handle) | u64::from(self.link) << 32, self.value]
    }

    /// Out of words; none where they are no record of that lap.
    pub(crate) fn of_words(words: [u64; RECORD_WORDS], lap: u8) -> Option<Self> {
        let [tick, about, ends, value] = words;
        if (about >> 56) as u8 != lap {
            return None;
        }
        Some(Self {
            tick,
            sort: Sort::of_number(about as u8)?,
            phase: *Phase::ALL.get(usize::from((about >> 8) as u8))?,
            comm: (about >> 16) as u16,
            function: (about >> 32) as u8,
            element: (about >> 40) as u8,
            channel: (about >> 48) as u8,
            handle: ends as u32,
            link: (ends >> 32) as u32,
            value,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_record_survives_being_words(
            words in any::<(u64, u64, u64)>(), sort in 0_u8..16, phase in 0_usize..6, comm: u16, bytes: [u8; 3], lap in 1_u8..,
        ) {
            let record = Record {
                tick: words.0, sort: Sort::of_number(sort).unwrap(), phase: Phase::ALL[phase], comm,
                function: bytes[0], element: bytes[1], channel: bytes[2],
                handle: words.1 as u32, link: (words.1 >> 32) as u32, value: words.2,
            };
            prop_assert_eq!(Record::of_words(record.to_words(lap), lap), Some(record));
            prop_assert_eq!(Record::of_words(record.to_words(lap), lap.wrapping_add(1)), None);
        }

        #[test]
        fn any_words_are_a_record_or_none(words: [u64; 4], lap: u8) {
            if let Some(record) = Record::of_words(words, lap) {
                prop_assert_eq!(Record::of_words(record.to_words(lap), lap), Some(record));
            }
        }
    }
}
