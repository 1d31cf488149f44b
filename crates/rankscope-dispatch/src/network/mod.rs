//! What an exchange takes on a network.
//!
//! One idea: every message costs a fixed time and a time per byte at the level of the network it crosses (alpha and beta), every
//! port does one message after the other, and links that several ranks share carry all their bytes. The exchange takes as long as
//! its slowest link: `T = max over links of (sum of alphas + bytes / beta)` (dispatch spec 7.E). [`calibrate`] finds alpha and beta
//! in benchmarks and traces.
//!
//! Adaptive routing, packet loss and other jobs on the fabric are not in it; [`measured`] shows them as what is left over.

pub mod calibrate;
mod layer;
mod link;
pub mod measured;
mod predict;
mod preset;
mod size_table;
mod topology;

pub use layer::PredictedExchange;
pub use link::Link;
pub(crate) use predict::transfer;
pub use predict::{LevelCost, LinkTime, Network, Prediction, RankTime};
pub use preset::{PRESETS, Preset};
pub use size_table::SizeTable;
pub use topology::{Leaves, Level, Topology};
