//! Events of one writer look alike: the same keys in the same order with the same blanks between them.
//!
//! A *shape* is an event with its values taken out: what stands before each value, letter by letter, phase and category
//! included. Text that fits a known shape is read by comparing those letters and looking only at the values; anything else is
//! read key by key, and its shape learnt. Either way gives the same event.

use super::event::{Broken, Field, RawEvent, fields, parse};
use super::scan::{Mode, value_end};

/// Shapes kept for a stretch. A writer has one for each category and a few for flows and counters.
const SHAPES_MAX: usize = 24;

/// A value and the text before it. Phase and category are part of that text and no values of their own.
#[derive(Debug)]
struct Part {
    before: Vec<u8>,
    field: Field,
}

#[derive(Debug)]
struct Shape {
    phase: u8,
    /// Where the category lies in the text before the first value; empty if there is none.
    category: std::ops::Range<usize>,
    parts: Vec<Part>,
    after: Vec<u8>,
}

/// The shapes met so far, the one used last in front.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    known: Vec<Shape>,
}

impl Shapes {
    /// Reads the event that opens at `at`, strictly, and returns where it ends.
    pub(super) fn parse<'a>(&mut self, text: &'a [u8], at: usize) -> Result<(RawEvent<'a>, usize), Broken> {
        for tried in 0..self.known.len() {
            if let Some(read) = self.known[tried].read(text, at) {
                if tried > 0 {
                    self.known[..=tried].rotate_right(1);
                }
                return Ok(read);
            }
        }
        let read = parse(text, at, Mode::Strict)?;
        if self.known.len() < SHAPES_MAX
            && let Some(shape) = Shape::learn(text, at, read.1)
        {
            self.known.insert(0, shape);
        }
        Ok(read)
    }
}

impl Shape {
    /// The shape of the event from `at` to `end`; none if a key is unknown or comes twice, or the category comes after a value.
    fn learn(text: &[u8], at: usize, end: usize) -> Option<Self> {
        let mut shape = Self { phase: 0, category: 0..0, parts: Vec::new(), after: Vec::new() };
        let mut from = at;
        for (field, value) in fields(text, at)? {
            match field {
                Field::Phase if shape.parts.is_empty() => shape.phase = *text.get(value.start + 1)?,
                Field::Category if shape.parts.is_empty() => shape.category = value.start - at..value.end - at,
                Field::Phase | Field::Category | Field::Other => return None,
                _ => {
                    shape.parts.push(Part { before: text[from..value.start].to_vec(), field });
                    from = value.end;
                }
            }
        }
        shape.after = text[from..end].to_vec();
        (shape.phase != 0 && !shape.parts.is_empty()).then_some(shape)
    }

    fn read<'a>(&self, text: &'a [u8], start: usize) -> Option<(RawEvent<'a>, usize)> {
        let mut event = RawEvent { phase: self.phase, ..RawEvent::default() };
        let mut at = start;
        for part in &self.parts {
            if !text[at..].starts_with(&part.before) {
                return None;
            }
            let value = at + part.before.len();
            at = match text.get(value)? {
                b'0'..=b'9' => value + text[value..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count(),
                _ => value_end(text, value, Mode::Strict, &mut event.controls)?,
            };
            event.set(part.field, &text[value..at]);
        }
        if !text[at..].starts_with(&self.after) {
            return None;
        }
        event.category = &text[start + self.category.start..start + self.category.end];
        Some((event, at + self.after.len()))
    }
}

#[cfg(test)]
mod tests {
    use rankscope_testkit::{Dialect, Job};

    use super::*;

    #[test]
    fn shaped_or_not_an_event_reads_the_same() {
        for (name, dialect) in Dialect::all() {
            let text = Job { ranks: 1, steps: 1, odd_names: true, ..Job::default() }.rank_bytes(0, &dialect);
            let events = memchr::memmem::find(&text, b"traceEvents").unwrap_or(0);
            let mut shapes = Shapes::default();
            let mut at = events + text[events..].iter().position(|byte| *byte == b'[').unwrap() + 1;
            let mut count = 0;
            while let Some(open) = text[at..].iter().position(|byte| matches!(byte, b'{' | b']')).map(|found| at + found) {
                if text[open] == b']' {
                    break;
                }
                let (shaped, plain) = (shapes.parse(&text, open), parse(&text, open, Mode::Strict));
                assert_eq!(shaped, plain, "{name} at {open}");
                at = plain.unwrap().1;
                count += 1;
            }
            // Keys in reverse put the category last, and such events are read key by key.
            let has_shapes = !shapes.known.is_empty() || name.contains("reversed");
            assert!(count > 100 && has_shapes, "{name}: {count} events, {} shapes", shapes.known.len());
        }
    }
}
