//! From the raw bytes of a JSON string to its text.

use std::borrow::Cow;

/// The text of a string whose raw bytes (without quotes) are `raw`. Bad escapes stay as they stand, bad UTF-8 becomes U+FFFD.
pub(super) fn decode(raw: &[u8]) -> Cow<'_, str> {
    if !raw.contains(&b'\\') {
        return lossy(raw);
    }
    let mut text = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        text.extend_from_slice(&rest[..at]);
        let taken = escape(&rest[at..], &mut text);
        rest = &rest[at + taken..];
    }
    text.extend_from_slice(rest);
    Cow::Owned(String::from_utf8(text).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()))
}

/// As [`String::from_utf8_lossy`] has it, which looks at good text byte by byte as well.
pub(super) fn lossy(raw: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(raw).map_or_else(|_| String::from_utf8_lossy(raw), Cow::Borrowed)
}

/// Appends what the escape at the start of `raw` stands for and returns its length.
fn escape(raw: &[u8], text: &mut Vec<u8>) -> usize {
    let plain = match raw.get(1) {
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(quoted @ (b'"' | b'\\' | b'/')) => *quoted,
        Some(b'u') => return unicode(raw, text),
        _ => {
            text.push(b'\\');
            return 1;
        }
    };
    text.push(plain);
    2
}

/// `\uXXXX`, or two of them where they form a surrogate pair.
fn unicode(raw: &[u8], text: &mut Vec<u8>) -> usize {
    let unit = |at: usize| {
        let digits = raw.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let Some(first) = unit(0) else {
        text.push(b'\\');
        return 1;
    };
    let mut push = |c: char| text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    if let Some(second) = unit(6)
        && let Some(Ok(pair)) = char::decode_utf16([first, second]).next()
        && u32::from(pair) > 0xffff
    {
        push(pair);
        return 12;
    }
    push(char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER));
    6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_what_they_mean() {
        assert_eq!(decode(b"aten::mm"), "aten::mm");
        assert_eq!(decode(br#"a\"b\\c\/d\n"#), "a\"b\\c/d\n");
        assert_eq!(decode(br"\u00e9\ud83d\ude00"), "\u{e9}\u{1f600}");
        assert_eq!(decode(br"\ud83d alone"), "\u{fffd} alone");
        assert_eq!(decode(br"\q \u12"), r"\q \u12");
        assert_eq!(decode(b"\xff"), "\u{fffd}");
        assert_eq!(decode(b"tail\\"), "tail\\");
    }
}
