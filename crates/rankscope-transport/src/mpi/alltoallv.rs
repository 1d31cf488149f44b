//! An exchange as one `MPI_Alltoallv`.

use mpi::datatype::{MutView, Partition, PartitionMut, UserDatatype, View};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Equivalence};
use rankscope_dispatch::RankExchange;

use crate::messages::index;
use crate::{Counts, TransportError};

/// Every process of `world` calls it. Runs of the receive buffer that no message covers are left alone by MPI.
#[expect(unsafe_code, reason = "only an unsafe view can count a buffer of bytes in units of 16")]
pub(super) fn all_to_all(
    world: &SimpleCommunicator,
    exchange: &RankExchange,
    send: &[u8],
    receive: &mut [u8],
) -> Result<(), TransportError> {
    let world_size = world.size() as u32;
    let sends = Counts::new(&exchange.sends, exchange.rank, world_size)?;
    let receives = Counts::new(&exchange.receives, exchange.rank, world_size)?;

    // An empty slice of bytes points to address 1, which in Open MPI is MPI_IN_PLACE.
    let (send, mut nothing) = (if send.is_empty() { &[0] } else { send }, [0]);
    let receive = if receive.is_empty() { &mut nothing } else { receive };

    let datatype = |counts: &Counts| UserDatatype::contiguous(counts.unit_bytes as i32, &u8::equivalent_datatype());
    let (send_type, receive_type) = (datatype(&sends), datatype(&receives));
    let (send_units, receive_units) = (units(send, &sends), units(receive, &receives));
    // SAFETY: `units` elements of `unit_bytes` contiguous bytes are not longer than the buffer, and bytes have no padding.
    let send = unsafe { View::with_count_and_datatype(send, send_units, &send_type) };
    // SAFETY: likewise; any byte may be written into a buffer of bytes.
    let mut receive = unsafe { MutView::with_count_and_datatype(receive, receive_units, &receive_type) };
    world.all_to_all_varcount_into(
        &Partition::new(&send, sends.counts, sends.displacements),
        &mut PartitionMut::new(&mut receive, receives.counts, receives.displacements),
    );
    Ok(())
}

/// Whole units of a buffer, as far as they can be counted: `Counts` has seen to it that no message lies behind them.
fn units(buffer: &[u8], counts: &Counts) -> i32 {
    i32::try_from(buffer.len() / index(counts.unit_bytes)).unwrap_or(i32::MAX)
}
