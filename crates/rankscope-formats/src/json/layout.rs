//! How a file sets its events apart.
//!
//! A writer that puts every event on lines of its own separates them by the same bytes each time: a line break, some blanks, a
//! closing brace, a comma, blanks, an opening brace. A raw line break cannot occur inside a JSON string, so the text may be cut
//! there without having read it from the start. Files without line breaks have no such separator and are read in sequence.

use memchr::memmem::{Finder, FinderRev};

use super::event;
use super::scan::{Mode, skip_space};

/// The separator of a file's events, ready to be searched for.
#[derive(Debug)]
pub(super) struct Layout {
    forward: Finder<'static>,
    backward: FinderRev<'static>,
    len: usize,
}

impl Layout {
    /// Learns the separator from the first two events of the array whose text starts at `at`.
    pub(super) fn learn(text: &[u8], at: usize) -> Option<Self> {
        let first = skip_space(text, at);
        if text.get(first) != Some(&b'{') {
            return None;
        }
        let (_, end) = event::parse(text, first, Mode::Strict).ok()?;
        let comma = skip_space(text, end);
        let second = skip_space(text, comma + 1);
        if text.get(comma) != Some(&b',') || text.get(second) != Some(&b'{') {
            return None;
        }
        let brace = end - 1;
        let blanks = text[..brace].iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
        let line_break = text[brace - blanks..brace].iter().rposition(|byte| *byte == b'\n')?;
        let separator = &text[brace - blanks + line_break..=second];
        Some(Self {
            forward: Finder::new(separator).into_owned(),
            backward: FinderRev::new(separator).into_owned(),
            len: separator.len(),
        })
    }

    /// The position of the brace that opens the event after the last separator in `text`.
    pub(super) fn last_event(&self, text: &[u8]) -> Option<usize> {
        self.backward.rfind(text).map(|at| at + self.len - 1)
    }

    /// The position of the brace that opens the event after the first separator at or after `at`.
    pub(super) fn next_event(&self, text: &[u8], at: usize) -> Option<usize> {
        self.forward.find(&text[at..]).map(|found| at + found + self.len - 1)
    }
}

/// The next brace that could open an event after `at`, where there is no layout to go by: one that follows a closing brace and
/// a comma and is followed by a quote.
pub(super) fn next_likely_event(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr(b'}', text.get(at..)?)?;
        let comma = skip_space(text, at + 1);
        let brace = skip_space(text, comma + 1);
        let quote = skip_space(text, brace + 1);
        if text.get(comma) == Some(&b',') && text.get(brace) == Some(&b'{') && text.get(quote) == Some(&b'"') {
            return Some(brace);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kineto_is_cut_at_its_separator() {
        let text = b"[\n  {\n    \"a\": 1\n  },\n  {\n    \"b\": {\n      \"c\": 2\n    }\n  },\n  {}\n]";
        let layout = Layout::learn(text, 1).unwrap();
        assert_eq!(layout.len, b"\n  },\n  {".len());
        assert_eq!(layout.next_event(text, 4), Some(24));
        assert_eq!(layout.last_event(text).map(|at| &text[at..]), Some(&b"{}\n]"[..]));
    }

    #[test]
    fn compact_json_has_no_layout() {
        assert!(Layout::learn(br#"[{"a": 1}, {"b": 2}]"#, 1).is_none());
        assert_eq!(next_likely_event(br#"{"a": {"x": 1}}, {"b": 2}]"#, 1), Some(17));
    }
}
