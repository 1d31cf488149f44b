//! Which bytes of a file a client wants, by its `Range` header. Of several ranges it gets the whole file, as anybody may answer.

/// Bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The first.
    pub start: u64,
    /// How many.
    pub length: u64,
}

/// The file has no byte of what is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file has none of the bytes that are asked for")]
pub struct OutOfFile;

/// The range that `header` asks for of a file of `bytes`: none where it asks for none or in another way, and an error where the file has no
/// such bytes.
///
/// # Errors
/// [`OutOfFile`].
pub fn range_of(header: Option<&str>, bytes: u64) -> Result<Option<ByteRange>, OutOfFile> {
    let Some((first, last)) = header.and_then(asked) else { return Ok(None) };
    let (start, end) = match (first, last) {
        (Some(first), Some(last)) if last < first => return Ok(None),
        (Some(first), last) => (first, last.unwrap_or(u64::MAX).saturating_add(1).min(bytes)),
        (None, Some(tail)) => (bytes.saturating_sub(tail), bytes),
        (None, None) => return Ok(None),
    };
    if start >= end { Err(OutOfFile) } else { Ok(Some(ByteRange { start, length: end - start })) }
}

/// The first and the last byte; without a first one, how many at the end.
fn asked(header: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (first, last) = header.trim().strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| match text.trim() {
        "" => Some(None),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok().map(Some),
        _ => None,
    };
    Some((number(first)?, number(last)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_to_the_file() {
        let of = |header: &str| range_of(Some(header), 10).map(|range| range.map(|range| (range.start, range.length)));
        assert_eq!(of("bytes=0-3"), Ok(Some((0, 4))));
        assert_eq!(of("bytes=4-"), Ok(Some((4, 6))));
        assert_eq!(of("bytes=8-99"), Ok(Some((8, 2))));
        assert_eq!(of("bytes=-3"), Ok(Some((7, 3))));
        assert_eq!(of("bytes=-30"), Ok(Some((0, 10))));
        assert_eq!(of("bytes=0-18446744073709551615"), Ok(Some((0, 10))));
    }

    #[test]
    fn what_is_no_range_of_the_file_is_told_apart_from_what_is_none_at_all() {
        for header in ["bytes=10-", "bytes=-0", "bytes=99-100"] {
            assert_eq!(range_of(Some(header), 10), Err(OutOfFile), "{header}");
        }
        for header in ["bytes=3-1", "bytes=0-1,4-5", "lines=0-1", "bytes=-", "bytes=+1-2", "bytes=a-b", ""] {
            assert_eq!(range_of(Some(header), 10), Ok(None), "{header}");
        }
        assert_eq!(range_of(None, 10), Ok(None));
        assert_eq!(range_of(Some("bytes=0-"), 0), Err(OutOfFile));
    }
}
