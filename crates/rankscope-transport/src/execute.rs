//! Executing exchanges with real transports, every byte compared with the simulator.
//!
//! Unless a backend packs and unpacks where its memory is, the simulator's own functions do; what is put to the test then is
//! everything between the send buffers of all ranks and the receive buffer of each. Inputs are drawn from a seed, so that any process can work out what any other one
//! sends, and nothing but the exchange itself crosses the network.

mod difference;
mod trial;

use std::time::Duration;

use rankscope_dispatch::movement::ElementType;
use rankscope_dispatch::{RankExchange, TensorRows};
use rankscope_time::Rank;
use thiserror::Error;

use crate::{Transport, TransportError};

pub use difference::Difference;
pub use trial::{Outcome, Trial};

/// Why an execution was not what the plan says.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The transport gave up.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The plan cannot be executed.
    #[error(transparent)]
    Plan(#[from] rankscope_dispatch::Error),
    /// Something else arrived than the simulator says.
    #[error("{0}")]
    Different(Difference),
    /// A thread of the job panicked.
    #[error("the thread of rank {0} panicked")]
    Panicked(Rank),
}

/// Where the time of one rank in one exchange went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// From tensors to the send buffer.
    pub pack: Duration,
    /// Moving the messages, measured from when all ranks were ready.
    pub exchange: Duration,
    /// From the receive buffer to tensors.
    pub unpack: Duration,
    /// From tensors to tensors: what the rank keeps, where that goes through no buffer. Nothing where a backend does not tell.
    pub keep: Duration,
}

/// The tensors of a rank before an exchange.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a>(pub &'a [Vec<u8>]);

/// The tensors of a rank after an exchange, as the simulator has them.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a>(pub &'a [Vec<u8>]);

/// One rank's part of one exchange: packs `input`, exchanges, unpacks, and compares the result with `expected`.
///
/// # Errors
/// [`ExecuteError::Transport`] when the messages did not get through, [`ExecuteError::Plan`] when `part` cannot be packed or unpacked
/// with these tensors, [`ExecuteError::Different`] with the first byte that is not `expected`.
pub fn execute(
    transport: &mut impl Transport,
    part: &RankExchange,
    tensors: &[TensorRows],
    element: ElementType,
    input: Input<'_>,
    expected: Expected<'_>,
) -> Result<Timing, ExecuteError> {
    let (output, timing) = transport.exchange(part, tensors, element, input.0)?;
    match Difference::first(part.rank, tensors, &output, expected) {
        Some(difference) => Err(ExecuteError::Different(difference)),
        None => Ok(timing),
    }
}
