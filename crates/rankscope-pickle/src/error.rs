//! Why a pickle could not be read.

/// Why a pickle could not be read. Offsets are in bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It does not begin as pickles of protocols 2 to 5 do.
    #[error("not a pickle of protocol 2 to 5: it begins with another byte than 0x80, or with a protocol that is not known")]
    NotAPickle,
    /// The file ends within it.
    #[error("the pickle is cut off: the file ends at byte {at}, within an instruction or before its last one")]
    Cut {
        /// Where the file ends.
        at: usize,
    },
    /// It wants to import, call or make an object.
    #[error("instruction {name} at byte {at}: only plain data is read, and nothing is imported or called")]
    Refused {
        /// The instruction, as Python's `pickletools` calls it.
        name: &'static str,
        /// Where it stands.
        at: usize,
    },
    /// No protocol has this instruction.
    #[error("byte {code:#04x} at byte {at} is no instruction of a pickle")]
    Unknown {
        /// What stands there.
        code: u8,
        /// Where.
        at: usize,
    },
    /// An instruction does not find what it works on.
    #[error("instruction {name} at byte {at} does not find what it works on: the pickle is damaged")]
    Damaged {
        /// The instruction.
        name: &'static str,
        /// Where it stands.
        at: usize,
    },
    /// A number of more than 64 bits.
    #[error("the integer at byte {at} has more than 64 bits")]
    TooWide {
        /// Where its instruction stands.
        at: usize,
    },
    /// It would take more memory than any pickle of that length that is not made to.
    #[error("at byte {at} the pickle holds more {what} than a file of its length should")]
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// Where it went over.
        at: usize,
    },
}
