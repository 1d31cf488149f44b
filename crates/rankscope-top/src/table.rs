//! The table: the columns that there is room for, the rows that are in sight, one of them selected.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};

use crate::column::{Align, Column};
use crate::state::Top;
use crate::view::View;

/// Between columns.
const GAP: u16 = 1;
/// What the last column has at least; else columns before it are left out.
const FILL_MIN: u16 = 8;

impl Top {
    pub(crate) fn draw_table(&mut self, buffer: &mut Buffer, area: Rect) {
        self.drawn.rows = Rect { y: area.y.saturating_add(1), height: area.height.saturating_sub(1), ..area };
        let columns = self.shown(area.width);
        let widths = columns.iter().map(|at| match self.view.columns()[*at].width {
            Some(width) => Constraint::Length(width),
            None => Constraint::Min(FILL_MIN),
        });
        let heads = Layout::horizontal(widths).spacing(GAP).split(Rect { height: area.height.min(1), ..area });
        self.drawn.heads = heads.iter().copied().zip(columns).collect();
        self.draw_heads(buffer);
        let order = self.order();
        if order.is_empty() {
            let why =
                if self.filter.is_empty() { self.view.nothing() } else { "The filter leaves nothing; Esc takes it away." };
            let rows = self.drawn.rows;
            if rows.height > 0 {
                buffer.set_stringn(rows.x, rows.y, why, usize::from(rows.width), self.paint.dim());
            }
            return;
        }
        let place = self.place(&order);
        self.scroll_to(place, order.len());
        let rows = self.drawn.rows;
        for (row, y) in (self.drawn.offset..order.len()).zip(rows.top()..rows.bottom()) {
            self.draw_row(buffer, order[row], y);
            if row == place {
                buffer.set_style(Rect { y, height: 1, ..rows }, self.paint.selected());
            }
        }
    }

    /// Columns that are known and that there is room for; the one that takes the rest is always there.
    fn shown(&self, width: u16) -> Vec<usize> {
        let columns = self.view.columns();
        let is_wanted = |column: &Column| column.from_width <= width && (column.is_known)(&self.scene);
        let fixed = |at: &usize| columns[*at].width.map_or(FILL_MIN, |width| width) + GAP;
        let mut shown: Vec<usize> = (0..columns.len()).filter(|at| is_wanted(&columns[*at])).collect();
        while shown.iter().map(fixed).sum::<u16>() > width.saturating_add(GAP) && shown.len() > 2 {
            // The last of those with a width goes first: the most important stand on the left.
            let Some(last) = shown.iter().rposition(|at| columns[*at].width.is_some()) else { break };
            shown.remove(last);
        }
        shown
    }

    fn draw_heads(&self, buffer: &mut Buffer) {
        let sort = self.sort();
        for (area, at) in self.drawn.heads.iter().filter(|(area, _)| area.height > 0) {
            let column = &self.view.columns()[*at];
            let arrow = if sort.falls { "▼" } else { "▲" };
            let (text, style) = match *at == sort.column {
                true => (format!("{}{arrow}", column.head), self.paint.bold()),
                false => (column.head.to_owned(), self.paint.dim()),
            };
            write(buffer, *area, &text, column.align, style);
        }
    }

    fn draw_row(&self, buffer: &mut Buffer, at: usize, y: u16) {
        let is_alarmed = self.view == View::Ranks && self.scene.is_alarmed(self.scene.document.ranks[at].rank);
        let style = if is_alarmed { self.paint.alarm() } else { self.paint.plain() };
        for (area, column) in &self.drawn.heads {
            let column = &self.view.columns()[*column];
            write(buffer, Rect { y, height: 1, ..*area }, &column.cell(&self.scene, at), column.align, style);
        }
    }

    /// Moves what is in sight as little as shows the row at `place` of so many.
    fn scroll_to(&mut self, place: usize, rows: usize) {
        let height = usize::from(self.drawn.rows.height).max(1);
        let last = rows.saturating_sub(height);
        let least = place.saturating_sub(height - 1);
        self.drawn.offset = self.drawn.offset.clamp(least, place.max(least)).min(last);
    }
}

/// Writes a cell; a figure that is too long is cut on the right as all else, so that its first digits are the true ones.
fn write(buffer: &mut Buffer, area: Rect, text: &str, align: Align, style: ratatui::style::Style) {
    let width = usize::from(area.width);
    let free = width.saturating_sub(ratatui::text::Span::raw(text).width());
    let before = if align == Align::Right { free as u16 } else { 0 };
    buffer.set_stringn(area.x + before, area.y, text, width, style);
}
