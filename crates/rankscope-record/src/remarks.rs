//! [`Remarks`]: what a report says that is no loss: ends that came out of order, and limits of what one event may hold.

use std::fmt;

use rankscope_recording::Remark;

/// What was recorded otherwise than the program may think; see [`Remark`]. Shown, it is a list in words, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Remarks {
    /// Spans that ended while one that began later on their thread was open. Their true end is recorded.
    pub misnested: u64,
    /// Ends of spans that were not open on the thread: begun on another one, or ended before. They were ignored.
    pub misuse: u64,
    /// Texts, bytes and lists that were too long, and were cut.
    pub values_cut: u64,
    /// Arguments beyond those that an event may have, or that found no room.
    pub arguments_left_out: u64,
    /// Names that were too long, and were cut.
    pub names_cut: u64,
}

impl Remarks {
    /// From counts in the order of [`Remark::ALL`].
    pub(crate) fn of(counts: [u64; Remark::ALL.len()]) -> Self {
        let [misnested, misuse, values_cut, arguments_left_out, names_cut] = counts;
        Self { misnested, misuse, values_cut, arguments_left_out, names_cut }
    }

    /// How many of what `remark` says.
    pub fn count(&self, remark: Remark) -> u64 {
        match remark {
            Remark::Misnested => self.misnested,
            Remark::Misuse => self.misuse,
            Remark::ValuesCut => self.values_cut,
            Remark::ArgumentsLeftOut => self.arguments_left_out,
            Remark::NamesCut => self.names_cut,
            _ => 0,
        }
    }
}

impl fmt::Display for Remarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = Remark::ALL.map(|remark| (remark, self.count(remark)));
        let words: Vec<String> =
            counts.into_iter().filter(|(_, count)| *count > 0).map(|(remark, count)| remark.in_words(count)).collect();
        f.write_str(&words.join(", "))
    }
}
