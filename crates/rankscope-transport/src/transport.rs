//! What carries messages between the ranks of a job.

use std::time::Instant;

use rankscope_dispatch::movement::{self, ElementType, Kept};
use rankscope_dispatch::{RankExchange, TensorRows};
use rankscope_time::Rank;

use crate::TransportError;
use crate::execute::{ExecuteError, Timing};

/// One rank's end of a job's connections.
///
/// Every rank of the job calls [`Self::all_to_all`] the same number of times with the slices of the same exchanges in the same
/// order, also a rank that neither sends nor receives: the calls are what the ranks count by.
pub trait Transport {
    /// Which rank this end belongs to.
    fn rank(&self) -> Rank;

    /// Ranks of the job.
    fn world_size(&self) -> u32;

    /// Moves what `exchange`, this rank's slice, says. Afterwards `receive` holds what every peer sent; bytes of it that no
    /// message covers are as they were. `send` and `receive` are as long as the exchange says.
    ///
    /// # Errors
    /// [`TransportError`]. The job cannot go on after an error: ranks may have stopped at different calls.
    fn all_to_all(&mut self, exchange: &RankExchange, send: &[u8], receive: &mut [u8]) -> Result<(), TransportError>;

    /// Waits until every rank has come here, so that what is measured afterwards is not who came late. A backend that cannot
    /// wait returns at once.
    ///
    /// # Errors
    /// [`TransportError`].
    fn barrier(&mut self) -> Result<(), TransportError> {
        Ok(())
    }

    /// Executes `part` whole, from the tensors of this rank before the exchange to those after it. Here packing and unpacking
    /// are the simulator's own functions, and what the rank keeps goes through no buffer; a backend whose memory is elsewhere
    /// does all of it there.
    ///
    /// # Errors
    /// [`ExecuteError`]. The job cannot go on after an error.
    fn exchange(
        &mut self,
        part: &RankExchange,
        tensors: &[TensorRows],
        element: ElementType,
        input: &[Vec<u8>],
    ) -> Result<(Vec<Vec<u8>>, Timing), ExecuteError> {
        let kept = Kept::of(part, tensors);
        let crossing = &kept.crossing;
        let begun = Instant::now();
        let input = movement::summed(crossing, tensors, element, input)?;
        let send = movement::pack_rows(crossing, tensors, &input)?;
        let pack = begun.elapsed();

        let mut receive = vec![0; part.receive_bytes as usize];
        self.barrier()?;
        let begun = Instant::now();
        self.all_to_all(crossing, &send, &mut receive)?;
        let exchange = begun.elapsed();

        let begun = Instant::now();
        let mut output = movement::unpack_rows(crossing, tensors, &receive)?;
        let unpack = begun.elapsed();
        let begun = Instant::now();
        kept.copy(tensors, &input, &mut output)?;
        let keep = begun.elapsed();
        let begun = Instant::now();
        movement::sum_after(crossing, tensors, element, &mut output)?;
        Ok((output, Timing { pack, exchange, unpack: unpack + begun.elapsed(), keep }))
    }
}
