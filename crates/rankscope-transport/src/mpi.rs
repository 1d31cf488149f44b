//! Ranks as processes under `mpirun`, over any MPI that rsmpi can be built against.
//!
//! Two ways of moving the same bytes: one [`Mode::Alltoallv`] with the counts of the plan, or [`Mode::Put`], the one-sided
//! protocol of the GPU kernels. MPI's own errors end the job, as is its default; what this module finds out itself is returned,
//! and whoever gets an error calls [`Mpi::abort`], because the other processes may be waiting.

mod alltoallv;
mod put;
mod window;

use std::time::Duration;

use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use rankscope_dispatch::RankExchange;
use rankscope_time::Rank;

use self::put::Put;
use crate::execute::Timing;
use crate::{Transport, TransportError, messages};

/// How an exchange is given to MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One collective call.
    Alltoallv,
    /// One-sided puts into a window of the receiver, each followed by a signal.
    Put,
}

/// This process's end of the job.
pub struct Mpi {
    rank: Rank,
    world_size: u32,
    /// Before the universe, which ends MPI: fields are dropped in order.
    put: Option<Put>,
    world: SimpleCommunicator,
    _universe: Universe,
}

impl Mpi {
    /// Starts MPI. Once in a process: MPI does not start twice.
    ///
    /// # Errors
    /// [`TransportError::Unavailable`] when it was started before, [`TransportError::Library`].
    pub fn start(mode: Mode) -> Result<Self, TransportError> {
        let unavailable = || TransportError::Unavailable { backend: "MPI", reason: "it has been started before".to_owned() };
        let universe = mpi::initialize().ok_or_else(unavailable)?;
        let world = universe.world();
        let (rank, world_size) = (Rank(world.rank() as u32), world.size() as u32);
        let put = match mode {
            Mode::Alltoallv => None,
            Mode::Put => Some(Put::new(&world, rank, world_size)?),
        };
        Ok(Self { rank, world_size, put, world, _universe: universe })
    }

    /// The times of the slowest rank. All ranks call it together.
    #[must_use]
    pub fn slowest(&self, timing: Timing) -> Timing {
        let own = [timing.pack, timing.exchange, timing.unpack, timing.keep].map(|part| part.as_nanos() as u64);
        let mut slowest = [0; 4];
        self.world.all_reduce_into(&own, &mut slowest, SystemOperation::max());
        let [pack, exchange, unpack, keep] = slowest.map(Duration::from_nanos);
        Timing { pack, exchange, unpack, keep }
    }

    /// Ends all processes of the job with this exit status.
    pub fn abort(&self, status: i32) -> ! {
        self.world.abort(status)
    }
}

impl Transport for Mpi {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn world_size(&self) -> u32 {
        self.world_size
    }

    fn all_to_all(&mut self, exchange: &RankExchange, send: &[u8], receive: &mut [u8]) -> Result<(), TransportError> {
        messages::check(self, exchange, send, receive)?;
        match &mut self.put {
            Some(put) => put.all_to_all(&self.world, exchange, send, receive)?,
            None => alltoallv::all_to_all(&self.world, exchange, send, receive)?,
        }
        messages::keep(exchange, send, receive);
        Ok(())
    }

    fn barrier(&mut self) -> Result<(), TransportError> {
        self.world.barrier();
        Ok(())
    }
}
