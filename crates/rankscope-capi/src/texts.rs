//! Texts from C: a pointer and a length. A text that is not UTF-8 is taken as far as it can be read.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::slice;

use crate::stats;
use crate::status::Error;

/// As a length: the text ends before its first zero byte.
pub const NUL_TERMINATED: usize = usize::MAX;

/// No text is longer; a length beyond is a negative number or worse.
const BYTES_MAX: usize = 1 << 30;

/// The bytes of a text. Null is an empty one.
///
/// # Safety
/// `text` is null, or has `bytes` bytes or ends in zero, and stays as it is for `'a`.
pub(crate) unsafe fn bytes<'a>(argument: &'static str, text: *const c_char, bytes: usize) -> Result<&'a [u8], Error> {
    if text.is_null() {
        return if bytes == 0 || bytes == NUL_TERMINATED { Ok(&[]) } else { Err(Error::Null { argument }) };
    }
    if bytes == NUL_TERMINATED {
        // SAFETY: the caller says that it ends in zero.
        return Ok(unsafe { CStr::from_ptr(text) }.to_bytes());
    }
    if bytes > BYTES_MAX {
        return Err(Error::TooLong { argument, bytes });
    }
    // SAFETY: the caller says that there are so many bytes.
    Ok(unsafe { slice::from_raw_parts(text.cast(), bytes) })
}

/// A text that has to be one; what is not UTF-8 in it is replaced, and counted.
///
/// # Safety
/// That of [`bytes`].
pub(crate) unsafe fn text<'a>(argument: &'static str, text: *const c_char, len: usize) -> Result<Cow<'a, str>, Error> {
    if text.is_null() {
        return Err(Error::Null { argument });
    }
    // SAFETY: the caller says so.
    let text = String::from_utf8_lossy(unsafe { bytes(argument, text, len) }?);
    if matches!(text, Cow::Owned(_)) {
        stats::not_utf8();
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn lengths_that_no_text_has_are_refused_and_nothing_is_read() {
        for len in [BYTES_MAX + 1, usize::MAX - 1, isize::MAX as usize + 1] {
            // SAFETY: nothing is read of a text of such a length.
            let refused = unsafe { text("name", c"ab".as_ptr(), len) };
            assert!(matches!(refused, Err(Error::TooLong { argument: "name", bytes }) if bytes == len));
        }
    }

    #[test]
    fn null_is_an_empty_value_and_no_name() {
        // SAFETY: null may be passed.
        assert!(matches!(unsafe { bytes("value", ptr::null(), 0) }, Ok([])));
        // SAFETY: as above.
        assert!(matches!(unsafe { bytes("value", ptr::null(), 1) }, Err(Error::Null { .. })));
        // SAFETY: as above.
        assert!(matches!(unsafe { text("name", ptr::null(), 0) }, Err(Error::Null { .. })));
    }

    #[test]
    fn what_is_not_utf8_is_replaced() {
        let before = stats::texts_not_utf8();
        // SAFETY: three bytes that end in zero.
        assert_eq!(unsafe { text("name", c"a\xffb".as_ptr(), NUL_TERMINATED) }.expect("a text"), "a\u{fffd}b");
        assert!(stats::texts_not_utf8() > before);
    }
}
