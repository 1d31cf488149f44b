//! Names that Excel takes: of sheets, at most 31 characters and no two alike but for case; of tables, words that are no cell.

use std::collections::HashSet;

/// Characters of a sheet's name.
const LONGEST: usize = 31;

/// The names that are taken, in lower case.
#[derive(Default)]
pub(crate) struct Names {
    sheets: HashSet<String>,
    tables: HashSet<String>,
}

impl Names {
    /// A name for a sheet that is `wanted`, or like it.
    pub(crate) fn sheet(&mut self, wanted: &str) -> String {
        let plain: String = wanted.chars().map(|c| if is_refused(c) { '_' } else { c }).collect();
        // Excel keeps the name History for itself.
        let plain = match plain.trim_matches('\'') {
            "" => "sheet",
            name if name.eq_ignore_ascii_case("history") => "history_",
            name => name,
        };
        free(&mut self.sheets, |number| match number {
            0 => cut(plain, LONGEST),
            number => {
                let tail = format!("~{number}");
                cut(plain, LONGEST - tail.len()) + &tail
            }
        })
    }

    /// A name for a table that is `wanted`, or like it.
    pub(crate) fn table(&mut self, wanted: &str) -> String {
        let mut plain: String = wanted.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        plain.truncate(200);
        if !plain.starts_with(|c: char| c.is_ascii_alphabetic()) || is_cell(&plain) {
            plain.insert_str(0, "table_");
        }
        free(&mut self.tables, |number| if number == 0 { plain.clone() } else { format!("{plain}_{number}") })
    }

    /// Whether no sheet has been named.
    pub(crate) fn is_empty(&self) -> bool {
        self.sheets.is_empty()
    }
}

fn is_refused(c: char) -> bool {
    matches!(c, '[' | ']' | ':' | '*' | '?' | '/' | '\\') || c.is_control()
}

/// The first of what `make` gives that is not `taken`.
fn free(taken: &mut HashSet<String>, make: impl Fn(usize) -> String) -> String {
    let name = (0..).map(make).find(|name| !taken.contains(&name.to_lowercase())).unwrap_or_default();
    taken.insert(name.to_lowercase());
    name
}

/// The first characters of `name`, as many as take `most` of UTF-16.
fn cut(name: &str, most: usize) -> String {
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units <= most
    };
    name.chars().take_while(fits).collect::<String>().trim_end_matches('\'').to_owned()
}

/// Whether `name` could be a cell: `R1C1`, or at most three letters with a number.
fn is_cell(name: &str) -> bool {
    let letters = name.chars().take_while(char::is_ascii_alphabetic).count();
    let rest = &name[letters..];
    let is_a1 = letters <= 3 && !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let row_column = name.to_ascii_lowercase();
    let is_r1c1 = row_column.bytes().all(|byte| byte.is_ascii_digit() || byte == b'r' || byte == b'c');
    is_a1 || is_r1c1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sheets_differ_in_more_than_case_and_fit() {
        let mut names = Names::default();
        assert_eq!(names.sheet("GEMM"), "GEMM");
        assert_eq!(names.sheet("gemm"), "gemm~1");
        let long = "a".repeat(40);
        assert_eq!(names.sheet(&long).len(), 31);
        let second = names.sheet(&long);
        assert!(second.len() == 31 && second.ends_with("~1"), "{second}");
        assert_eq!(names.sheet("a/b:[c]*?'"), "a_b__c___");
        assert_eq!(names.sheet("History"), "history_");
        assert_eq!(names.sheet(""), "sheet");
        assert_eq!(names.sheet(&"𝄞".repeat(20)).encode_utf16().count(), 30);
    }

    #[test]
    fn tables_are_no_cells() {
        let mut names = Names::default();
        assert_eq!(names.table("ops_summary"), "ops_summary");
        assert_eq!(names.table("OPS_summary"), "OPS_summary_1");
        assert_eq!(names.table("ops_summary (2)"), "ops_summary__2_");
        for cell in ["A1", "xfd1048576", "R1C1", "c", "r"] {
            assert!(names.table(cell).starts_with("table_"), "{cell}");
        }
        assert_eq!(names.table("7_days"), "table_7_days");
    }
}
