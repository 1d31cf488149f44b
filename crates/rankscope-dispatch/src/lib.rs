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

pub mod alltoall;
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
mod tensors;
mod traffic;

pub use batch::{Batch, Shard, causal_cells};
pub use error::Error;
pub use exchange::{
    ContextTokens, Contexts, Direction, Exchange, Message, RankExchange, RowCopy, RowSum, TensorName, TensorRows,
};
pub use orchestrate::orchestrate_simulate;
pub use random::TorchRandom;
pub use rows::Rows;
pub use tensors::Padded;
pub use traffic::Traffic;
