//! ANSI colours, from the sixteen every terminal lets its user choose.

/// Colours text, or leaves it plain.
#[derive(Clone, Copy)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    /// Text in an SGR style.
    pub(crate) fn with(self, sgr: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\x1b[{sgr}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
