//! The eight-byte word, the unit of a live recording.
//!
//! ```text
//!  63                     24 23             6 5      0
//! ┌─────────────────────────┬────────────────┬────────┐
//! │ delta or inline value   │ name           │ kind   │
//! └─────────────────────────┴────────────────┴────────┘
//! ```
//!
//! A record is one *head* word, followed by a number of payload words that its kind tells (fixed, or from the length in the
//! head). A zero word is space that nobody has written yet, so the words of a chunk are their own commit mark: whoever writes
//! a record stores its payload first and its head last, and whoever reads stops at the first zero head. Arguments are records
//! of their own behind the event they belong to; they too are stored before that event's head.

/// Bits of a head word that say what the record is.
pub const KIND_BITS: u32 = 6;
/// Bits of a head word that hold a name.
pub const NAME_BITS: u32 = 18;
/// Bits of a head word that hold ticks since the base, or an inline value.
pub const DELTA_BITS: u32 = 40;

/// A name of the recording, by its number in the recording's table; zero is no name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub u32);

impl NameId {
    /// The last number that fits a head word.
    pub const MAX: u32 = (1 << NAME_BITS) - 1;
}

/// A head word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(pub u64);

impl Word {
    /// Packs a head. `name` and `value` are cut to their bits.
    #[inline(always)]
    pub const fn new(kind: Kind, name: u32, value: u64) -> Self {
        Self((value << (KIND_BITS + NAME_BITS)) | (((name & NameId::MAX) as u64) << KIND_BITS) | kind as u64)
    }

    /// What the record is; `None` for empty space and for kinds of a later version.
    #[inline]
    pub const fn kind(self) -> Option<Kind> {
        Kind::of((self.0 & ((1 << KIND_BITS) - 1)) as u8)
    }

    /// The name field.
    #[inline]
    pub const fn name(self) -> NameId {
        NameId(((self.0 >> KIND_BITS) & NameId::MAX as u64) as u32)
    }

    /// The value field: ticks since the base, a length, or an inline number.
    #[inline]
    pub const fn value(self) -> u64 {
        self.0 >> (KIND_BITS + NAME_BITS)
    }

    /// The value field as a signed number.
    #[inline]
    pub const fn signed(self) -> i64 {
        (self.0 as i64) >> (KIND_BITS + NAME_BITS)
    }

    /// How many payload words follow the head, with those of a text of this many bytes.
    #[inline]
    pub const fn payload_words(self) -> Option<u64> {
        match self.kind() {
            Some(kind) => Some(match kind.payload() {
                Payload::Words(words) => words,
                // A length of 40 bits: the sum cannot overflow.
                Payload::WordsAndBytes(words) => words + self.value().div_ceil(8),
            }),
            None => None,
        }
    }
}

/// How long a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// That many words follow the head.
    Words(u64),
    /// That many words follow, and then as many bytes as the head's value says, padded with zeros to whole words.
    WordsAndBytes(u64),
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $payload:expr;)*) => {
        /// What a record is. Numbers are part of the format and never change their meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$doc])* $name = $number,)*
        }

        impl Kind {
            /// The kind with this number.
            #[inline]
            pub const fn of(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// How long its records are.
            #[inline]
            pub const fn payload(self) -> Payload {
                match self {
                    $(Self::$name => $payload,)*
                }
            }
        }
    };
}

use Payload::{Words, WordsAndBytes};

kinds! {
    /// A span begins. Name; ticks.
    Begin = 1, Words(0);
    /// The innermost open span of this thread ends. Ticks.
    End = 2, Words(0);
    /// Something happened at one moment. Name; ticks.
    Instant = 3, Words(0);
    /// A whole number at one moment. Name; ticks; the i64.
    CounterI64 = 4, Words(1);
    /// A number at one moment. Name; ticks; the bits of the f64.
    CounterF64 = 5, Words(1);
    /// An arrow starts in the innermost open span. Name; ticks; its id.
    FlowStart = 6, Words(1);
    /// An arrow passes through the innermost open span. Name; ticks; its id.
    FlowStep = 7, Words(1);
    /// An arrow ends in the innermost open span. Name; ticks; its id.
    FlowEnd = 8, Words(1);
    /// A span begins that may end on another thread. Name; ticks; its id.
    AsyncBegin = 9, Words(1);
    /// Such a span ends. Name; ticks; its id.
    AsyncEnd = 10, Words(1);
    /// Memory was taken or given back. Device in the name field (type in the upper 6 bits, index + 1 in the lower 12); ticks;
    /// address, bytes (negative when given back).
    Memory = 11, Words(2);
    /// Memory was wanted and not there. As [`Kind::Memory`].
    OutOfMemory = 12, Words(2);
    /// A span begins whose name ends in `#` and a number. Name; ticks; the number (i64).
    BeginNumbered = 13, Words(1);
    /// Ticks count from a new base from here on. The base.
    Rebase = 14, Words(1);
    /// The rest of the chunk belongs to another thread. Its stream number and the place of this piece in it (`stream << 32 |
    /// sequence`); the base of ticks; the correlation id of the next span.
    Switch = 15, Words(3);
    /// A span of this thread ends that is not the innermost. Ticks; its correlation id.
    EndOf = 16, Words(1);
    /// At the start of a piece: a span that began in an earlier one and is still open, the outermost first. Name; nothing; the
    /// tick it began at, its correlation id.
    Opened = 17, Words(2);
    /// As [`Kind::Opened`], of a span whose name ends in `#` and a number. Name; nothing; tick, correlation id, the number (i64).
    OpenedNumbered = 18, Words(3);
    /// Behind these: so many more spans are open further in, of which nothing else is recorded.
    OpenedDeeper = 19, Words(0);

    /// System chunks: a text and its number. `category | scope << 8` in the following word; the length in the value; the bytes.
    Name = 20, WordsAndBytes(1);
    /// System chunks: a thread. Stream number, the operating system's thread number; its name. A later record replaces it.
    Thread = 21, WordsAndBytes(2);
    /// System chunks: something to know about the recording. The key's name; the value as JSON text.
    Meta = 22, WordsAndBytes(0);
    /// System chunks: a session begins. Its number, its tick, its categories (a bit each).
    SessionStart = 23, Words(3);
    /// System chunks: a session ends. Its number, its tick.
    SessionStop = 24, Words(2);
    /// System chunks: what a recorder counts beside events. The reason in the name field ([`super::DropReason`],
    /// [`super::Remark`]); the stream; how many so far.
    Drops = 25, Words(2);
    /// System chunks: ticks and another clock read at one moment. The clock in the name field ([`super::ClockId`]); the tick
    /// (middle of the bracket), the clock's nanoseconds, the width of the bracket in ticks.
    Anchor = 26, Words(3);

    /// An argument: a whole number of 40 bits, inline. Key.
    ArgSmall = 32, Words(0);
    /// An argument: i64. Key.
    ArgI64 = 33, Words(1);
    /// An argument: u64. Key.
    ArgU64 = 34, Words(1);
    /// An argument: the bits of an f64. Key.
    ArgF64 = 35, Words(1);
    /// An argument: 0 or 1, inline. Key.
    ArgBool = 36, Words(0);
    /// An argument: a text of the table of names, its number inline. Key.
    ArgName = 37, Words(0);
    /// An argument: a text (UTF-8), its length inline. Key.
    ArgText = 38, WordsAndBytes(0);
    /// An argument: bytes, their number inline. Key.
    ArgBytes = 39, WordsAndBytes(0);
    /// An argument: a list of i64 as zigzag varints, the length in bytes inline. Key.
    ArgI64s = 40, WordsAndBytes(0);
    /// An argument: JSON text, its length inline. Key.
    ArgJson = 41, WordsAndBytes(0);
    /// The argument before it, of the same key, was cut: its true length inline. With no key: so many arguments were left out.
    ArgCut = 42, Words(0);
}

impl Kind {
    /// Whether it is an event with a name of its own.
    pub const fn is_named(self) -> bool {
        self.has_ticks() && !matches!(self, Self::End | Self::EndOf | Self::Memory | Self::OutOfMemory)
    }

    /// Whether it belongs to the event before it.
    pub const fn is_argument(self) -> bool {
        self as u8 >= Self::ArgSmall as u8
    }

    /// Whether its value field holds ticks since the base.
    pub const fn has_ticks(self) -> bool {
        (self as u8) < Self::Rebase as u8 || matches!(self, Self::EndOf)
    }

    /// Whether it begins a span of this thread.
    pub const fn begins_span(self) -> bool {
        matches!(self, Self::Begin | Self::BeginNumbered)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_packed_comes_out(number in 1_u8..64, name in 0..=NameId::MAX, value in 0_u64..1 << DELTA_BITS) {
            prop_assume!(Kind::of(number).is_some());
            let kind = Kind::of(number).unwrap();
            let word = Word::new(kind, name, value);
            prop_assert_eq!((word.kind(), word.name(), word.value()), (Some(kind), NameId(name), value));
        }

        #[test]
        fn small_numbers_keep_their_sign(value in -(1_i64 << 39)..1 << 39) {
            prop_assert_eq!(Word::new(Kind::ArgSmall, 1, value as u64).signed(), value);
        }
    }

    #[test]
    fn empty_space_is_no_record() {
        assert_eq!(Word(0).kind(), None);
    }
}
