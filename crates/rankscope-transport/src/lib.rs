//! Communication plans executed by real backends.
//!
//! A plan is bytes between buffers: an [`Exchange`](rankscope_dispatch::Exchange) says for every rank what it packs, which
//! messages it sends and receives, and what it unpacks. A [`Transport`] carries the messages and knows nothing else, so that
//! threads of one process, processes under MPI and GPUs run the very same plan, and what each of them delivers can be compared,
//! byte for byte, with what the simulator of `rankscope-dispatch` says must arrive.
//!
//! This crate touches the outside world; whatever can be decided without it is decided in `rankscope-dispatch`.
//!
//! A plan of two ranks, carried by threads, compared with the simulator byte by byte:
//!
//! ```
//! use std::time::Duration;
//!
//! use rankscope_dispatch::movement::ElementType;
//! use rankscope_dispatch::{Batch, Rows, Shard};
//! use rankscope_time::Rank;
//! use rankscope_transport::Threads;
//! use rankscope_transport::execute::Trial;
//!
//! // Rank 0 keeps the first half of its document; rank 1 computes the second.
//! let mut batch = Batch::new(2)?;
//! let shard = |rank| Shard { linear: Rank(0), attention: Rank(rank), tokens: 64 };
//! batch.push(&[shard(0), shard(1)])?;
//!
//! let trial = Trial::new(&batch, &Rows::LLAMA_8B, ElementType::Bf16, 1, 7)?;
//! let outcomes = trial.run_threads(Threads::job(2, Duration::from_secs(10)))?;
//! assert!(outcomes.iter().any(|outcome| outcome.remote_bytes > 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod counts;
#[cfg(feature = "cuda")]
pub mod cuda;
mod error;
pub mod execute;
mod messages;
#[cfg(feature = "mpi")]
pub mod mpi;
mod threads;
mod transport;

pub use counts::Counts;
pub use error::TransportError;
pub use threads::Threads;
pub use transport::Transport;
