//! Columns of aligned cells, two spaces apart. Cells are plain text: colour goes on whole lines, after the widths are known.

use super::Sheet;
use crate::text::width_of;

/// Rows under one header.
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    left: usize,
}

impl Table {
    /// A table whose first `left` columns hold names; the others hold numbers and align right.
    pub(crate) fn new(header: &[&str], left: usize) -> Self {
        Self { header: header.iter().map(|&cell| cell.to_owned()).collect(), rows: Vec::new(), left }
    }

    /// Adds a row of as many cells as the header has.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.header.len());
        self.rows.push(row);
    }

    /// Columns a line takes.
    pub(crate) fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
    }

    /// The header line and one line for each row, all of [`width`](Self::width) columns.
    pub(crate) fn lines(&self) -> (String, Vec<String>) {
        let widths = self.widths();
        (self.line(&self.header, &widths), self.rows.iter().map(|row| self.line(row, &widths)).collect())
    }

    fn widths(&self) -> Vec<usize> {
        (0..self.header.len())
            .map(|i| self.rows.iter().map(|row| width_of(&row[i])).fold(width_of(&self.header[i]), usize::max))
            .collect()
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let align = |(i, cell): (usize, &String)| {
            let gap = " ".repeat(widths[i].saturating_sub(width_of(cell)));
            if i < self.left { format!("{cell}{gap}") } else { format!("{gap}{cell}") }
        };
        cells.iter().enumerate().map(align).collect::<Vec<_>>().join(GAP)
    }
}

/// The lines of `names` with `figures` beside them, or below them where both are wider than the sheet; `tail` ends a line of names that
/// stands alone.
pub(super) fn beside(names: &Table, figures: &Table, tail: &str, sheet: Sheet) -> Vec<String> {
    let ((name_header, names_of), (header, rows)) = (names.lines(), figures.lines());
    let mut lines = Vec::new();
    if 2 + names.width() + GAP.len() + figures.width() <= sheet.width {
        lines.push(format!("  {}", sheet.paint.dim(&format!("{name_header}{GAP}{header}"))));
        lines.extend(names_of.iter().zip(&rows).map(|(name, row)| format!("  {name}{GAP}{row}")));
    } else {
        lines.push(format!("    {}", sheet.paint.dim(&header)));
        lines.extend(names_of.iter().zip(&rows).flat_map(|(name, row)| [format!("  {name}{tail}"), format!("    {row}")]));
    }
    lines
}

const GAP: &str = "  ";
