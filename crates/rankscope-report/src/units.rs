//! Numbers as people read them: three digits and a unit.
//!
//! Sizes are binary (KiB is 1024 bytes) because buffers are; rates are decimal (GB/s is 1e9 bytes a second) because links are.

/// What stands for a value the document does not have.
pub(crate) const ABSENT: &str = "–";

/// A duration in nanoseconds as ns, us, ms or s; nothing is a bare 0.
pub fn duration(ns: f64) -> String {
    if ns == 0.0 {
        return "0".to_owned();
    }
    scaled(ns, &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)])
}

/// A size in bytes as B, KiB, MiB, GiB or TiB.
pub fn bytes(count: u64) -> String {
    const K: f64 = 1024.0;
    scaled(count as f64, &[("B", 1.0), ("KiB", K), ("MiB", K * K), ("GiB", K * K * K), ("TiB", K * K * K * K)])
}

/// A rate in GB/s, in smaller units where that reads better.
pub fn rate(gbps: f64) -> String {
    scaled(gbps * 1e9, &[("B/s", 1.0), ("kB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9)])
}

/// Every nanosecond of it: three digits of a second hide what was measured.
pub(crate) fn offset(ns: i64) -> String {
    if ns.unsigned_abs() < 1_000_000 {
        return format!("{ns:+} ns");
    }
    let (sign, ns) = (if ns < 0 { '-' } else { '+' }, ns.unsigned_abs());
    format!("{sign}{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// `part` of `whole` in percent.
pub(crate) fn percent(part: i64, whole: i64) -> String {
    if whole <= 0 { ABSENT.to_owned() } else { format!("{:.1} %", part as f64 / whole as f64 * 100.0) }
}

/// `n of m`, the form of every count that could have been higher.
pub(crate) fn of(n: u64, m: u64) -> String {
    format!("{n} of {m}")
}

/// `1 rank`, `2 ranks`, `131,072 tokens`.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(n)) }
}

/// Commas between thousands from five digits on.
fn grouped(n: usize) -> String {
    let digits = n.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let head = digits.len() % 3;
    let groups = digits.as_bytes()[head..].chunks(3).map(String::from_utf8_lossy);
    groups.fold(
        digits[..head].to_owned(),
        |text, group| if text.is_empty() { group.into_owned() } else { format!("{text},{group}") },
    )
}

/// An optional value, drawn by `f`.
pub(crate) fn or_absent<T>(value: Option<T>, f: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| ABSENT.to_owned(), f)
}

/// Picks the unit by the rounded value, so that 999.9 us reads 1.00 ms and never 1000 us.
fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let &(unit, size) = units.iter().find(|(_, size)| value.abs() < 999.5 * size).unwrap_or(&units[units.len() - 1]);
    let v = value / size;
    let decimals = match v.abs() {
        _ if size == 1.0 => 0,
        a if a < 9.995 => 2,
        a if a < 99.95 => 1,
        _ => 0,
    };
    format!("{v:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_three_digits_and_carry_into_the_next_unit() {
        for (ns, text) in [
            (0.0, "0"),
            (812.0, "812 ns"),
            (999.6, "1.00 us"),
            (12_345.0, "12.3 us"),
            (999_499.0, "999 us"),
            (999_500.0, "1.00 ms"),
            (-490_000.0, "-490 us"),
            (1.2345e9, "1.23 s"),
            (7.2e12, "7200 s"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn counts_are_grouped_where_eyes_need_it() {
        for (n, text) in [
            (0, "0 ranks"),
            (1, "1 rank"),
            (7_200, "7200 ranks"),
            (72_000, "72,000 ranks"),
            (1_234_567, "1,234,567 ranks"),
            (123_456, "123,456 ranks"),
        ] {
            assert_eq!(counted(n, "rank"), text);
        }
    }

    #[test]
    fn sizes_are_binary_and_rates_decimal() {
        assert_eq!(bytes(1000), "0.98 KiB");
        assert_eq!(bytes(64 << 20), "64.0 MiB");
        assert_eq!(rate(231.04), "231 GB/s");
        assert_eq!(rate(0.0123), "12.3 MB/s");
    }

    #[test]
    fn a_share_of_nothing_is_absent() {
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!(percent(0, 0), ABSENT);
    }
}
