//! Text from files, made safe for a terminal.
//!
//! Names, paths and sentences come out of files that other people wrote. A character that moves the cursor, reorders what follows
//! or forges a line is written as its number, `\u001b`: it harms nobody, is still told exactly, and in JSON means the same.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::text::steers;

/// One line, whatever `text` holds.
pub fn one_line(text: &str) -> String {
    escaped(text, |_| false)
}

/// Several lines, in cells set apart by tabs, and with `color` in our own colours.
pub fn lines(text: &str, color: bool) -> String {
    if !color {
        return escaped(text, |c| matches!(c, '\n' | '\t'));
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        plain += &escaped(&rest[..at], |c| matches!(c, '\n' | '\t'));
        let length = sgr(&rest[at..]).unwrap_or(0);
        plain += &rest[at..at + length];
        rest = &rest[at + length..];
        if length == 0 {
            plain += "\\u001b";
            rest = &rest[1..];
        }
    }
    plain + &escaped(rest, |c| matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, keeps: impl Fn(char) -> bool) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) && !keeps(c) {
            // All that steer are in the first plane, so the number has four digits. A String takes any write.
            let _ = write!(plain, "\\u{:04x}", u32::from(c));
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Makes safe what is written through it, as [`lines`] does without colours, and keeps none of it.
#[derive(Debug)]
pub struct Plain<W> {
    to: W,
    /// What came of a character whose rest is still to come.
    cut: Vec<u8>,
}

impl<W: Write> Plain<W> {
    /// Writes to `to`.
    pub fn new(to: W) -> Self {
        Self { to, cut: Vec::new() }
    }
}

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.cut.is_empty() && are_plain(bytes) {
            self.to.write_all(bytes)?;
            return Ok(bytes.len());
        }
        self.cut.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.cut) {
            Ok(text) => text,
            Err(error) if error.error_len().is_some() => return Err(io::ErrorKind::InvalidData.into()),
            Err(error) => std::str::from_utf8(&self.cut[..error.valid_up_to()]).unwrap_or_default(),
        };
        let length = whole.len();
        self.to.write_all(escaped(whole, |c| matches!(c, '\n' | '\t')).as_bytes())?;
        self.cut.drain(..length);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Whether nothing of `bytes` is more than a letter, an end of a line or a tab.
fn are_plain(bytes: &[u8]) -> bool {
    let plain = |all: bool, byte: &u8| all & (matches!(byte, b' '..=b'~') | (*byte == b'\n') | (*byte == b'\t'));
    bytes.chunks(RUN).all(|run| run.iter().fold(true, plain))
}

/// So many bytes are looked at without a thought in between.
const RUN: usize = 256;

/// How long the change of colour is that `text` begins with.
fn sgr(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters[end..].starts_with('m').then_some(end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_gets_through() {
        let hostile: String = (0..0x3000).filter_map(char::from_u32).collect();
        for (plain, kept) in [(one_line(&hostile), 0), (lines(&hostile, false), 2), (lines(&hostile, true), 2)] {
            assert_eq!(plain.chars().filter(|c| steers(*c)).count(), kept);
        }
        assert_eq!(one_line("a\u{1b}]0;t\u{7}\nb\u{202e}"), "a\\u001b]0;t\\u0007\\u000ab\\u202e");
    }

    #[test]
    fn colours_are_kept_where_there_are_any_and_other_sequences_never() {
        assert_eq!(lines("\u{1b}[1;33mlate\u{1b}[0m\n", true), "\u{1b}[1;33mlate\u{1b}[0m\n");
        assert_eq!(lines("\u{1b}[33mlate", false), "\\u001b[33mlate");
        for sequence in ["\u{1b}[2J", "\u{1b}]0;title\u{7}", "\u{1b}[", "\u{1b}[1", "\u{1b}\u{1b}[3A"] {
            assert!(!lines(sequence, true).contains('\u{1b}'), "{sequence:?}");
        }
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({ "na\u{7f}me": "\u{1b}[2J\u{9b}\u{202e}\n" });
        let plain = lines(&serde_json::to_string_pretty(&value).unwrap(), false);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&plain).unwrap(), value);
        assert!(!plain.contains(['\u{7f}', '\u{9b}', '\u{202e}']));
    }
    #[test]
    fn what_is_written_in_pieces_is_made_as_safe_as_the_whole() {
        let text: String = (0..0x3000).chain(0x1f600..0x1f640).filter_map(char::from_u32).collect();
        for length in [1, 2, 3, 7, text.len()] {
            let mut written = Plain::new(Vec::new());
            text.as_bytes().chunks(length).for_each(|piece| written.write_all(piece).unwrap());
            assert!(written.cut.is_empty() && written.to == lines(&text, false).into_bytes(), "in pieces of {length}");
        }
        assert!(Plain::new(Vec::new()).write_all(b"\xff").is_err());
    }
}
