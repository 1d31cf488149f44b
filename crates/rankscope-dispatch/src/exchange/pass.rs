//! The two passes of a layer, each of which may have a plan of its own.

use super::Direction;

/// A pass of a layer that is planned by itself: all that it needs goes to where attention is computed, what it makes returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pass {
    /// Queries, keys and values out, outputs back.
    #[default]
    Forward,
    /// One that keeps nothing of the forward pass: queries, outputs, their gradients, keys and values out, gradients back.
    Backward,
}

impl Pass {
    /// Its exchanges, in order.
    #[must_use]
    pub fn exchanges(self) -> [Direction; 2] {
        match self {
            Self::Forward => [Direction::Forward, Direction::Output],
            Self::Backward => [Direction::Resend, Direction::Backward],
        }
    }

    /// The name for people and for files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
        }
    }

    /// How long its attention takes, in halves of what the forward pass's does: gradients take twice that, and attention is computed
    /// once more on the way, at half the cost of a pass.
    pub(crate) fn attention_halves(self) -> i64 {
        match self {
            Self::Forward => 2,
            Self::Backward => 5,
        }
    }
}
