//! Numbers of bytes, as a user writes them.

/// A number of bytes: `1048576`, `100GiB`, `2.5 TB`.
///
/// # Errors
/// What a size looks like, where `text` is none.
pub fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim())).map(|(_, factor)| *factor);
    let bytes = factor.zip(number.parse::<f64>().ok()).map(|(factor, number)| number * factor as f64);
    // A limit on memory or storage; what a float leaves out above 2^53 does not show.
    match bytes.filter(|bytes| *bytes < u64::MAX as f64) {
        Some(bytes) => Ok(bytes as u64),
        None => Err("a size is a number with a unit (B, kB, MB, GB, TB, KiB, MiB, GiB or TiB), such as 100GiB".to_owned()),
    }
}

/// The same, of units that may go without their B: `8G`, `512M`.
///
/// # Errors
/// As [`size`].
pub fn size_by_letter(text: &str) -> Result<u64, String> {
    size(text).or_else(|error| size(&format!("{text}B")).map_err(|_| error))
}

const UNITS: [(&str, u64); 10] = [
    ("", 1),
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, bytes) in
            [("0", 0), ("1048576", 1 << 20), ("100GiB", 100 << 30), ("2.5 TB", 2_500_000_000_000), ("1kb", 1_000)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "GiB", "-1", "1 parsec", "1.2.3", "1e9"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn units_may_go_without_their_b() {
        for (text, bytes) in [("8GB", 8_000_000_000), ("512MiB", 512 << 20), ("17", 17), ("2 k", 2_000)] {
            assert_eq!(size_by_letter(text), Ok(bytes), "{text}");
        }
        for text in ["", "GB", "8 parsecs", "99999999999999TB", "-1"] {
            assert!(size_by_letter(text).is_err(), "{text}");
        }
    }
}
