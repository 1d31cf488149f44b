//! What can go wrong with cards and their libraries. Every variant says what was looked for, or on which card.

use thiserror::Error;

/// Why a card, its driver or its compiler did not do what was asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CudaError {
    /// A library that is loaded at run time is not there.
    #[error("{library} is not installed: none of {} can be loaded; {advice}", looked_for.join(", "))]
    NoLibrary {
        /// What it is.
        library: &'static str,
        /// File names that were tried on the loader's path.
        looked_for: Vec<String>,
        /// Where it comes from.
        advice: &'static str,
    },
    /// The driver is there and sees no card.
    #[error("the CUDA driver sees no device; check `nvidia-smi -L` and CUDA_VISIBLE_DEVICES")]
    NoDevice,
    /// More ranks than the cards can take turns for.
    #[error(
        "{world_size} ranks on {devices} devices: at most {per_device} may share a device, or they would wait for each other"
    )]
    TooManyRanks {
        /// Ranks asked for.
        world_size: u32,
        /// Cards present.
        devices: usize,
        /// Most ranks of a card.
        per_device: u32,
    },
    /// A card cannot write into the memory of another.
    #[error(
        "device {from} cannot map the memory of device {to}; use NCCL, or devices with peer access (`nvidia-smi topo -p2p w`)"
    )]
    NoPeerAccess {
        /// Who writes.
        from: usize,
        /// Whose memory.
        to: usize,
    },
    /// A call to the driver failed.
    #[error("device {device}: {doing} failed: {reason}")]
    Driver {
        /// Which card.
        device: usize,
        /// What was asked of it.
        doing: &'static str,
        /// What the driver said.
        reason: String,
    },
    /// A kernel does not compile.
    #[error("{kernel} does not compile for {architecture}: {log}")]
    Compile {
        /// File of the kernel.
        kernel: &'static str,
        /// For which cards.
        architecture: String,
        /// What the compiler said.
        log: String,
    },
    /// NCCL refused.
    #[error("NCCL: {doing} failed: {reason}")]
    Nccl {
        /// What was asked of it.
        doing: &'static str,
        /// What it said.
        reason: String,
    },
    /// A row that is added to others is itself a sum.
    #[error("tensor {tensor}: row {row} is added to another and is itself a sum; the kernel makes all sums at once")]
    SumOfSums {
        /// Position in the exchange.
        tensor: u32,
        /// The first such row of its run.
        row: u64,
    },
    /// Rows that do not hold whole elements.
    #[error("rows of {row_bytes} bytes do not hold whole elements of {element_bytes} bytes, so they cannot be summed")]
    BrokenElements {
        /// Bytes of a row.
        row_bytes: u64,
        /// Bytes of an element.
        element_bytes: u64,
    },
    /// The exchange is not one that can be executed.
    #[error(transparent)]
    Exchange(#[from] rankscope_dispatch::Error),
}
