//! How things are painted. Without colour the same is told by weight and by words: nothing is told by colour alone.

use ratatui::style::{Color, Modifier, Style};

/// Whether there is colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    /// It is wanted, and the terminal has it.
    pub color: bool,
}

impl Paint {
    pub(crate) fn plain(self) -> Style {
        Style::new()
    }

    pub(crate) fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Alarms, and who they are about.
    pub(crate) fn alarm(self) -> Style {
        self.colored(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// What a user should know before believing what is shown.
    pub(crate) fn notice(self) -> Style {
        self.colored(Color::Yellow)
    }

    fn colored(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }
}
