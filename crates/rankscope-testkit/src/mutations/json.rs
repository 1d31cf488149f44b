//! Changes to JSON: values become values of other types, members come twice, go, swap places and get each other's keys. What was JSON is JSON
//! afterwards.
//!
//! Values are found by their brackets, quotes and commas, so that text with JSON in it, one document behind the other, and what another change
//! has damaged are changed as far as they can be read.

use std::ops::Range;

use super::pick;
use crate::Rng;

/// Where values stand.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    /// With its key, if it has one.
    item: Range<usize>,
    value: Range<usize>,
    /// Whether it is a member of an object or an element of a list; else it stands by itself.
    is_within: bool,
}

/// Values that are the edge of something.
const ODD: [&str; 24] = [
    "null",
    "true",
    "false",
    "0",
    "-0.0",
    "-1",
    "1e400",
    "-1e-400",
    "0.000000001",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "1234567890123456789012345678901234567890",
    "\"\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"NaN\"",
    "\"1\"",
    "[]",
    "{}",
    "[[]]",
    "{\"a\":{}}",
    "[null,1,\"x\"]",
];

/// `bytes` with a change; none where no value is found in them.
pub(super) fn changed(bytes: &[u8], other: &[u8], rng: &mut Rng) -> Option<Vec<u8>> {
    let places = places(bytes);
    let Place { item, value, is_within } = pick(&places, rng)?.clone();
    let put = |at: Range<usize>, piece: &[u8]| [&bytes[..at.start], piece, &bytes[at.end..]].concat();
    let lent = |from: &[u8], rng: &mut Rng| Some(from[pick(&self::places(from), rng)?.value.clone()].to_vec());
    Some(match rng.below(8) {
        0 => put(value, pick(&ODD, rng)?.as_bytes()),
        1 => put(value.clone(), &lent(bytes, rng)?),
        2 => put(value.clone(), &lent(other, rng).unwrap_or_default()),
        3 if is_within => {
            let again = [b",", &bytes[item.clone()]].concat().repeat(1 << rng.below(7));
            put(item.end..item.end, &again)
        }
        4 if is_within => put(with_comma(bytes, item), b""),
        5 => swapped(bytes, value, pick(&places, rng)?.value.clone()),
        6 => put(key(&item, &value), &bytes[pick(&places, rng).map(|place| key(&place.item, &place.value))?]),
        _ => {
            let (opening, closing) = if rng.below(2) == 0 { ("[", "]") } else { ("{\"args\":", "}") };
            let times = 1 << rng.below(9);
            put(value.clone(), &[opening.repeat(times).as_bytes(), &bytes[value], closing.repeat(times).as_bytes()].concat())
        }
    })
}

/// What stands before a value and belongs to it, the colon included.
fn key(item: &Range<usize>, value: &Range<usize>) -> Range<usize> {
    item.start..value.start
}

/// `item` with the comma behind it, or before it if there is none.
fn with_comma(bytes: &[u8], item: Range<usize>) -> Range<usize> {
    let is_space = |byte: &u8| byte.is_ascii_whitespace();
    let behind = item.end + bytes[item.end..].iter().take_while(|byte| is_space(byte)).count();
    if bytes.get(behind) == Some(&b',') {
        return item.start..behind + 1;
    }
    let before = item.start - bytes[..item.start].iter().rev().take_while(|byte| is_space(byte)).count();
    if before > 0 && bytes[before - 1] == b',' { before - 1..item.end } else { item }
}

/// The two values in each other's places; one that holds the other takes its place.
fn swapped(bytes: &[u8], one: Range<usize>, other: Range<usize>) -> Vec<u8> {
    let (first, second) = if one.start <= other.start { (one, other) } else { (other, one) };
    if second.start < first.end {
        return [&bytes[..first.start], &bytes[second], &bytes[first.end..]].concat();
    }
    [&bytes[..first.start], &bytes[second.clone()], &bytes[first.end..second.start], &bytes[first], &bytes[second.end..]]
        .concat()
}

/// A bracket that is open.
struct Open {
    /// Where the item that the bracket begins stands, and the bracket.
    item: usize,
    value: usize,
    is_within: bool,
}

/// All values of `bytes`, as far as they can be read.
fn places(bytes: &[u8]) -> Vec<Place> {
    let (mut places, mut open, mut at): (Vec<Place>, Vec<Open>, usize) = (Vec::new(), Vec::new(), 0);
    // Where the item begins that is being read, if its key has been.
    let mut keyed = None;
    while let Some(byte) = bytes.get(at) {
        let item = keyed.unwrap_or(at);
        let is_within = !open.is_empty();
        match byte {
            b'{' | b'[' => {
                open.push(Open { item, value: at, is_within });
                (keyed, at) = (None, at + 1);
            }
            b'}' | b']' => {
                if let Some(Open { item, value, is_within }) = open.pop() {
                    places.push(Place { item: item..at + 1, value: value..at + 1, is_within });
                }
                (keyed, at) = (None, at + 1);
            }
            b'"' => {
                let end = end_of_text(bytes, at);
                let next = end + bytes[end..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                if bytes.get(next) == Some(&b':') {
                    (keyed, at) = (Some(at), next + 1);
                } else {
                    places.push(Place { item: item..end, value: at..end, is_within });
                    (keyed, at) = (None, end);
                }
            }
            byte if is_of_word(*byte) => {
                let end = at + bytes[at..].iter().take_while(|byte| is_of_word(**byte)).count();
                places.push(Place { item: item..end, value: at..end, is_within });
                (keyed, at) = (None, end);
            }
            b',' => (keyed, at) = (None, at + 1),
            _ => at += 1,
        }
    }
    places
}

/// Behind the quote that closes the text that begins at `at`, or the end.
fn end_of_text(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'"' => return end + 1,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    bytes.len()
}

/// Whether it is part of a number, or of a word such as null.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: &str = r#"{"schemaVersion": 1, "traceEvents": [{"ph": "X", "ts": 1.5, "args": {"a": [1, 2], "b\"": "c:,}"}}, {"ph": "M"}, null], "e": []}"#;

    #[test]
    fn every_value_is_found_where_it_stands() {
        let told: Vec<&str> = places(SEED.as_bytes()).into_iter().map(|place| &SEED[place.item]).collect();
        assert_eq!(
            told,
            [
                r#""schemaVersion": 1"#,
                r#""ph": "X""#,
                r#""ts": 1.5"#,
                "1",
                "2",
                r#""a": [1, 2]"#,
                r#""b\"": "c:,}""#,
                r#""args": {"a": [1, 2], "b\"": "c:,}"}"#,
                r#"{"ph": "X", "ts": 1.5, "args": {"a": [1, 2], "b\"": "c:,}"}}"#,
                r#""ph": "M""#,
                r#"{"ph": "M"}"#,
                "null",
                r#""traceEvents": [{"ph": "X", "ts": 1.5, "args": {"a": [1, 2], "b\"": "c:,}"}}, {"ph": "M"}, null]"#,
                r#""e": []"#,
                SEED
            ]
        );
    }

    #[test]
    fn what_was_changed_is_json_still_but_for_keys_in_lists() {
        let (mut rng, mut all, mut good) = (Rng::new(5), std::collections::HashSet::new(), 0);
        for _ in 0..4_000 {
            let changed = changed(SEED.as_bytes(), SEED.as_bytes(), &mut rng).expect("there are values");
            good += usize::from(serde_json::from_slice::<serde_json::Value>(&changed).is_ok());
            all.insert(changed);
        }
        assert!(all.len() > 700, "{}", all.len());
        assert!(good > 3_400, "{good}");
    }

    #[test]
    fn what_is_broken_is_changed_as_far_as_it_can_be_read() {
        let mut rng = Rng::new(5);
        for broken in [r#"{"a": [1, {"b": "c"#, "]}]} 1", "{\"a\" 1,, \"\\", "::::"] {
            for _ in 0..200 {
                changed(broken.as_bytes(), SEED.as_bytes(), &mut rng);
            }
        }
        assert_eq!(changed(b"::::", b"", &mut rng), None);
    }
}
