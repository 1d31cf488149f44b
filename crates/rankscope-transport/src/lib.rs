//! Communication plans executed by real backends.
//!
//! A plan is bytes between buffers: an [`Exchange`](rankscope_dispatch::Exchange) says for every rank what it packs, which
//! messages it sends and receives, and what it unpacks. A [`Transport`] carries the messages and knows nothing else, so that
//! threads of one process, processes under MPI and GPUs run the very same plan, and what each of them delivers can be compared,
//! byte for byte, with what the simulator of `rankscope-dispatch` says must arrive.
//!
//! This crate touches the outside world; whatever can be decided without it is decided in `rankscope-dispatch`.

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
