//! Pieces of Markdown of GitHub's kind: tables, code spans, and text that is taken literally.
//!
//! Names stand in code spans, where nothing of them is a link, an image, a heading or somebody's handle. Nothing that is written here is longer
//! than a reader reads: names and sentences are shortened, since some names have a hundred kilobytes.

mod report;

use crate::text::{clean, shorten};

pub use report::report_markdown;

/// Rows under a header; nothing where there are none. Cells are Markdown already.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    let rule = vec!["---".to_owned(); head.len()];
    let rows: String = rows.iter().map(|cells| row(cells)).collect();
    format!("{}{}{rows}\n", row(&head), row(&rule))
}

/// `text` with everything that means something to Markdown, or to HTML in it, taken literally.
pub(crate) fn escaped(text: &str) -> String {
    let letter = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '@' => "&#64;".to_owned(),
        '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '!' | '$' => format!("\\{c}"),
        c => c.to_string(),
    };
    let text: String = clean(text).chars().map(letter).collect();
    // What looks like an address would become a link to it.
    text.replace("://", "&#58;//").replace("www.", "www&#46;")
}

/// `command` as a code span to be copied from, as it is typed. It may not stand in a table, where a bar would end the cell. One that would
/// run something inside of itself is no command of ours, and is text.
pub(crate) fn command(command: &str) -> String {
    let command = line(&shorten(command, 320));
    if command.contains('`') { escaped(&command) } else { spanned(&command) }
}

/// `name` as a code span that may stand in a table.
pub(crate) fn code(name: &str) -> String {
    let name = line(&shorten(name, 80));
    if name.contains("\\|") {
        // A code span has no way to write this in a table, which would end the cell there.
        return escaped(&name);
    }
    spanned(&name.replace('|', "\\|"))
}

fn spanned(text: &str) -> String {
    let fence = fence(text, 1);
    // A backtick at an end would belong to the fence.
    let space = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// More backticks than `text` has in a row, at least `least`.
pub(crate) fn fence(text: &str, least: usize) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(least.max(longest + 1))
}

/// `text` on one line.
pub(crate) fn line(text: &str) -> String {
    clean(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_names() {
        assert_eq!(code("void f<a|b>(`x`)"), "``void f<a\\|b>(`x`)``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(
            command("what-if RUN 'collective:all_reduce@world=0' | cat"),
            "`what-if RUN 'collective:all_reduce@world=0' | cat`"
        );
        assert_eq!(code("a\n# b"), "`a\u{fffd}# b`");
        assert_eq!(code("a\\|<b>"), "a\\\\\\|&lt;b&gt;");
        assert_eq!(escaped("https://a.b $x$ www.a.b"), "https&#58;//a.b \\$x\\$ www&#46;a.b");
        assert_eq!(escaped("<img src=x> @team [a](b) |"), "&lt;img src=x&gt; &#64;team \\[a\\](b) \\|");
    }
}
