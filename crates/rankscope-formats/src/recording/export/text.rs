//! Pieces of JSON text, appended to a buffer: strings, whole numbers, stamps.
//!
//! Stamps are microseconds with exactly three decimals, made of integers. Whatever a string holds, it comes back as it was when
//! the text is parsed; bytes that are no UTF-8 have been replaced before they get here.

use crate::recording::json::{hex_digit, is_json};

pub(super) use crate::recording::json::quote as quoted;

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// A whole number.
pub(super) fn unsigned(text: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    while value >= 100 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        let pair = value as usize * 2;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        digits[at] = b'0' + value as u8;
    }
    text.extend_from_slice(&digits[at..]);
}

/// A whole number with its sign.
pub(super) fn signed(text: &mut Vec<u8>, value: i64) {
    if value < 0 {
        text.push(b'-');
    }
    unsigned(text, value.unsigned_abs());
}

/// Any number. JSON has no word for those that are not finite: they become strings.
pub(super) fn real(text: &mut Vec<u8>, value: f64) {
    let shown = if value.is_finite() { format!("{value:?}") } else { format!("\"{value}\"") };
    text.extend_from_slice(shown.as_bytes());
}

/// Nanoseconds as microseconds.
pub(super) fn micros(text: &mut Vec<u8>, ns: i64) {
    if ns < 0 {
        text.push(b'-');
    }
    let ns = ns.unsigned_abs();
    unsigned(text, ns / 1_000);
    let rest = (ns % 1_000) as usize;
    let pair = rest % 100 * 2;
    text.extend_from_slice(&[b'.', b'0' + (rest / 100) as u8, PAIRS[pair], PAIRS[pair + 1]]);
}

/// JSON text as it is, or as a string where it is none or nests too deep to be read back. Line breaks between its parts become
/// blanks: readers take one for the end of an event.
pub(super) fn json(text: &mut Vec<u8>, json: &str) {
    if is_json(json) {
        text.extend(json.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
    } else {
        quoted(text, json);
    }
}

/// Bytes as a string of hexadecimal digits.
pub(super) fn hex(text: &mut Vec<u8>, bytes: &[u8]) {
    text.extend(bytes.iter().flat_map(|byte| [hex_digit(byte >> 4), hex_digit(byte & 15)]));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use serde_json::Value;

    use super::*;

    fn made(make: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut text = Vec::new();
        make(&mut text);
        String::from_utf8(text).unwrap()
    }

    proptest! {
        #[test]
        fn numbers_read_as_the_library_writes_them(number: i64, natural: u64) {
            prop_assert_eq!(made(|text| signed(text, number)), number.to_string());
            prop_assert_eq!(made(|text| unsigned(text, natural)), natural.to_string());
        }

        #[test]
        fn stamps_keep_every_nanosecond(ns: i64) {
            let shown = made(|text| micros(text, ns));
            let (whole, decimals) = shown.split_once('.').unwrap();
            prop_assert_eq!(decimals.len(), 3);
            prop_assert_eq!(format!("{whole}{decimals}").parse::<i128>().unwrap(), i128::from(ns));
        }

        /// Through a double, as most parsers read them, for all stamps the base grid allows.
        #[test]
        fn stamps_in_the_window_survive_a_double(ns in 0_i64..7_889_238 * 1_000_000_000) {
            let read: f64 = made(|text| micros(text, ns)).parse().unwrap();
            prop_assert_eq!(read.trunc() as i64 * 1_000 + (read.fract() * 1_000.0).round() as i64, ns);
        }

        /// What is JSON keeps its meaning, what is none becomes a string, and both are one line.
        #[test]
        fn json_or_a_string_of_it(string in "\\PC*|[\\[\\]{}\",:0-9a-z \n]{0,12}") {
            let shown = made(|text| json(text, &string));
            let read: Value = serde_json::from_str(&shown).unwrap();
            let meant = serde_json::from_str::<Value>(&string).unwrap_or_else(|_| Value::from(string.as_str()));
            prop_assert_eq!(read, meant);
            prop_assert!(!shown.contains('\n'));
        }
    }

    #[test]
    fn what_parsers_refuse_is_a_string() {
        let deep = format!("{}{}", "[".repeat(101), "]".repeat(101));
        for odd in ["1e999", "\"\\ud800\"", "[1,]", "", "nul", &deep] {
            assert_eq!(serde_json::from_str::<String>(&made(|text| json(text, odd))).unwrap(), odd);
        }
        assert_eq!(made(|text| json(text, "[1,\n 2]")), "[1,  2]");
        assert_eq!(made(|text| real(text, f64::NAN)), "\"NaN\"");
        assert_eq!(made(|text| hex(text, &[0, 0xaf])), "00af");
    }
}
