//! What can go wrong between ranks.

use std::time::Duration;

use rankscope_time::Rank;
use thiserror::Error;

/// Why an exchange did not take place. A fragment that reads after "failed to ...": it names the ranks and the sizes.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The caller's buffers are not those of the exchange.
    #[error("rank {rank}: the {buffer} buffer has {actual} bytes where the exchange has {expected}")]
    BufferSize {
        /// Whose buffer.
        rank: Rank,
        /// "send" or "receive".
        buffer: &'static str,
        /// What the exchange says.
        expected: u64,
        /// What was handed over.
        actual: u64,
    },
    /// The slice is another rank's.
    #[error("rank {rank}: was handed the slice of rank {slice}")]
    OtherRank {
        /// Who executes.
        rank: Rank,
        /// Whose slice it is.
        slice: Rank,
    },
    /// A message reaches outside its buffer.
    #[error("rank {rank}: the message with rank {peer} ({bytes} bytes at {at}) does not fit into {of} bytes")]
    MessageOutOfBounds {
        /// Whose message.
        rank: Rank,
        /// With whom.
        peer: Rank,
        /// Where it starts.
        at: u64,
        /// How long it is.
        bytes: u64,
        /// The buffer.
        of: u64,
    },
    /// Neither bytes nor units of 16 bytes can say in an `int` where a message lies.
    #[error("rank {rank}: the {bytes} bytes at {at} for rank {peer} are beyond what MPI counts; put has no such limit")]
    TooLarge {
        /// Whose buffer.
        rank: Rank,
        /// With whom.
        peer: Rank,
        /// Where the message starts.
        at: u64,
        /// How long it is.
        bytes: u64,
    },
    /// Sender and receiver were handed slices of different exchanges.
    #[error("rank {rank}: rank {peer} sent {actual} bytes where {expected} were expected; are both executing the same plan?")]
    SizeMismatch {
        /// Who received.
        rank: Rank,
        /// Who sent.
        peer: Rank,
        /// What the receiver's slice says.
        expected: u64,
        /// What arrived.
        actual: u64,
    },
    /// A peer did not do its part in time.
    #[error("rank {rank}: waited {} s for rank {peer} in exchange {epoch}, without success", waited.as_secs())]
    Timeout {
        /// Who waited.
        rank: Rank,
        /// The form to write.
        peer: Rank,
        /// In which call, counted from 1.
        epoch: u64,
        /// How long.
        waited: Duration,
    },
    /// A peer is not there any more.
    #[error("rank {rank}: rank {peer} left the job before exchange {epoch} was done")]
    PeerLeft {
        /// Who needed it.
        rank: Rank,
        /// Who left.
        peer: Rank,
        /// In which call, counted from 1.
        epoch: u64,
    },
    /// The exchange is for another number of ranks than the backend has.
    #[error("the plan is for {plan} ranks and the backend has {backend}; {advice}")]
    WorldSize {
        /// Ranks of the plan.
        plan: u32,
        /// Ranks of the backend.
        backend: u32,
        /// What to do.
        advice: &'static str,
    },
    /// A card or its libraries.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Cuda(#[from] crate::cuda::CudaError),
    /// The library of the backend refused a call.
    #[error("rank {rank}: {call} returned {code}")]
    Library {
        /// Who called.
        rank: Rank,
        /// What was called.
        call: &'static str,
        /// What it said.
        code: i32,
    },
    /// The backend cannot be started here.
    #[error("{backend} cannot be started: {reason}")]
    Unavailable {
        /// Which backend.
        backend: &'static str,
        /// Why not, and what to do.
        reason: String,
    },
}
