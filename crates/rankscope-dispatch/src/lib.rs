//! Communication plans for context-parallel attention.
//!
//! Documents of very different length lie spread over ranks. Attention is cut loose from where the tokens live: each run of
//! query tokens is a task that any rank may compute, given the keys and values of the document up to its own end. A
//! [`Batch`] says which rank computes which task; everything else (offsets, counts, bytes, time) follows from it.
//!
//! Two layouts run through all of it. In the *linear* layout tokens lie where the dense layers want them, every rank's shards
//! back to back. In the *attention* layout they lie where their attention is computed.
//!
//! Nothing here touches a network, a file or a clock: backends that move real bytes live in `rankscope-transport`.
//!
//! # Example
//!
//! One document of 8,192 tokens on rank 0, and a short one on rank 1; the planner gives half of the attention away:
//!
//! ```
//! use rankscope_dispatch::planner::bounded::{Options, bounded};
//! use rankscope_dispatch::planner::Prices;
//! use rankscope_dispatch::{Batch, Rows, Shard};
//! use rankscope_time::Rank;
//!
//! let at_home = |rank: u32, tokens| Shard { linear: Rank(rank), attention: Rank(rank), tokens };
//! let mut batch = Batch::new(2)?;
//! batch.push(&[at_home(0, 8_192)])?;
//! batch.push(&[at_home(1, 512)])?;
//!
//! let plan = bounded(&batch, &Options::new(0.05, Prices::of(&Rows::LLAMA_8B)))?;
//! let cells = plan.cells()?; // pairs of a query and a key that each rank computes
//! assert_eq!(cells.iter().sum::<u64>(), batch.cells()?.iter().sum::<u64>());
//! let mean = cells.iter().sum::<u64>() as f64 / 2.0;
//! assert!(cells.iter().all(|&load| load as f64 <= 1.1 * mean));
//! # Ok::<(), rankscope_dispatch::Error>(())
//! ```

pub mod alltoall;
mod assignment;
mod batch;
pub mod binary;
pub mod cost;
pub mod draw;
mod error;
pub mod events;
mod exchange;
pub mod export;
pub mod metadata;
pub mod movement;
pub mod network;
mod orchestrate;
pub mod plan;
pub mod planner;
pub mod properties;
mod random;
mod rows;
mod split_batch;
pub mod splitmix;
mod tensors;
mod traffic;

pub use assignment::{Assignment, HeadGroups};
pub use batch::{Batch, Shard, causal_cells};
pub use error::{Capped, Error};
pub use exchange::{
    ContextTokens, Contexts, Direction, Exchange, ExchangeFault, Join, Message, Pass, RankExchange, RowCopy, RowSum, Step,
    TensorName, TensorRows, Way, Written,
};
pub use orchestrate::orchestrate_simulate;
pub use random::TorchRandom;
pub use rows::Rows;
pub use split_batch::{SplitBatch, SplitFault, SplitTask};
pub use tensors::Padded;
pub use traffic::Traffic;
