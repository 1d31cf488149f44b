//! What carries messages between the ranks of a job.

use rankscope_dispatch::RankExchange;
use rankscope_time::Rank;

use crate::TransportError;

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
}
