//! Cells of tables for spreadsheets.
//!
//! A spreadsheet runs a cell that begins like a formula. Text from a trace is data, so such a cell gets an apostrophe before it,
//! which spreadsheets take for "this is text" and other readers see. Numbers are written as numbers, without this.

use std::fmt;

/// Text as a cell: never a formula, and quoted where it would end the cell otherwise.
#[derive(Clone, Copy, Debug)]
pub struct CsvText<'a>(pub &'a str);

impl fmt::Display for CsvText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0;
        let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
        // A control character is of no use in a table, and steers the terminal of whoever looks at the file.
        let plain: String =
            text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\r' | '\t') { '\u{fffd}' } else { c }).collect();
        match plain.contains([',', ';', '"', '\n', '\r', '\t']) {
            true => write!(f, "\"{guard}{}\"", plain.replace('"', "\"\"")),
            false => write!(f, "{guard}{plain}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_a_formula_and_stays_one_cell() {
        let table = [
            ("all_reduce", "all_reduce"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("@SUM(1,2)", "\"'@SUM(1,2)\""),
            ("+1+1", "'+1+1"),
            ("-1", "'-1"),
            ("\t=1", "\"'\t=1\""),
            ("\r=1", "\"'\r=1\""),
            ("a\u{1b}[2J", "a\u{fffd}[2J"),
            ("", ""),
        ];
        for (text, cell) in table {
            assert_eq!(CsvText(text).to_string(), cell);
        }
    }
}
