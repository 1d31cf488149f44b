//! An exchange as one-sided puts: the protocol of `threads`, with what MPI calls its parts.
//!
//! * Announcement and growth are one collective: an allreduce over the largest receive buffer. Who has come out of it knows that
//!   everybody has copied out the exchange before, and all decide alike whether windows must grow.
//! * A put, and the size that goes with it, are flushed before the signal is added: a flush ends when the bytes are at the
//!   target. Signals count exchanges between a pair and are never reset.
//! * The receiver reads its signals with the same atomic operation that adds to them, and then the window.

use std::time::{Duration, Instant};

use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::CommunicatorCollectives;
use rankscope_dispatch::RankExchange;
use rankscope_time::Rank;

use super::window::Window;
use crate::TransportError;
use crate::messages::{self, spread};

pub(super) struct Put {
    rank: Rank,
    epoch: u64,
    /// A signal per sender, then the size of its message.
    board: Window,
    receive: Window,
    world_size: u32,
    /// How often each sender has sent to this rank.
    expected: Vec<u64>,
}

impl Put {
    /// All ranks call it together.
    pub(super) fn new(world: &SimpleCommunicator, rank: Rank, world_size: u32) -> Result<Self, TransportError> {
        let board = Window::allocate(world, rank, 2 * WORD_BYTES * u64::from(world_size))?;
        let receive = Window::allocate(world, rank, 0)?;
        Ok(Self { rank, epoch: 0, board, receive, world_size, expected: vec![0; world_size as usize] })
    }

    pub(super) fn all_to_all(
        &mut self,
        world: &SimpleCommunicator,
        exchange: &RankExchange,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), TransportError> {
        self.epoch += 1;
        self.agree(world, receive.len() as u64)?;

        for message in spread(&exchange.sends, self.rank) {
            messages::within(message.peer, self.rank, message.peer_at, message.bytes, self.receive.bytes())?;
            self.receive.put(message.peer, message.peer_at, messages::run(message, send))?;
            self.board.put(message.peer, self.size_at(self.rank), &message.bytes.to_ne_bytes())?;
            self.board.add(message.peer, signal_at(self.rank), 1)?;
        }
        for message in spread(&exchange.receives, self.rank) {
            self.wait(message.peer)?;
            let (rank, peer, expected) = (self.rank, message.peer, message.bytes);
            let actual = self.board.word(self.size_at(peer))?;
            if actual != expected {
                return Err(TransportError::SizeMismatch { rank, peer, expected, actual });
            }
            self.receive.read(message.at, messages::run_mut(message, receive))?;
        }
        Ok(())
    }

    /// Waits until every rank is in this exchange, and grows all windows if one must grow: allocating is collective.
    fn agree(&mut self, world: &SimpleCommunicator, needed: u64) -> Result<(), TransportError> {
        let mut largest = 0_u64;
        world.all_reduce_into(&needed, &mut largest, SystemOperation::max());
        if largest > self.receive.bytes() {
            self.receive = Window::allocate(world, self.rank, largest.next_power_of_two())?;
        }
        Ok(())
    }

    fn wait(&mut self, peer: Rank) -> Result<(), TransportError> {
        let expected = &mut self.expected[peer.0 as usize];
        *expected += 1;
        let (begun, expected) = (Instant::now(), *expected);
        while self.board.word(signal_at(peer))? < expected {
            let waited = begun.elapsed();
            if waited > PATIENCE {
                return Err(TransportError::Timeout { rank: self.rank, peer, epoch: self.epoch, waited });
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    fn size_at(&self, sender: Rank) -> u64 {
        WORD_BYTES * (u64::from(self.world_size) + u64::from(sender.0))
    }
}

/// Where the signal of a sender lies on the board of its receiver.
fn signal_at(sender: Rank) -> u64 {
    WORD_BYTES * u64::from(sender.0)
}

const WORD_BYTES: u64 = 8;
/// Everybody is known to be in the exchange, so what is waited for is a transfer; none takes so long.
const PATIENCE: Duration = Duration::from_secs(120);
