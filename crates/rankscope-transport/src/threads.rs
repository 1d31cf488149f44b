//! Ranks as threads of one process, with receive buffers that all of them write: the protocol of the GPU kernels with nothing
//! taken out but the GPU. What it is, and why it is right, is in [`protocol`].
//!
//! A rank that leaves, or does not come, is named to those who wait for it; nobody waits for ever. Words per pair of ranks make
//! this a backend for hundreds of ranks, not for thousands.

mod protocol;

use std::iter;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rankscope_dispatch::RankExchange;
use rankscope_time::Rank;

use self::protocol::{Board, WORD_BYTES, Word};
use crate::messages::{self, index, spread};
use crate::{Transport, TransportError};

/// One rank among threads. Dropping it is leaving the job.
pub struct Threads {
    rank: Rank,
    ranks: Arc<[Shared]>,
    epoch: u64,
    barriers: u64,
    patience: Duration,
}

/// What a rank has in common with the others.
struct Shared {
    board: Board<AtomicU64>,
    /// Replaced by its owner alone, before it announces the epoch that needs more.
    memory: Mutex<Arc<[AtomicU64]>>,
    /// How often the rank has come to a barrier.
    barriers: AtomicU64,
    has_left: AtomicBool,
}

impl Threads {
    /// The ends of a job of `world_size` ranks, by rank; each is given to a thread. Whoever waits for a peer for longer than
    /// `patience` gives up.
    #[must_use]
    pub fn job(world_size: u32, patience: Duration) -> Vec<Self> {
        let ranks: Arc<[Shared]> = (0..world_size).map(|_| Shared::new(world_size)).collect();
        let end = |rank| Self { rank: Rank(rank), ranks: ranks.clone(), epoch: 0, barriers: 0, patience };
        (0..world_size).map(end).collect()
    }

    fn send(&self, peer: Rank, at: u64, bytes: &[u8]) -> Result<(), TransportError> {
        let shared = &self.ranks[peer.0 as usize];
        self.wait(peer, || shared.board.is_announced(self.epoch).then_some(()))?;
        let memory = shared.memory();
        messages::within(peer, self.rank, at, bytes.len() as u64, (memory.len() * WORD_BYTES) as u64)?;
        protocol::put(&memory, index(at), bytes);
        shared.board.signal(index(self.rank.0.into()), self.epoch, bytes.len() as u64);
        Ok(())
    }

    fn receive(&self, peer: Rank, at: u64, bytes: &mut [u8]) -> Result<(), TransportError> {
        let own = &self.ranks[self.rank.0 as usize];
        let actual = self.wait(peer, || own.board.signalled(index(peer.0.into()), self.epoch))?;
        let expected = bytes.len() as u64;
        if actual != expected {
            return Err(TransportError::SizeMismatch { rank: self.rank, peer, expected, actual });
        }
        protocol::read(&own.memory(), index(at), bytes);
        Ok(())
    }

    /// Looks often at first, because peers are usually a moment behind; then lets others run, then sleeps between looks.
    fn wait<T>(&self, peer: Rank, condition: impl Fn() -> Option<T>) -> Result<T, TransportError> {
        let begun = Instant::now();
        for look in 0_u32.. {
            // Asked first: what a peer did before it left counts.
            let has_left = self.ranks[peer.0 as usize].has_left.load(Ordering::Acquire);
            if let Some(found) = condition() {
                return Ok(found);
            }
            let (rank, epoch) = (self.rank, self.epoch);
            if has_left {
                return Err(TransportError::PeerLeft { rank, peer, epoch });
            }
            match look {
                0..SPINS => std::hint::spin_loop(),
                SPINS..YIELDS => thread::yield_now(),
                _ if begun.elapsed() > self.patience => break,
                _ => thread::park_timeout(PAUSE),
            }
        }
        Err(TransportError::Timeout { rank: self.rank, peer, epoch: self.epoch, waited: begun.elapsed() })
    }
}

impl Transport for Threads {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn world_size(&self) -> u32 {
        self.ranks.len() as u32
    }

    fn all_to_all(&mut self, exchange: &RankExchange, send: &[u8], receive: &mut [u8]) -> Result<(), TransportError> {
        messages::check(self, exchange, send, receive)?;
        self.epoch += 1;
        let own = &self.ranks[self.rank.0 as usize];
        own.grow(receive.len());
        own.board.announce(self.epoch);

        for message in spread(&exchange.sends, self.rank) {
            self.send(message.peer, message.peer_at, messages::run(message, send))?;
        }
        messages::keep(exchange, send, receive);
        for message in spread(&exchange.receives, self.rank) {
            self.receive(message.peer, message.at, messages::run_mut(message, receive))?;
        }
        Ok(())
    }

    fn barrier(&mut self) -> Result<(), TransportError> {
        self.barriers += 1;
        self.ranks[self.rank.0 as usize].barriers.store(self.barriers, Ordering::Release);
        for (peer, shared) in (0..).map(Rank).zip(self.ranks.iter()) {
            self.wait(peer, || (shared.barriers.load(Ordering::Acquire) >= self.barriers).then_some(()))?;
        }
        Ok(())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.ranks[self.rank.0 as usize].has_left.store(true, Ordering::Release);
    }
}

impl Shared {
    fn new(world_size: u32) -> Self {
        let board = Board::new(world_size, AtomicU64::default);
        Self { board, memory: Mutex::new(Arc::new([])), barriers: AtomicU64::new(0), has_left: AtomicBool::new(false) }
    }

    fn memory(&self) -> Arc<[AtomicU64]> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn grow(&self, bytes: usize) {
        let words = bytes.div_ceil(WORD_BYTES);
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() < words {
            *memory = iter::repeat_with(AtomicU64::default).take(words).collect();
        }
    }
}

impl Word for AtomicU64 {
    fn load(&self, order: Ordering) -> u64 {
        self.load(order)
    }

    fn store(&self, value: u64, order: Ordering) {
        self.store(value, order);
    }

    fn store_bits(&self, mask: u64, value: u64) {
        self.fetch_and(!mask, Ordering::Relaxed);
        self.fetch_or(value & mask, Ordering::Relaxed);
    }
}

/// Looks before the first yield: about as long as a small put takes.
const SPINS: u32 = 64;
/// Looks before the first sleep: with more ranks than cores the peer has had its turn by then.
const YIELDS: u32 = 1024;
/// Between later looks. Short beside an exchange that was worth waiting for so long.
const PAUSE: Duration = Duration::from_micros(50);
