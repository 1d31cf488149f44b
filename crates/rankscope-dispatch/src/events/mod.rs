//! A training step played in time: who computes, copies, exchanges and waits when.
//!
//! The step is a program of operations for the two queues of every rank, computation and network, each in its fixed order as
//! streams of a device have them. An operation starts when its queue reaches it and what it needs is done; an exchange when the
//! ranks it talks to are in it as well. Starts and ends follow from that alone, so a faster part can only bring others forward,
//! and two nano-batches that overlap are never slower than the same two that do not.
//!
//! Kernels that slow each other down, clocks that throttle and jitter are not in it.

mod account;
mod build;
mod cost;
mod flows;
mod microbatch;
mod play;
mod scene;
mod work;

pub use account::{Outcome, RankUse};
pub use build::{Label, Operation, Program, What};
pub use cost::Machine;
pub use microbatch::Passes;
pub use play::{Played, Wire, play};
pub use scene::{Scene, StepShape};
pub use work::{LayerWork, Microbatch, Step, Transfer};
