//! The summary for a terminal: what an engineer acts on in ten seconds.
//!
//! The first advice stands in the first line. Findings come next, then where the time goes, what a step had to wait for, who is late, and which collectives cost most. Each part
//! stands alone and leaves itself out when the document has nothing for it. With many rows only the worst and the best are shown, and how many
//! are not. Nothing here asks what the terminal is: width and colour are given.

mod advice;
mod answers;
mod arrivals;
mod bar;
mod collectives;
mod critical_path;
mod gpu_clocks;
mod heading;
mod notes;
mod paint;
mod selection;
mod table;
mod time;

use rankscope_document::Document;

use crate::text::{clean, wrap};
pub(crate) use advice::step_words;
pub(crate) use answers::{late, lateness, reason_sentence};
pub(crate) use arrivals::why_nobody_is_compared;
pub(crate) use heading::{clocks, facts, windows};
use paint::Paint;

pub(crate) use notes::sentences;
pub(crate) use table::Table;

/// How to draw for a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to use ANSI colours. Nothing is told by colour alone.
    pub color: bool,
    /// Columns there are. Below 72 the tables do not fit and lines are drawn for 72.
    pub width: usize,
}

/// The document as text of at most `style.width` columns, ending in a line break.
pub fn terminal(document: &Document, style: Style) -> String {
    let sheet = Sheet::of(style);
    let mut parts = vec![advice::first(document, sheet), heading::draw(document, sheet), notes::draw(document, sheet)];
    if document.is_training() {
        parts.push(advice::draw(document, sheet));
        parts.push(time::draw(document, sheet));
        parts.push(critical_path::draw(document, sheet));
        parts.push(arrivals::draw(document, sheet));
        parts.push(answers::draw(document, sheet));
        parts.push(collectives::draw(document, sheet));
        parts.push(answers::budgets(document, sheet));
        parts.push(gpu_clocks::draw(document, sheet));
    }
    joined(parts)
}

/// The lines of `parts`, a blank one between two parts. Parts without lines are none.
pub(crate) fn joined(parts: Vec<Vec<String>>) -> String {
    let mut text = String::new();
    for part in parts.into_iter().filter(|lines| !lines.is_empty()) {
        if !text.is_empty() {
            text.push('\n');
        }
        for line in part {
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

/// Rows of names under a header.
pub fn columns(header: &[&str], rows: Vec<Vec<String>>, style: Style) -> String {
    let mut table = Table::new(header, header.len());
    for row in rows {
        table.push(row.iter().map(|cell| clean(cell)).collect());
    }
    let (header, rows) = table.lines();
    let head = Paint(style.color).dim(header.trim_end());
    std::iter::once(head.as_str()).chain(rows.iter().map(|row| row.trim_end())).flat_map(|line| [line, "\n"]).collect()
}

/// `text` in lines as long as the terminal is wide, at most.
pub fn paragraph(text: &str, style: Style) -> String {
    wrap(&clean(text), Sheet::of(style).width()).iter().map(|line| format!("{line}\n")).collect()
}

/// What the parts draw on.
#[derive(Clone, Copy)]
pub(crate) struct Sheet {
    paint: Paint,
    width: usize,
}

impl Sheet {
    /// A sheet for a terminal.
    pub(crate) fn of(style: Style) -> Self {
        Self { paint: Paint(style.color), width: style.width.clamp(NARROWEST, WIDEST) }
    }

    /// Colours of the sheet.
    pub(crate) fn paint(self) -> Paint {
        self.paint
    }

    /// Columns of the sheet.
    pub(crate) fn width(self) -> usize {
        self.width
    }

    /// The heading of a part, with an aside in plain text.
    pub(crate) fn heading(self, title: &str, aside: &str) -> String {
        let room = self.width - title.len() - 2;
        format!("{}  {}", self.paint.bold(title), self.paint.dim(&crate::text::shorten(aside, room)))
    }

    /// A sentence below a heading.
    fn sentence(self, text: &str) -> Vec<String> {
        wrap(text, self.width - 2).into_iter().map(|line| format!("  {line}")).collect()
    }
}

const NARROWEST: usize = 72;
/// Wider than this the eye loses the row.
const WIDEST: usize = 140;

/// The lines of a table, indented, its header dim.
pub(crate) fn drawn(table: &Table, sheet: Sheet) -> Vec<String> {
    let (header, rows) = table.lines();
    let mut lines = vec![format!("  {}", sheet.paint().dim(&header))];
    lines.extend(rows.into_iter().map(|row| format!("  {row}")));
    lines
}
