//! [`Indented`]: the white space of serde_json's pretty text, each line's in one piece.
//!
//! A report of a large job has a line for every rank's part in every collective, and serde_json writes two spaces at a time. Nothing
//! else is different, to the byte.

use std::io;

use serde_json::ser::Formatter;

/// Two spaces for each list or object that a line is in.
#[derive(Debug, Default)]
pub(super) struct Indented {
    depth: usize,
    /// Whether the list or object at hand has anything in it.
    has_value: bool,
}

/// How a line ends and the next one begins, as deep as documents go.
const NEXT_LINE: &[u8] = b",\n                                ";
const DEPTH_MAX: usize = (NEXT_LINE.len() - 2) / 2;

impl Indented {
    fn begin<W: ?Sized + io::Write>(&mut self, to: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.has_value = false;
        to.write_all(bracket)
    }

    fn end<W: ?Sized + io::Write>(&mut self, to: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.has_value {
            self.next_line(to, true)?;
        }
        to.write_all(bracket)
    }

    /// Begins a line; behind a comma unless it is the `first`.
    fn next_line<W: ?Sized + io::Write>(&self, to: &mut W, first: bool) -> io::Result<()> {
        to.write_all(&NEXT_LINE[usize::from(first)..2 + 2 * self.depth.min(DEPTH_MAX)])?;
        (DEPTH_MAX..self.depth).try_for_each(|_| to.write_all(b"  "))
    }
}

impl Formatter for Indented {
    fn begin_array<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(to, b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, b"]")
    }

    #[inline]
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.next_line(to, first)
    }

    #[inline]
    fn end_array_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(to, b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, b"}")
    }

    #[inline]
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.next_line(to, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::{Serializer, Value, json};

    use super::*;

    #[test]
    fn the_text_is_the_one_of_serde_json_however_deep() {
        let mut value = json!({"a": [], "b": {}, "c": [1, -2, 3.5, null, "x\ny", [[]]], "d": {"e": [{}, {"f": true}]}});
        for depth in 0..40 {
            let mut text = Vec::new();
            value.serialize(&mut Serializer::with_formatter(&mut text, Indented::default())).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), serde_json::to_string_pretty(&value).unwrap());
            value = if depth % 2 == 0 { Value::Array(vec![json!([]), value]) } else { json!({"g": value, "h": {}}) };
        }
    }
}
