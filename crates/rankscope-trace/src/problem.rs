//! What was wrong in a file: where it began, what it was, how often. Reading goes on; nothing here is an error.

use std::fmt;

/// A kind of damage a reader steps over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The compressed stream ends before its end mark.
    TruncatedCompression,
    /// The compressed stream is damaged from here on.
    CorruptCompression,
    /// The text or message ends in the middle of something.
    Truncated,
    /// An event no reading could make sense of; it was left out.
    MalformedEvent,
    /// A quote inside a string was not escaped; the event was read all the same.
    UnescapedQuote,
    /// A raw control character inside a string.
    ControlCharacter,
    /// Bytes that are not UTF-8; they show as U+FFFD.
    InvalidUtf8,
    /// A span that ends before it starts; counted as having no length.
    NegativeDuration,
    /// A duration no profiler can have measured, as a wrapped counter gives; counted as having no length.
    OverflowedDuration,
    /// A span or instant without a time stamp; it was left out.
    MissingTimestamp,
    /// A number that is none, or out of range.
    BadNumber,
    /// An end without a begin, or a begin without an end.
    UnbalancedSpan,
    /// Data after the end of the trace.
    TrailingData,
    /// A field or packet of a kind this reader does not know; it was left out.
    Unsupported,
    /// An event or message longer than any that a profiler writes; it was left out.
    TooLong,
    /// A message refers to an interned name that was never sent.
    MissingInterned,
    /// Packets the recording profiler says it lost.
    LostPackets,
    /// Part of a recording whose checksum is false, or that nobody can make sense of; it was left out.
    DamagedBlock,
    /// An error or warning the recording profiler wrote into the file itself.
    ProfilerMessage,
    /// Two places of the file (or its name) disagree on its rank.
    RankDisagreement,
    /// The list of ranks of a process group is cut short in the file.
    TruncatedRankList,
    /// A wait for an event that the times of the work contradict; it was left out.
    ContradictedWait,
}

impl ProblemKind {
    /// All of them, in the order above.
    pub const ALL: [Self; 22] = [
        Self::TruncatedCompression,
        Self::CorruptCompression,
        Self::Truncated,
        Self::MalformedEvent,
        Self::UnescapedQuote,
        Self::ControlCharacter,
        Self::InvalidUtf8,
        Self::NegativeDuration,
        Self::OverflowedDuration,
        Self::MissingTimestamp,
        Self::BadNumber,
        Self::UnbalancedSpan,
        Self::TrailingData,
        Self::Unsupported,
        Self::TooLong,
        Self::MissingInterned,
        Self::LostPackets,
        Self::DamagedBlock,
        Self::ProfilerMessage,
        Self::RankDisagreement,
        Self::TruncatedRankList,
        Self::ContradictedWait,
    ];

    /// The name in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::TruncatedCompression => "truncated_compression",
            Self::CorruptCompression => "corrupt_compression",
            Self::Truncated => "truncated",
            Self::MalformedEvent => "malformed_event",
            Self::UnescapedQuote => "unescaped_quote",
            Self::ControlCharacter => "control_character",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::NegativeDuration => "negative_duration",
            Self::OverflowedDuration => "overflowed_duration",
            Self::MissingTimestamp => "missing_timestamp",
            Self::BadNumber => "bad_number",
            Self::UnbalancedSpan => "unbalanced_span",
            Self::TrailingData => "trailing_data",
            Self::Unsupported => "unsupported",
            Self::TooLong => "too_long",
            Self::MissingInterned => "missing_interned",
            Self::LostPackets => "lost_packets",
            Self::DamagedBlock => "damaged_block",
            Self::ProfilerMessage => "profiler_message",
            Self::RankDisagreement => "rank_disagreement",
            Self::TruncatedRankList => "truncated_rank_list",
            Self::ContradictedWait => "contradicted_wait",
        }
    }
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().replace('_', " ").fmt(f)
    }
}

impl ProblemKind {
    /// Whether everything from its first place on is missing.
    pub fn cuts_off(self) -> bool {
        matches!(self, Self::TruncatedCompression | Self::CorruptCompression | Self::Truncated)
    }

    /// What there is of it, for people, in the plural.
    fn things(self) -> &'static str {
        match self {
            Self::TruncatedCompression => "compressed streams that are cut short",
            Self::CorruptCompression => "compressed streams that are damaged",
            Self::Truncated => "places where it is cut short",
            Self::MalformedEvent => "events that cannot be read, left out",
            Self::UnescapedQuote => "quotes inside strings that are not escaped",
            Self::ControlCharacter => "control characters inside strings",
            Self::InvalidUtf8 => "places that are not UTF-8",
            Self::NegativeDuration => "spans that end before they start",
            Self::OverflowedDuration => "impossibly long durations",
            Self::MissingTimestamp => "events without a time, left out",
            Self::BadNumber => "numbers that are invalid or out of range",
            Self::UnbalancedSpan => "begins without an end or ends without a begin",
            Self::TrailingData => "data after the end of the trace",
            Self::Unsupported => "parts of an unknown kind, left out",
            Self::TooLong => "events larger than any profiler writes, left out",
            Self::MissingInterned => "references to names that are missing",
            Self::LostPackets => "packets that the profiler reports as lost",
            Self::DamagedBlock => "damaged parts, left out",
            Self::ProfilerMessage => "warnings that the profiler wrote into it",
            Self::RankDisagreement => "places that disagree on the rank",
            Self::TruncatedRankList => "lists of ranks that are cut short in it",
            Self::ContradictedWait => "recorded waits that its times contradict, left out",
        }
    }
}

/// All damage of one kind in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Byte offset of the first occurrence, in the decompressed file.
    pub offset: u64,
    /// What it was.
    pub kind: ProblemKind,
    /// How often it occurred.
    pub count: u64,
    /// What helps to understand the first occurrence; may be empty.
    pub detail: String,
}

/// A clause about the file.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, kind, count, .. } = self;
        match (kind.cuts_off(), count) {
            (true, 1) => write!(f, "it is {} at byte {offset} and what follows is missing", cut(*kind)),
            _ => write!(f, "{}: {count} (the first at byte {offset})", kind.things()),
        }
    }
}

fn cut(kind: ProblemKind) -> &'static str {
    if kind == ProblemKind::CorruptCompression { "damaged" } else { "cut short" }
}

/// The problems of a file, one entry a kind, ordered by first occurrence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
}

impl Problems {
    /// One more occurrence of `kind` at `offset`.
    pub fn add(&mut self, kind: ProblemKind, offset: u64) {
        self.add_detailed(kind, offset, 1, String::new());
    }

    /// `count` more occurrences, the first at `offset`; `detail` is kept if it is the earliest.
    pub fn add_detailed(&mut self, kind: ProblemKind, offset: u64, count: u64, detail: String) {
        let Some(known) = self.list.iter_mut().find(|known| known.kind == kind) else {
            self.list.push(Problem { offset, kind, count, detail });
            self.list.sort_by_key(|problem| (problem.offset, problem.kind));
            return;
        };
        known.count += count;
        if offset < known.offset {
            known.offset = offset;
            known.detail = detail;
            self.list.sort_by_key(|problem| (problem.offset, problem.kind));
        }
    }

    /// Takes over what `other` found.
    pub fn merge(&mut self, other: Self) {
        for problem in other.list {
            self.add_detailed(problem.kind, problem.offset, problem.count, problem.detail);
        }
    }

    /// The problems, by first occurrence.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.list.iter()
    }

    /// How often `kind` occurred.
    pub fn count(&self, kind: ProblemKind) -> u64 {
        self.list.iter().find(|problem| problem.kind == kind).map_or(0, |problem| problem.count)
    }

    /// Whether the file was flawless.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_kinds_is_whole() {
        use ProblemKind as K;
        // A new one does not compile until it is named here; name it in the list, too.
        let is_named = |kind| match kind {
            K::TruncatedCompression
            | K::CorruptCompression
            | K::Truncated
            | K::MalformedEvent
            | K::UnescapedQuote
            | K::ControlCharacter
            | K::InvalidUtf8
            | K::NegativeDuration
            | K::OverflowedDuration
            | K::MissingTimestamp
            | K::BadNumber
            | K::UnbalancedSpan
            | K::TrailingData
            | K::Unsupported
            | K::TooLong
            | K::MissingInterned
            | K::LostPackets
            | K::DamagedBlock
            | K::ProfilerMessage
            | K::RankDisagreement
            | K::TruncatedRankList
            | K::ContradictedWait => true,
        };
        assert!(K::ALL.into_iter().all(is_named));
        assert!(K::ALL.is_sorted_by(|a, b| a < b), "each once");
    }

    #[test]
    fn a_kind_keeps_its_first_place_and_its_count() {
        let mut problems = Problems::default();
        problems.add(ProblemKind::ControlCharacter, 900);
        problems.add(ProblemKind::MalformedEvent, 500);
        problems.add_detailed(ProblemKind::ControlCharacter, 100, 2, "in a name".into());
        let list: Vec<_> = problems.iter().map(|p| (p.offset, p.kind, p.count, p.detail.as_str())).collect();
        assert_eq!(list, [(100, ProblemKind::ControlCharacter, 3, "in a name"), (500, ProblemKind::MalformedEvent, 1, "")]);
        let said: Vec<_> = problems.iter().map(ToString::to_string).collect();
        let expected = [
            "control characters inside strings: 3 (the first at byte 100)",
            "events that cannot be read, left out: 1 (the first at byte 500)",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn a_file_that_is_cut_short_says_what_that_means() {
        let cut = |kind| Problem { offset: 7, kind, count: 1, detail: String::new() }.to_string();
        assert_eq!(cut(ProblemKind::Truncated), "it is cut short at byte 7 and what follows is missing");
        assert_eq!(cut(ProblemKind::TruncatedCompression), cut(ProblemKind::Truncated));
        assert_eq!(cut(ProblemKind::CorruptCompression), "it is damaged at byte 7 and what follows is missing");
    }
}
