//! The screen from top to bottom: what job this is, the views, the table or one rank, alarms, keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

use crate::state::{Mode, Top};

impl Top {
    /// Draws all of it. What does not fit is left out from the bottom of each part, and a terminal of any size is drawn on.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let (head, foot) = (self.header_lines(area.width), self.foot_lines(area.width));
        let parts = [
            Constraint::Length(head.len() as u16),
            Constraint::Length(1),
            Constraint::Min(FEWEST_ROWS.min(area.height)),
            Constraint::Length(foot.len() as u16),
            Constraint::Length(1),
        ];
        let [at_head, at_tabs, at_table, at_foot, at_keys] = Layout::vertical(parts).areas(area);
        let buffer = frame.buffer_mut();
        put(buffer, at_head, &head);
        self.draw_tabs(buffer, at_tabs);
        match self.mode {
            Mode::Rank(rank) => {
                self.forget_table();
                put(buffer, at_table, &self.rank_lines(rank, at_table.width));
            }
            Mode::Help => {
                self.forget_table();
                put(buffer, at_table, &self.help_lines());
            }
            Mode::Table | Mode::Filter => self.draw_table(buffer, at_table),
        }
        put(buffer, at_foot, &foot);
        put(buffer, at_keys, &[self.keys_line()]);
    }

    fn forget_table(&mut self) {
        self.drawn.rows = Rect::ZERO;
        self.drawn.heads.clear();
    }
}

/// Rows of the table that alarms may not take.
const FEWEST_ROWS: u16 = 6;

/// A line with how it is painted.
pub(crate) type Line = (String, ratatui::style::Style);

/// Puts lines below each other, as many as fit, each cut at the end of `area`.
pub(crate) fn put(buffer: &mut ratatui::buffer::Buffer, area: Rect, lines: &[Line]) {
    for ((text, style), y) in lines.iter().zip(area.top()..area.bottom()) {
        buffer.set_stringn(area.x, y, text, usize::from(area.width), *style);
    }
}
