//! The spans of any program by name, as a table for a terminal.

use rankscope_document::{SpansDocument, SpansProcess, SpansRow, SpansSort};

use crate::Style;
use crate::terminal::{Sheet, Table, joined, sentences};
use crate::text::{clean, shorten, width_of, wrap};
use crate::units::{ABSENT, counted, duration, or_absent};

/// The document as text of at most `style.width` columns, ending in a line break.
pub fn spans_terminal(document: &SpansDocument, style: Style) -> String {
    let sheet = Sheet::of(style);
    let mut parts = vec![heading(document, sheet), sentences(&document.notes, sheet)];
    if document.spans.is_empty() && document.async_spans.is_empty() {
        parts.push(vec!["No spans to show.".to_owned()]);
    }
    parts.push(table("SPANS", order(&document.sort), &document.spans, document.spans_left_out, sheet));
    // They have no self time.
    let async_sort = if document.sort == SpansSort::SelfTime { &SpansSort::Total } else { &document.sort };
    let aside = format!("{}; from begin to end, waiting included", order(async_sort));
    parts.push(table("ASYNC SPANS", &aside, &document.async_spans, document.async_spans_left_out, sheet));
    joined(parts)
}

fn order(sort: &SpansSort) -> &'static str {
    match sort {
        SpansSort::SelfTime => "most self time first",
        SpansSort::Total => "most time first",
        SpansSort::Count => "most spans first",
        SpansSort::Max => "longest span first",
        SpansSort::P99 => "highest p99 first",
        _ => "by name",
    }
}

fn heading(document: &SpansDocument, sheet: Sheet) -> Vec<String> {
    let title = shorten(&clean(&document.title), sheet.width() - 11);
    let sum = |of: fn(&SpansProcess) -> u64| document.processes.iter().map(of).sum::<u64>() as usize;
    let (processes, threads) = (document.processes.len(), sum(|process| process.threads));
    let processes = if processes == 1 { "1 process".to_owned() } else { format!("{processes} processes") };
    let mut facts = vec![processes, counted(threads, "thread"), counted(sum(|process| process.spans), "span")];
    let asynchronous = sum(|process| process.async_spans);
    if asynchronous > 0 {
        facts.push(counted(asynchronous, "async span"));
    }
    let with_spans = || document.processes.iter().filter(|process| process.spans + process.async_spans > 0);
    let start = with_spans().map(|process| process.start_ns).min();
    let end = with_spans().map(|process| process.end_ns).max();
    if let (Some(start), Some(end)) = (start, end) {
        facts.push(format!("{} from first to last", duration(end.saturating_sub(start) as f64)));
    }
    let first = format!("{}  {}", sheet.paint().dim("rankscope spans"), sheet.paint().bold(&title));
    std::iter::once(first).chain(wrap(&facts.join(" · "), sheet.width())).collect()
}

fn table(title: &str, aside: &str, rows: &[SpansRow], left_out: u64, sheet: Sheet) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let figures = figures(rows);
    let (header, lines) = figures.lines();
    let names = names(rows, sheet.width().saturating_sub(2 + 2 + width_of(&header)));
    let (name_header, name_lines) = names.lines();
    let mut drawn = vec![sheet.heading(title, aside)];
    drawn.push(format!("  {}", sheet.paint().dim(&format!("{name_header}  {header}"))));
    drawn.extend(name_lines.iter().zip(&lines).map(|(name, line)| format!("  {name}  {line}")));
    if left_out > 0 {
        let all = rows.len() as u64 + left_out;
        drawn.push(format!("  {}", sheet.paint().dim(&format!("and {left_out} more; --top {all} shows all"))));
    }
    drawn
}

/// What tells one row from another, within `room` columns where names can be shortened to that.
fn names(rows: &[SpansRow], room: usize) -> Table {
    let several = |of: fn(&SpansRow) -> Option<&str>| rows.iter().any(|row| of(row) != of(&rows[0]));
    type Column = (&'static str, fn(&SpansRow) -> Option<&str>);
    let all: [Column; 3] = [
        ("process", |row| row.process.as_deref()),
        ("thread", |row| row.thread.as_deref()),
        ("category", |row| Some(row.category.as_str())),
    ];
    let shown: Vec<Column> = all.into_iter().filter(|(_, of)| several(*of)).collect();
    let beside = |row: &SpansRow| shown.iter().map(|(_, of)| shorten(&clean(of(row).unwrap_or("")), LONGEST_PLACE)).collect();
    let cells: Vec<Vec<String>> = rows.iter().map(beside).collect();
    let width = |at: usize| cells.iter().map(|row| width_of(&row[at])).chain([width_of(shown[at].0)]).max().unwrap_or(0) + 2;
    let longest = room.saturating_sub((0..shown.len()).map(width).sum()).clamp(SHORTEST_NAME, LONGEST_NAME);
    let header: Vec<&str> = ["name"].into_iter().chain(shown.iter().map(|(name, _)| *name)).collect();
    let mut table = Table::new(&header, header.len());
    for (row, beside) in rows.iter().zip(cells) {
        let name = if row.name.is_empty() { "(no name)".to_owned() } else { shorten(&clean(&row.name), longest) };
        table.push([vec![name], beside].concat());
    }
    table
}

fn figures(rows: &[SpansRow]) -> Table {
    let (has_open, has_self) = (rows.iter().any(|row| row.unfinished > 0), rows.iter().any(|row| row.self_ns.is_some()));
    let mut header = vec!["count"];
    header.extend(has_open.then_some("no end"));
    header.push("total");
    header.extend(has_self.then_some("self"));
    header.extend(["p50", "p99", "max"]);
    header.extend(has_self.then_some("threads"));
    let mut table = Table::new(&header, 0);
    let time = |ns: i64| duration(ns as f64);
    for row in rows {
        let open = if row.unfinished > 0 { row.unfinished.to_string() } else { ABSENT.to_owned() };
        let mut cells = vec![row.count.to_string()];
        cells.extend(has_open.then_some(open));
        cells.push(time(row.total_ns));
        cells.extend(has_self.then(|| or_absent(row.self_ns, time)));
        cells.extend([row.p50_ns, row.p99_ns, row.max_ns].map(time));
        cells.extend(has_self.then(|| or_absent(row.threads, |threads| threads.to_string())));
        table.push(cells);
    }
    table
}

const SHORTEST_NAME: usize = 16;
const LONGEST_NAME: usize = 60;
const LONGEST_PLACE: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, category: &str) -> SpansRow {
        SpansRow {
            name: name.to_owned(),
            category: category.to_owned(),
            count: 12,
            total_ns: 5_000_000,
            self_ns: Some(1_000),
            p99_ns: 900,
            max_ns: 901,
            threads: Some(2),
            ..SpansRow::default()
        }
    }

    fn drawn(spans: Vec<SpansRow>, async_spans: Vec<SpansRow>) -> String {
        let document =
            SpansDocument { title: "a.rkr".to_owned(), sort: SpansSort::SelfTime, spans, async_spans, ..Default::default() };
        spans_terminal(&document, Style { color: false, width: 100 })
    }

    #[test]
    fn a_category_is_shown_where_it_tells_rows_apart() {
        assert!(!drawn(vec![row("a", "x"), row("b", "x")], Vec::new()).contains("category"));
        assert!(drawn(vec![row("a", "x"), row("a", "y")], Vec::new()).contains("category"));
    }

    #[test]
    fn asynchronous_spans_have_a_table_without_self_times() {
        let request = SpansRow { self_ns: None, threads: None, unfinished: 3, ..row("request", "x") };
        let text = drawn(vec![row("a", "x")], vec![request]);
        let (spans, asynchronous) = text.split_once("ASYNC SPANS").expect("both");
        assert!(spans.contains("self  ") && !spans.contains("no end"), "{text}");
        assert!(asynchronous.contains("no end") && !asynchronous.contains("threads"), "{text}");
    }

    #[test]
    fn names_keep_to_the_line_and_steer_nothing() {
        let text = drawn(vec![row(&"x\u{1b}[2J".repeat(100), "x"), row("", "x")], Vec::new());
        assert!(text.lines().all(|line| width_of(line) <= 100), "{text}");
        assert!(!text.contains('\u{1b}') && text.contains("(no name)"));
    }
}
