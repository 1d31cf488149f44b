//! How long lists are written into a page: integers packed into text, and records without their keys.
//!
//! Integers are differences, each from the last one that is known, as bytes of seven bits (LEB128), in base64. That is a third of what their
//! digits take, the browser needs a dozen lines to read it (`web/js/pure/packed.js`), and it waits for nothing. Nothing here knows what is in
//! a list, and nothing decides how much of it a page has; that is `budget.rs`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use rankscope_document::Value;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Integers as text; some may be absent.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Packed {
    /// Every one as it is.
    Exact(String),
    /// To three digits, as many as a page shows of a time.
    Brief(String),
}

/// Whether every digit is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Digits {
    All,
    Three,
}

impl Packed {
    pub(super) fn of(values: impl IntoIterator<Item = Option<i64>>, digits: Digits) -> Self {
        match digits {
            Digits::All => Self::Exact(text(values.into_iter())),
            Digits::Three => Self::Brief(text(values.into_iter().map(|value| value.map(brief)))),
        }
    }

    /// All of them, as they are.
    pub(super) fn exact(values: impl IntoIterator<Item = i64>) -> Self {
        Self::of(values.into_iter().map(Some), Digits::All)
    }

    /// Places in lists and numbers of things.
    pub(super) fn counts(values: impl IntoIterator<Item = usize>) -> Self {
        Self::exact(values.into_iter().map(|value| i64::try_from(value).unwrap_or(i64::MAX)))
    }

    /// Numbers of ranks.
    pub(super) fn ranks(values: impl IntoIterator<Item = u32>) -> Self {
        Self::exact(values.into_iter().map(i64::from))
    }
}

/// Zero stands for what is absent; a difference `d` is `2d + 1`, or `-2d` below zero.
fn text(values: impl Iterator<Item = Option<i64>>) -> String {
    let mut bytes = Vec::new();
    let mut known = 0_i128;
    for value in values {
        let symbol = value.map_or(0, |value| {
            let difference = i128::from(value) - known;
            known = i128::from(value);
            if difference < 0 { -2 * difference } else { 2 * difference + 1 }
        });
        leb128(symbol.unsigned_abs(), &mut bytes);
    }
    BASE64_STANDARD_NO_PAD.encode(bytes)
}

fn leb128(mut symbol: u128, bytes: &mut Vec<u8>) {
    while symbol > 0x7f {
        bytes.push((symbol & 0x7f) as u8 | 0x80);
        symbol >>= 7;
    }
    bytes.push(symbol as u8);
}

/// A number for every value of at most three digits and zeros behind them, in the order of the values: below a thousand the value, then 900
/// for every power of ten.
fn brief(value: i64) -> i64 {
    let size = value.unsigned_abs();
    let number = match size.checked_ilog10() {
        Some(power @ 3..) => {
            let unit = 10_u64.pow(power - 2);
            let digits = size / unit + u64::from(size % unit >= unit / 2);
            // 9,995 is 1,000 tens, which is the first of the next power.
            i64::from(power - 3) * 900 + 900 + digits as i64
        }
        _ => size as i64,
    };
    if value < 0 { -number } else { number }
}

/// Records of one sort: their keys once, then what each has under them.
#[derive(Debug, PartialEq)]
pub(crate) struct Rows<T>(pub(crate) Vec<T>);

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> FromIterator<T> for Rows<T> {
    fn from_iter<I: IntoIterator<Item = T>>(records: I) -> Self {
        Self(records.into_iter().collect())
    }
}

/// `T` is a struct that always has all of its keys.
impl<T: Serialize> Serialize for Rows<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let values = |record: &T| match Value::of(record) {
            Value::Object(entries) => entries.into_iter().map(|(_, value)| value).collect(),
            other => vec![other],
        };
        let mut map = to.serialize_map(Some(2))?;
        map.serialize_entry("keys", &self.0.first().map(Value::keys).unwrap_or_default())?;
        map.serialize_entry("rows", &self.0.iter().map(values).collect::<Vec<_>>())?;
        map.end()
    }
}

/// Texts that occur often, each once; lists have their places.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    texts: Vec<&'a str>,
    places: std::collections::HashMap<&'a str, usize>,
}

impl<'a> Names<'a> {
    /// The place of `text`.
    pub(super) fn place(&mut self, text: &'a str) -> usize {
        *self.places.entry(text).or_insert_with(|| {
            self.texts.push(text);
            self.texts.len() - 1
        })
    }

    pub(super) fn into_texts(self) -> Vec<&'a str> {
        self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(packed: &Packed) -> Vec<u8> {
        let (Packed::Exact(text) | Packed::Brief(text)) = packed;
        BASE64_STANDARD_NO_PAD.decode(text).unwrap()
    }

    #[test]
    fn integers_are_differences_of_seven_bits() {
        assert_eq!(bytes(&Packed::of([Some(5), None, Some(4), Some(4)], Digits::All)), [11, 0, 2, 1]);
        assert_eq!(bytes(&Packed::exact([64])), [0x81, 1]);
        let extremes = Packed::exact([i64::MIN, i64::MAX]);
        assert_eq!(bytes(&extremes).len(), 20, "no difference overflows");
    }

    #[test]
    fn three_digits_are_rounded_and_keep_their_order() {
        assert_eq!(
            [0, 7, 999, 1_000, 1_004, 1_005, 9_994, 9_995, 10_049].map(brief),
            [0, 7, 999, 1_000, 1_000, 1_001, 1_899, 1_900, 1_900]
        );
        assert_eq!(brief(-1_000), -1_000);
        let sizes = (0..=63).map(|power| (1_u64 << power).min(i64::MAX as u64) as i64).map(brief);
        assert!(sizes.collect::<Vec<_>>().is_sorted());
        assert_eq!(brief(i64::MIN), -brief(i64::MAX));
    }

    #[test]
    fn records_have_their_keys_once() {
        #[derive(serde::Serialize)]
        struct Record {
            a: u32,
            b: Option<&'static str>,
        }
        let rows: Rows<Record> = [Record { a: 1, b: None }, Record { a: 2, b: Some("x") }].into_iter().collect();
        assert_eq!(serde_json::to_string(&rows).unwrap(), r#"{"keys":["a","b"],"rows":[[1,null],[2,"x"]]}"#);
        assert_eq!(serde_json::to_string(&Rows::<Record>::default()).unwrap(), r#"{"keys":[],"rows":[]}"#);
    }
}
