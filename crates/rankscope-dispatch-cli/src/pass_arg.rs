//! A pass of a layer, as one is named on the command line.

use rankscope_dispatch::{Direction, Pass};

/// Which pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PassArg {
    /// Queries, keys and values out, outputs back
    Forward,
    /// Queries, outputs, their gradients, keys and values out, gradients back
    Backward,
}

impl From<PassArg> for Pass {
    fn from(pass: PassArg) -> Self {
        match pass {
            PassArg::Forward => Self::Forward,
            PassArg::Backward => Self::Backward,
        }
    }
}

/// The exchanges of one pass by itself, or those of a layer whose backward pass keeps what the forward one had.
pub(crate) fn exchanges(pass: Option<PassArg>) -> Vec<Direction> {
    pass.map_or_else(|| Direction::LAYER.to_vec(), |pass| Pass::from(pass).exchanges().to_vec())
}
