//! The program of a step as Chakra execution traces, which simulators such as ASTRA-sim play: a file for each rank of each stage.
//!
//! What rankscope plays itself is written as it stands: computation and copies with the time that they take by themselves, and
//! every message of every exchange as a send and a receive that meet by their tag. How long messages take, and what waits for
//! what then, is the simulator's to say. Messages of a rank to itself are copies and in the files as such.
//!
//! ```
//! use rankscope_chakra::Traces;
//! use rankscope_dispatch::events::{Machine, Step, StepShape};
//! use rankscope_dispatch::{Batch, Rows, Shard};
//! use rankscope_time::Rank;
//!
//! let mut batch = Batch::new(2)?;
//! batch.push(&[Shard { linear: Rank(0), attention: Rank(1), tokens: 4096 }])?;
//! let step = Step::of_plans(&[((&batch).into(), &Rows::LLAMA_8B)], &StepShape::default(), &Machine::H100)?;
//! let traces = Traces::new(&step, &Machine::H100)?;
//! let files: Vec<Vec<u8>> = (0..traces.len()).map(|npu| traces.write(npu)).collect();
//! assert_eq!(files.len(), 2);
//! # Ok::<(), rankscope_dispatch::Error>(())
//! ```

mod file;
mod traces;

pub use traces::Traces;
