//! What a user does, and what is asked of whoever runs the screen.

/// A key, a click or a turn of the wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A key.
    Key(Key),
    /// A click, by its place on the screen.
    Click {
        /// From the left.
        column: u16,
        /// From the top.
        row: u16,
    },
    /// The wheel, away from the user.
    WheelUp,
    /// The wheel, towards the user.
    WheelDown,
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The arrow.
    Up,
    /// The arrow.
    Down,
    /// A screen up.
    PageUp,
    /// A screen down.
    PageDown,
    /// To the first row.
    Home,
    /// To the last row.
    End,
    /// To the next view.
    Tab,
    /// To the view before.
    BackTab,
    /// Opens a row, or ends typing.
    Enter,
    /// Closes what is open.
    Escape,
    /// Takes a letter back.
    Backspace,
    /// A letter.
    Char(char),
}

/// What is asked of whoever runs the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing but to draw it again.
    Nothing,
    /// To end.
    Quit,
    /// To show the next step of a replay.
    Forward,
    /// To show the step before.
    Back,
    /// To play a replay twice as fast.
    Faster,
    /// To play it half as fast.
    Slower,
}
