//! What the protocol asks of a card: memory, copies and launches that take place in order. [`super::Device`] is the hardware;
//! tests run the same ranks over threads of the processor.

use std::sync::Arc;

use super::error::CudaError;
use super::kernels::Kernel;

/// One rank's queue of work on a card. What is asked of it takes place in the order it was asked.
pub trait Card: Send {
    /// Memory that all ranks of the process can write to, filled with zeros.
    ///
    /// # Errors
    /// [`CudaError`], as every call here.
    fn allocate(&self, bytes: u64) -> Result<Arc<dyn Memory>, CudaError>;

    /// Copies into memory from byte `at` on. The bytes may be reused afterwards.
    ///
    /// # Errors
    /// [`CudaError`].
    fn write(&self, memory: &dyn Memory, at: u64, bytes: &[u8]) -> Result<(), CudaError>;

    /// Fills `bytes` from memory from byte `at` on, after everything that was asked before.
    ///
    /// # Errors
    /// [`CudaError`].
    fn read(&self, memory: &dyn Memory, at: u64, bytes: &mut [u8]) -> Result<(), CudaError>;

    /// Fills the first bytes of memory with zeros.
    ///
    /// # Errors
    /// [`CudaError`].
    fn clear(&self, memory: &dyn Memory, bytes: u64) -> Result<(), CudaError>;

    /// Copies between two memories of this card.
    ///
    /// # Errors
    /// [`CudaError`].
    fn copy(&self, from: &dyn Memory, to: &dyn Memory, bytes: u64) -> Result<(), CudaError>;

    /// Launches a kernel.
    ///
    /// # Errors
    /// [`CudaError`].
    ///
    /// # Safety
    /// The arguments are those of the kernel, and every address in them, or in tables they point at, is one of memory that
    /// lives until the kernel has ended.
    #[expect(unsafe_code, reason = "kernels take addresses")]
    unsafe fn launch(&self, kernel: Kernel, grid: Grid, arguments: &[u64]) -> Result<(), CudaError>;

    /// Waits until everything that was asked has taken place.
    ///
    /// # Errors
    /// [`CudaError`], also of a kernel that failed.
    fn synchronize(&self) -> Result<(), CudaError>;

    /// How many blocks it takes to keep the card busy.
    fn blocks(&self) -> u32;

    /// Threads of a block of a kernel that moves bytes.
    fn threads(&self) -> u32;
}

/// Memory of a card, given back when dropped.
///
/// # Safety
/// `bytes` bytes from `address` on are there until the value is dropped, and no other memory's.
#[expect(unsafe_code, reason = "copies trust the address")]
pub unsafe trait Memory: Send + Sync {
    /// Where it begins.
    fn address(&self) -> u64;

    /// How long it is.
    fn bytes(&self) -> u64;
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks that share a piece of work.
    pub x: u32,
    /// Pieces of work.
    pub y: u32,
    /// Threads of a block.
    pub threads: u32,
}

impl Grid {
    /// For a kernel that goes through rows, a warp to each.
    pub(super) fn of_rows(card: &impl Card, rows: u64) -> Self {
        let threads = card.threads();
        let blocks = rows.div_ceil(threads.div_ceil(WARP).into());
        Self { x: u32::try_from(blocks).map_or(card.blocks(), |blocks| blocks.min(card.blocks())), y: 1, threads }
    }
}

/// Threads that run in step.
pub(super) const WARP: u32 = 32;

/// The address of `bytes` bytes of memory from `at` on.
///
/// # Panics
/// If they are not inside: places are checked where they come from.
#[must_use]
pub fn address_of(memory: &dyn Memory, at: u64, bytes: u64) -> u64 {
    let end = at.checked_add(bytes).filter(|&end| end <= memory.bytes());
    assert!(end.is_some(), "{bytes} bytes at {at} are outside of {} bytes of a card's memory", memory.bytes());
    memory.address() + at
}
