//! Which job this is, where it is, how sure its clocks are, and the views.

use rankscope_report::duration;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::column::{figure, time};
use crate::draw::Line;
use crate::state::{Mode, Top};
use crate::trend::bars;
use crate::view::View;

/// Bars of the step's trend.
const TREND: usize = 24;

impl Top {
    pub(crate) fn header_lines(&self, width: u16) -> Vec<Line> {
        let document = &self.scene.document;
        let mut lines = vec![(format!("rankscope top  {}", document.title), self.paint.bold())];
        if let Some(replay) = document.replay {
            let said = format!("REPLAY of a run that has ended: step {} of {}{}", replay.place, replay.steps, self.aside());
            lines.push((said, self.paint.notice()));
        } else if self.is_paused || !self.note.is_empty() {
            lines.push((self.aside().trim_start_matches(", ").to_owned(), self.paint.notice()));
        }
        lines.push((self.steps(width), self.paint.plain()));
        lines.push((self.told(), self.paint.dim()));
        lines
    }

    /// Behind other words: that nothing moves, and what the driver says.
    fn aside(&self) -> String {
        let paused = if self.is_paused { ", paused (p goes on)" } else { "" };
        if self.note.is_empty() { paused.to_owned() } else { format!(", {}{paused}", self.note) }
    }

    fn steps(&self, width: u16) -> String {
        let document = &self.scene.document;
        let per_second = match document.step_ns {
            Some(ns) if ns > 0 => format!(" ({:.2} a second)", 1e9 / ns as f64),
            _ => String::new(),
        };
        let text = format!("step {}, {} a step{per_second}  ", figure(document.step), time(document.step_ns));
        let room = usize::from(width).saturating_sub(text.chars().count()).min(TREND);
        text + &bars(self.scene.trends.steps_ns.iter().copied(), room)
    }

    fn told(&self) -> String {
        let document = &self.scene.document;
        let told = document.ranks.len();
        let of = document.world_size.map_or_else(String::new, |world| format!(" of {world}"));
        let errors = document.ranks.iter().filter_map(|rank| rank.clock_error_ns);
        let clocks =
            errors.max().map_or_else(|| "clocks not known".to_owned(), |ns| format!("clocks ± {}", duration(ns as f64)));
        let noun = if told == 1 && of.is_empty() { "rank" } else { "ranks" };
        let steps = if document.compared_steps == 1 { "step" } else { "steps" };
        format!("{told}{of} {noun}, {clocks}, compared over {} {steps}", document.compared_steps)
    }

    /// The views by their keys, and behind them what is typed.
    pub(crate) fn draw_tabs(&mut self, buffer: &mut Buffer, area: Rect) {
        self.drawn.tabs.clear();
        if area.is_empty() {
            return;
        }
        let mut x = area.x;
        for (number, view) in (1..).zip(View::ALL) {
            let name = format!(" {number} {} ", view.name());
            let style = if view == self.view { self.paint.selected() } else { self.paint.plain() };
            let (end, _) = buffer.set_stringn(x, area.y, &name, usize::from(area.right().saturating_sub(x)), style);
            self.drawn.tabs.push((Rect { x, width: end.saturating_sub(x), ..area }, view));
            x = end;
        }
        let cursor = if self.mode == Mode::Filter { "_" } else { "" };
        if self.mode == Mode::Filter || !self.filter.is_empty() {
            let filter = format!("  /{}{cursor}", self.filter);
            buffer.set_stringn(x, area.y, filter, usize::from(area.right().saturating_sub(x)), self.paint.bold());
        }
    }
}
