//! Sweeps over configurations of a job: the same command under several environments, several times each.
//!
//! The one idea: a sweep is a plan, written down before its first run and updated after each. Whatever interrupts it, the plan says
//! what has succeeded and what is left. Nothing here starts a process, opens a path or reads the environment: configurations,
//! names, order, the plan's document and the rules of going on are functions of what is given.
//!
//! [`Definition`] is what a user asks for, [`Sweep`] the plan with what became of its runs, and [`rounds`] the order.
//!
//! ```
//! use rankscope_sweep::{Asked, configurations, rounds};
//!
//! // Two variables of two values each are four configurations.
//! let variables = ["NCCL_ALGO=Ring,Tree".parse()?, "OMP_NUM_THREADS=1,8".parse()?];
//! let asked = Asked { variables: variables.into(), ..Asked::default() };
//! assert_eq!(configurations(&asked, true)?.len(), 4);
//!
//! // Over an even number of rounds no configuration runs later than another on average.
//! let rounds = rounds(4, 0, 6, 1);
//! let late: Vec<usize> = (0..4).map(|c| rounds.iter().map(|round| round.iter().position(|at| *at == c).unwrap()).sum()).collect();
//! assert!(late.iter().all(|sum| *sum == late[0]));
//! # Ok::<(), rankscope_sweep::Error>(())
//! ```

mod compare;
mod configuration;
mod definition;
mod document;
mod environment;
mod error;
mod name;
mod order;
mod preset;
mod resume;
mod variables;

pub use compare::compare_command;
pub use configuration::{Configuration, configurations};
pub use definition::{Asked, Definition, Options};
pub use document::{Earlier, Run, RunState, SCHEMA, Summed, Sweep, WarmUp};
pub use environment::{Seen, Warning, warnings, watched};
pub use error::Error;
pub use order::{Order, rounds};
pub use preset::Preset;
pub use resume::Difference;
pub use variables::{Case, Variable};
