//! Alarms, what could not be used, and the keys.

use rankscope_report::alarm_line;

use crate::draw::Line;
use crate::state::{Mode, Top};

/// Alarms and problems that are shown.
const ALARMS_MAX: usize = 4;
const PROBLEMS_MAX: usize = 2;

impl Top {
    pub(crate) fn foot_lines(&self, width: u16) -> Vec<Line> {
        let document = &self.scene.document;
        let mut lines = Vec::new();
        for alarm in document.alarms.iter().take(ALARMS_MAX) {
            lines
                .extend(wrapped(&format!("! {}", alarm_line(alarm)), width).into_iter().map(|line| (line, self.paint.alarm())));
        }
        if let Some(rest @ 1..) = document.alarms.len().checked_sub(ALARMS_MAX) {
            lines.push((format!("! and {rest} more"), self.paint.alarm()));
        }
        for problem in document.problems.iter().take(PROBLEMS_MAX) {
            lines.extend(wrapped(problem, width).into_iter().map(|line| (line, self.paint.notice())));
        }
        if let Some(rest @ 1..) = document.problems.len().checked_sub(PROBLEMS_MAX) {
            lines.push((format!("and {rest} more of this kind"), self.paint.notice()));
        }
        lines
    }

    pub(crate) fn keys_line(&self) -> Line {
        let keys = match self.mode {
            Mode::Table if self.scene.document.replay.is_some() => {
                "q quit  p pause  , . step  + - speed  Tab view  ↑↓ select  Enter rank  ? help"
            }
            Mode::Table => "q quit  Tab view  ↑↓ select  < > r sort  / filter  Enter rank  p pause  ? help",
            Mode::Filter => "Enter keeps the filter, Esc takes it away",
            Mode::Rank(_) => "Esc back to the table  ↑↓ other ranks  q quit",
            Mode::Help => "Esc back to the table  q quit",
        };
        (keys.to_owned(), self.paint.dim())
    }
}

/// Lines of at most `width` columns, broken at spaces; what is left of a sentence stands below.
fn wrapped(text: &str, width: u16) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("begins with one and only grows");
        let is_full = last.chars().count() + 1 + word.chars().count() > usize::from(width);
        match (last.is_empty(), is_full) {
            (true, _) => last.push_str(word),
            (false, false) => {
                last.push(' ');
                last.push_str(word);
            }
            (false, true) => lines.push(format!("  {word}")),
        }
    }
    lines
}
