//! Values that become text: [`Formatted`] for `%value` and `?value` in the macros, [`ShortText`] for what always fits.
//!
//! Nothing is formatted unless it is recorded. What is short is formatted on the stack; only what is longer than
//! [`INLINE_BYTES`] takes heap.

use std::fmt::{self, Debug, Display, Write};
use std::time::Duration;

use crate::value::{ToValue, Value};

/// Longer texts take heap.
const INLINE_BYTES: usize = 120;

/// A value as text, made where an argument is written.
#[derive(Debug)]
pub struct Formatted {
    inline: [u8; INLINE_BYTES],
    len: usize,
    /// The whole text, once it was too long.
    spilled: String,
}

impl Formatted {
    /// As `{}` shows it.
    pub fn display(value: &(impl Display + ?Sized)) -> Self {
        Self::of(format_args!("{value}"))
    }

    /// As `{:?}` shows it.
    pub fn debug(value: &(impl Debug + ?Sized)) -> Self {
        Self::of(format_args!("{value:?}"))
    }

    fn of(text: fmt::Arguments<'_>) -> Self {
        let mut made = Self { inline: [0; INLINE_BYTES], len: 0, spilled: String::new() };
        // What a formatter wrote before it failed is kept: the program goes on, and so does the recording.
        let _ = made.write_fmt(text);
        made
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        if self.spilled.is_empty() { text_of(&self.inline[..self.len]) } else { &self.spilled }
    }
}

impl Write for Formatted {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !self.spilled.is_empty() {
            self.spilled.push_str(text);
        } else if let Some(room) = self.inline.get_mut(self.len..self.len + text.len()) {
            room.copy_from_slice(text.as_bytes());
            self.len += text.len();
        } else {
            self.spilled = [text_of(&self.inline[..self.len]), text].concat();
        }
        Ok(())
    }
}

impl ToValue for Formatted {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self.as_str())
    }
}

/// The only bytes here are those of whole texts.
fn text_of(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// So much fits beside a length into the two words every [`Value`] has.
const SHORT_BYTES: usize = 15;

/// A text of up to 15 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ShortText {
    bytes: [u8; SHORT_BYTES],
    len: u8,
}

impl ShortText {
    pub(crate) fn of_duration(duration: Duration) -> Self {
        // Exact below ten thousand seconds; beyond that to the millisecond, then to the second.
        let forms = [format_args!("{duration:?}"), format_args!("{duration:.3?}"), format_args!("{duration:.0?}")];
        let short = forms.into_iter().find_map(|form| Self::of(form).ok());
        short.or_else(|| Self::of(format_args!("{:.1e}s", duration.as_secs_f64())).ok()).unwrap_or(Self::EMPTY)
    }

    pub(crate) fn of_char(character: char) -> Self {
        Self::of(format_args!("{character}")).unwrap_or(Self::EMPTY)
    }

    const EMPTY: Self = Self { bytes: [0; SHORT_BYTES], len: 0 };

    fn of(text: fmt::Arguments<'_>) -> Result<Self, fmt::Error> {
        let mut made = Self::EMPTY;
        made.write_fmt(text)?;
        Ok(made)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        text_of(&self.bytes[..usize::from(self.len)])
    }
}

impl Write for ShortText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let start = usize::from(self.len);
        let end = start + text.len();
        self.bytes.get_mut(start..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end as u8;
        Ok(())
    }
}

impl Debug for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_formatted_value_reads_as_the_standard_library_formats_it(parts in prop::collection::vec("\\PC{0,60}", 0..6)) {
            struct InParts<'a>(&'a [String]);
            impl Display for InParts<'_> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.0.iter().try_for_each(|part| f.write_str(part))
                }
            }
            let (formatted, expected) = (Formatted::display(&InParts(&parts)), parts.concat());
            prop_assert_eq!(formatted.as_str(), expected);
            let (formatted, expected) = (Formatted::debug(&parts), format!("{parts:?}"));
            prop_assert_eq!(formatted.as_str(), expected);
        }

        #[test]
        fn a_duration_below_ten_thousand_seconds_is_exact(ns in 0_u64..10_000_000_000_000) {
            let duration = Duration::from_nanos(ns);
            let (short, expected) = (ShortText::of_duration(duration), format!("{duration:?}"));
            prop_assert_eq!(short.as_str(), expected);
        }

        #[test]
        fn every_duration_has_a_text_with_its_unit(seconds: u64, ns in 0_u32..1_000_000_000) {
            let short = ShortText::of_duration(Duration::new(seconds, ns));
            prop_assert!(short.as_str().ends_with('s'), "{short:?}");
        }
    }
}
