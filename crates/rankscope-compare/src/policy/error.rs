//! Why a text is no policy.

use std::fmt;

use super::METRICS_MAX;

/// Why a policy cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// It is no TOML, or a key or a value means nothing here.
    Unreadable {
        /// The line, from 1.
        line: usize,
        /// What stands there.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// It guards nothing.
    Empty,
    /// It guards too much.
    TooMany {
        /// How many entries it has.
        entries: usize,
    },
}

impl fmt::Display for PolicyError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { line, text, why } => write!(to, "line {line}, {text:?}: {why}"),
            Self::Empty => to.write_str("the policy has no [[metric]], so it would pass everything. Name at least one metric"),
            Self::TooMany { entries } => write!(
                to,
                "the policy has {entries} [[metric]] entries, and a gate takes at most {METRICS_MAX}: with each more, a true \
                 regression is harder to tell from chance. Keep those that decide; a pattern ('comm.*.busbw') is one entry"
            ),
        }
    }
}

impl std::error::Error for PolicyError {}

impl PolicyError {
    pub(super) fn unreadable(text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let before = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        let there = text.lines().nth(before).unwrap_or_default().trim();
        Self::Unreadable { line: before + 1, text: there.to_owned(), why: error.message().replace('\n', " ") }
    }
}
