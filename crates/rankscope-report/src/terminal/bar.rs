//! Bars of block characters. Each class has a glyph of its own, so that a bar reads without colour.

use rankscope_document::Time;

use super::paint::Paint;

/// A class of time: its name, glyph and SGR colour.
pub(super) struct Class {
    pub(super) name: &'static str,
    glyph: &'static str,
    sgr: &'static str,
    of: fn(&Time) -> i64,
}

/// The four classes that make up the total, in the order they stack.
pub(super) const CLASSES: [Class; 4] = [
    Class { name: "computation", glyph: "█", sgr: "34", of: |time| time.computation },
    Class { name: "exposed comm", glyph: "▓", sgr: "33", of: |time| time.exposed_comm },
    Class { name: "exposed memcpy", glyph: "▒", sgr: "35", of: |time| time.exposed_memcpy },
    Class { name: "idle", glyph: "·", sgr: "2", of: |time| time.idle },
];

/// Time by class as a bar of exactly `width` cells, or empty where there is no time.
pub(super) fn stack(time: &Time, width: usize, paint: Paint) -> String {
    let parts = CLASSES.map(|class| (class.of)(time).max(0));
    let cells = apportion(parts, width);
    CLASSES.iter().zip(cells).map(|(class, n)| paint.with(class.sgr, &class.glyph.repeat(n))).collect()
}

/// `value` against `largest` in eighths of a cell.
pub(super) fn level(value: i64, largest: i64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if value <= 0 || largest <= 0 {
        return String::new();
    }
    // At least one eighth: a small delay is not no delay.
    let eighths = ((value as f64 / largest as f64 * (width * 8) as f64).round() as usize).clamp(1, width * 8);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// The legend of [`stack`].
pub(super) fn legend(paint: Paint) -> String {
    CLASSES.iter().map(|class| format!("{} {}", paint.with(class.sgr, class.glyph), class.name)).collect::<Vec<_>>().join("   ")
}

/// Whole cells in proportion to the parts, by edges: cumulative rounding makes them add up to `width`.
fn apportion<const N: usize>(parts: [i64; N], width: usize) -> [usize; N] {
    let whole: i128 = parts.iter().map(|&part| i128::from(part)).sum();
    let mut sum = 0;
    let mut edge = 0;
    parts.map(|part| {
        sum += i128::from(part);
        let next = if whole == 0 { 0 } else { ((sum * width as i128 * 2 + whole) / (whole * 2)) as usize };
        let cells = next - edge;
        edge = next;
        cells
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_add_up_to_the_width() {
        assert_eq!(apportion([1, 1, 1, 0], 10), [3, 4, 3, 0]);
        assert_eq!(apportion([i64::MAX, i64::MAX, 0, 0], 7), [4, 3, 0, 0]);
        assert_eq!(apportion([0, 0, 0, 0], 7), [0, 0, 0, 0]);
    }

    #[test]
    fn a_small_level_is_still_seen() {
        assert_eq!(level(1, 1_000_000, 10), "▏");
        assert_eq!(level(5, 10, 3), "█▌");
        assert_eq!(level(0, 10, 3), "");
    }
}
