//! A place in a JSON text that moves forward only: into objects and arrays, over values or past them.
//!
//! It holds a window of the text and refuses a value that does not fit the largest one. Whoever asks for a value parses it.

use std::io::{self, Read};

use crate::json::scan::{Mode, skip_space, value_end};

/// Text is read in steps of this size.
const STEP_BYTES: usize = 1 << 20;

/// A value that is read whole is at most this long.
const VALUE_BYTES_MAX: usize = 8 << 20;

/// Why there is no going on.
#[derive(Debug)]
pub(super) enum Stop {
    /// The text ends.
    Cut,
    /// What stands here cannot stand here.
    Malformed,
    /// A value is longer than any that is read.
    TooLong,
    /// The input fails.
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

pub(super) struct Cursor<R> {
    input: R,
    window: Vec<u8>,
    /// Where in the window the cursor is.
    at: usize,
    /// Where in the decompressed file the window starts.
    offset: u64,
    /// Whether the input has nothing more.
    ended: bool,
}

impl<R: Read> Cursor<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, window: Vec::new(), at: 0, offset: 0, ended: false }
    }

    /// Where in the decompressed file it is.
    pub(super) fn position(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// Steps over the mark that some editors put before a text.
    pub(super) fn skip_mark(&mut self) -> Result<(), Stop> {
        self.more()?;
        if self.window.starts_with(b"\xef\xbb\xbf") {
            self.at = 3;
        }
        Ok(())
    }

    /// The next byte that is no space, and the cursor is there.
    pub(super) fn peek(&mut self) -> Result<u8, Stop> {
        loop {
            self.at = skip_space(&self.window, self.at);
            match self.window.get(self.at) {
                Some(byte) => return Ok(*byte),
                None if self.ended => return Err(Stop::Cut),
                None => self.more()?,
            }
        }
    }

    /// Steps over `byte`, which must be next.
    fn expect(&mut self, byte: u8) -> Result<(), Stop> {
        if self.peek()? != byte {
            return Err(Stop::Malformed);
        }
        self.at += 1;
        Ok(())
    }

    /// Hands each key of the object that is next to `member`, which must step over the value.
    pub(super) fn object(&mut self, mut member: impl FnMut(&mut Self, &str) -> Result<(), Stop>) -> Result<(), Stop> {
        self.list(b'{', b'}', |cursor| {
            if cursor.peek()? != b'"' {
                return Err(Stop::Malformed);
            }
            let key = serde_json::from_slice::<String>(cursor.value()?).map_err(|_| Stop::Malformed)?;
            cursor.expect(b':')?;
            member(cursor, &key)
        })
    }

    /// Calls `element` at each element of the array that is next; it must step over it.
    pub(super) fn array(&mut self, element: impl FnMut(&mut Self) -> Result<(), Stop>) -> Result<(), Stop> {
        self.list(b'[', b']', element)
    }

    fn list(&mut self, open: u8, close: u8, mut item: impl FnMut(&mut Self) -> Result<(), Stop>) -> Result<(), Stop> {
        self.expect(open)?;
        if self.peek()? == close {
            return self.expect(close);
        }
        loop {
            item(self)?;
            if self.peek()? == close {
                return self.expect(close);
            }
            self.expect(b',')?;
        }
    }

    /// The text of the value that is next, and the cursor is behind it.
    pub(super) fn value(&mut self) -> Result<&[u8], Stop> {
        self.peek()?;
        let end = loop {
            match value_end(&self.window, self.at, Mode::Strict, &mut 0) {
                Some(end) if end - self.at > VALUE_BYTES_MAX => return Err(Stop::TooLong),
                Some(end) => break end,
                None if self.ended => return Err(self.cut_or_malformed()),
                None if self.window.len() - self.at >= VALUE_BYTES_MAX => return Err(Stop::TooLong),
                None => self.more()?,
            }
        };
        let start = std::mem::replace(&mut self.at, end);
        Ok(&self.window[start..end])
    }

    /// Steps over the value that is next, however long it is. Returns how many elements it has, if it is an array.
    pub(super) fn skip(&mut self) -> Result<u64, Stop> {
        let is_array = match self.peek()? {
            b'[' => true,
            b'{' | b'"' => false,
            _ => return self.value().map(|_| 0),
        };
        let (mut depth, mut in_string, mut escaped, mut commas, mut filled) = (0u64, false, false, 0, false);
        loop {
            while let Some(byte) = self.window.get(self.at) {
                self.at += 1;
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' if in_string => escaped = true,
                    b'"' => (in_string, filled) = (!in_string, true),
                    _ if in_string => {}
                    b'{' | b'[' => (depth, filled) = (depth + 1, filled || depth > 0),
                    b'}' | b']' => depth = depth.saturating_sub(1),
                    b',' if depth == 1 => commas += 1,
                    _ => filled |= byte.is_ascii_alphanumeric(),
                }
                if depth == 0 && !in_string {
                    return Ok(if is_array && filled { commas + 1 } else { 0 });
                }
            }
            if self.ended {
                return Err(Stop::Cut);
            }
            self.more()?;
        }
    }

    /// A value without an end is cut short if the text ends in it.
    fn cut_or_malformed(&self) -> Stop {
        match &self.window[self.at..] {
            [b'"' | b'{' | b'[', ..] => Stop::Cut,
            rest if rest.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+')) => Stop::Cut,
            _ => Stop::Malformed,
        }
    }

    /// Reads on, and forgets what lies behind the cursor.
    fn more(&mut self) -> Result<(), Stop> {
        self.window.drain(..self.at);
        self.offset += std::mem::take(&mut self.at) as u64;
        // A value that is longer than a step is looked at anew with each; doubling keeps that linear.
        let wanted = STEP_BYTES.max(self.window.len()) as u64;
        let got = (&mut self.input).take(wanted).read_to_end(&mut self.window)?;
        self.ended = (got as u64) < wanted;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let len = 1.min(to.len()).min(self.0.len());
            to[..len].copy_from_slice(&self.0[..len]);
            self.0 = &self.0[len..];
            Ok(len)
        }
    }

    #[test]
    fn objects_and_arrays_are_walked_and_values_passed_over() {
        let text = br#" {"a": [1, "x]", {"b": []}], "skip": {"c": "}\"", "d": [[]]} , "none": [ ], "n": -1.5e3}"#;
        let mut seen = Vec::new();
        let mut cursor = Cursor::new(Trickle(text));
        let walked = cursor.object(|cursor, key| {
            match key {
                "a" => cursor.array(|cursor| {
                    seen.push(String::from_utf8(cursor.value()?.to_vec()).unwrap());
                    Ok(())
                })?,
                _ => seen.push(format!("{key} {}", cursor.skip()?)),
            }
            Ok(())
        });
        assert!(walked.is_ok());
        assert_eq!(seen, ["1", "\"x]\"", "{\"b\": []}", "skip 0", "none 0", "n 0"]);
        assert_eq!(cursor.position(), text.len() as u64);
    }

    #[test]
    fn elements_that_are_passed_over_are_counted() {
        for (text, count) in [("[]", 0), ("[ ] ", 0), ("[1]", 1), ("[{}, [1, 2], \",\"]", 3), ("[[]]", 1), ("{\"a\": 1}", 0)] {
            assert_eq!(Cursor::new(text.as_bytes()).skip().unwrap(), count, "{text}");
        }
    }

    #[test]
    fn every_cut_is_told() {
        let text = br#"{"a": [1, {"b": "c"}], "d": true}"#;
        for cut in 0..text.len() {
            let walked = Cursor::new(&text[..cut]).object(|cursor, key| match key {
                "a" => cursor.array(|cursor| cursor.value().map(drop)),
                _ => cursor.skip().map(drop),
            });
            assert!(matches!(walked, Err(Stop::Cut)), "{cut}: {walked:?}");
        }
        let walked = Cursor::new(&b"{1}"[..]).object(|_, _| Ok(()));
        assert!(matches!(walked, Err(Stop::Malformed)));
    }
}
