//! Ranks on GPUs: packed, put into each other's memory and unpacked by the kernels in `kernels/`, several ranks on a card if
//! need be.
//!
//! The protocol is argued where it happens, in the kernels; `docs/explanation/dispatch-cuda.md` tells it whole, and says what has run
//! on hardware and what has not. Driver, compiler and NCCL are loaded at run time, so the crate builds and links without any of
//! them. One process drives all cards of a machine; between machines there is MPI.

mod card;
mod compile;
mod device;
mod error;
mod figures;
mod kernels;
mod library;
mod meeting;
mod nccl;
mod rank;
mod sums;
mod tables;
mod tensors;

use std::time::Duration;

pub use card::{Card, Grid, Memory, address_of};
pub use compile::{Architecture, Compiled, compile};
pub use device::{Device, Found, discover, open};
pub use error::CudaError;
pub use figures::{Figure, figures};
pub use kernels::{HEADERS, Kernel, SOURCES, Source};
pub use nccl::NcclRank;
pub use rank::CudaRank;

/// The ends of a job of `world_size` ranks, dealt out over the cards of this machine, by rank; each is given to a thread.
/// Whoever waits for a peer for longer than `patience` gives up.
///
/// # Errors
/// [`CudaError`]: no driver, no card, no compiler, or cards that cannot map each other's memory.
pub fn job(world_size: u32, patience: Duration) -> Result<Vec<CudaRank<Device>>, CudaError> {
    CudaRank::job(device::open(world_size)?, patience)
}

/// The same with NCCL in place of the kernels, one rank per card.
///
/// # Errors
/// [`CudaError`]: no driver, no NCCL, or fewer cards than ranks.
pub fn nccl_job(world_size: u32) -> Result<Vec<NcclRank>, CudaError> {
    nccl::job(world_size)
}
