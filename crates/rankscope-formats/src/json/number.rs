//! Numbers of trace files, read exactly.
//!
//! Stamps are microseconds with decimals. As a float, a stamp relative to Kineto's base still resolves a nanosecond, but an
//! absolute one does not; so the decimal digits go straight into integer nanoseconds and no stamp is ever a float.

/// Nanoseconds from decimal microseconds, rounded to nearest. `None` for what is no number or exceeds an `i64`.
pub(super) fn nanos_of_micros(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        _ => (false, text),
    };
    let at = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // More digits than that exceed an i64 of nanoseconds, or start with zeros no profiler writes.
    if at == 0 || at > 16 {
        return None;
    }
    let whole = digits[..at].iter().fold(0i64, |whole, digit| whole * 10 + i64::from(digit - b'0'));
    let mut nanos = whole.checked_mul(1_000)?;
    match digits.get(at) {
        None => {}
        Some(b'.') => match nanos_of_fraction(&digits[at + 1..]) {
            Some(fraction) => nanos = nanos.checked_add(fraction)?,
            None => return nanos_of_scientific(text),
        },
        Some(_) => return nanos_of_scientific(text),
    }
    Some(if negative { -nanos } else { nanos })
}

/// The digits after the point of a number of microseconds; three, as a rule.
fn nanos_of_fraction(digits: &[u8]) -> Option<i64> {
    if let [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = digits {
        return Some(i64::from(a - b'0') * 100 + i64::from(b - b'0') * 10 + i64::from(c - b'0'));
    }
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |at: usize| digits.get(at).map_or(0, |digit| i64::from(digit - b'0'));
    Some(digit(0) * 100 + digit(1) * 10 + digit(2) + i64::from(digit(3) >= 5))
}

/// `1.5e3` and the like, which no profiler writes for a stamp of today. A float is exact enough below 2^53 ns and refused above.
fn nanos_of_scientific(text: &[u8]) -> Option<i64> {
    let micros: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let nanos = (micros * 1_000.0).round();
    (nanos.abs() < 9_007_199_254_740_992.0).then_some(nanos as i64)
}

/// An unsigned integer, also when it stands in quotes or carries a fraction of zeros.
pub(super) fn unsigned(text: &[u8]) -> Option<u64> {
    let text = unquoted(text);
    let digits = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    if digits == 0 || !matches!(&text[digits..], [] | [b'.', b'0', ..]) {
        return None;
    }
    text[..digits].iter().try_fold(0u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}

/// A signed integer, also when it stands in quotes.
pub(super) fn signed(text: &[u8]) -> Option<i64> {
    match unquoted(text) {
        [b'-', digits @ ..] => i64::try_from(unsigned(digits)?).ok().map(|value| -value),
        digits => i64::try_from(unsigned(digits)?).ok(),
    }
}

/// The text between quotes, or the text itself.
pub(super) fn unquoted(text: &[u8]) -> &[u8] {
    match text {
        [b'"', inner @ .., b'"'] => inner,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn micros_become_nanos_exactly() {
        for (text, nanos) in [
            ("4356528937267.615", 4_356_528_937_267_615),
            ("1606910596297023", 1_606_910_596_297_023_000),
            ("68.0", 68_000),
            ("-0.5", -500),
            ("1.0004", 1_000),
            ("1.0005", 1_001),
            ("0.0419999", 42),
            ("1.5e3", 1_500_000),
            ("7.", 7_000),
        ] {
            assert_eq!(nanos_of_micros(text.as_bytes()), Some(nanos), "{text}");
        }
        for text in ["", "-", "abc", "1.2.3", "99999999999999999999", "1e40", "NaN", ".5"] {
            assert_eq!(nanos_of_micros(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn integers_may_be_quoted() {
        assert_eq!(unsigned(b"42"), Some(42));
        assert_eq!(unsigned(b"\"42\""), Some(42));
        assert_eq!(unsigned(b"42.000"), Some(42));
        assert_eq!(unsigned(b"-1"), None);
        assert_eq!(unsigned(b"4x"), None);
        assert_eq!(signed(b"-12"), Some(-12));
        assert_eq!(signed(b"99999999999999999999"), None);
    }
}
