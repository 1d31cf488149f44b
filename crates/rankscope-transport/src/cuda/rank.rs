//! A rank of a job on cards: the protocol of the kernels, as the host drives it.
//!
//! What is shared by all ranks is in [`Ground`]; the words and buffers others write to are published there. Words are never
//! reset: an exchange has a number, and everything that is waited for is "at least" some number.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rankscope_dispatch::movement::{self, ElementType};
use rankscope_dispatch::{Join, Message, RankExchange, TensorRows};
use rankscope_time::Rank;

use super::card::{Card, Grid, Memory, WARP};
use super::error::CudaError;
use super::kernels::Kernel;
use super::meeting::Meeting;
use super::tables::{Put, Table, Tables};
use crate::execute::{ExecuteError, Timing};
use crate::messages::{self, index, spread};
use crate::{Transport, TransportError};

/// One rank's end of a job on cards. Dropping it is leaving the job.
pub struct CudaRank<C: Card> {
    pub(super) rank: Rank,
    pub(super) card: C,
    ground: Arc<Ground>,
    epoch: u64,
    patience: Duration,
    words: Words,
    receive: [Arc<dyn Memory>; 2],
    pub(super) send: Arc<dyn Memory>,
    pub(super) tables: Arc<dyn Memory>,
    /// Tensors before and after, when an exchange takes place on the card.
    pub(super) tensors: [Arc<dyn Memory>; 2],
}

/// What the ranks have in common. It keeps the memory of all until the last has left, since any of them may still write to it.
struct Ground {
    meeting: Meeting,
    mapped: Vec<Mutex<Mapped>>,
}

/// The memory of a rank that others write to.
#[derive(Clone)]
struct Mapped {
    words: Words,
    receive: [Arc<dyn Memory>; 2],
}

/// A rank's words: signals and "is free" by peer, what its waits last saw of both, whether it has stopped, and the counters of
/// blocks, which are half as wide.
#[derive(Clone)]
struct Words {
    memory: Arc<dyn Memory>,
    ranks: u64,
}

/// An exchange that is about to be carried out.
pub(super) struct Round {
    set: usize,
    puts: Table,
    /// Peers that are written to, and those that write.
    receivers: Table,
    senders: Table,
    releases: Table,
    slices: u32,
}

impl<C: Card> CudaRank<C> {
    /// The ends of a job with one rank per card queue, by rank; each is given to a thread.
    ///
    /// # Errors
    /// [`CudaError`] when there is no memory.
    pub fn job(cards: Vec<C>, patience: Duration) -> Result<Vec<Self>, CudaError> {
        let ranks = u32::try_from(cards.len()).expect("ranks are counted in 32 bits");
        let mut mapped = Vec::new();
        for card in &cards {
            let words = Words { memory: card.allocate(Words::bytes(ranks.into()))?, ranks: ranks.into() };
            mapped.push(Mapped { words, receive: [card.allocate(0)?, card.allocate(0)?] });
        }
        let ground = mapped.iter().cloned().map(Mutex::new).collect();
        let ground = Arc::new(Ground { meeting: Meeting::new(ranks, patience), mapped: ground });
        let end = |(rank, (card, Mapped { words, receive })): (u32, (C, Mapped))| {
            let none = || card.allocate(0);
            let (send, tables, tensors) = (none()?, none()?, [none()?, none()?]);
            Ok(Self {
                rank: Rank(rank),
                ground: ground.clone(),
                epoch: 0,
                patience,
                words,
                receive,
                send,
                tables,
                tensors,
                card,
            })
        };
        (0..ranks).zip(cards.into_iter().zip(mapped)).map(end).collect()
    }

    /// Meets the others, grows the receive buffers if somebody needs it, and says where everything of this exchange goes.
    pub(super) fn begin(&mut self, exchange: &RankExchange, tables: &mut Tables) -> Result<Round, TransportError> {
        reserve(&self.card, &mut self.send, exchange.send_bytes)?;
        self.epoch += 1;
        let needed = self.agree(exchange.receive_bytes)?;
        if needed > self.receive[0].bytes() {
            self.grow(needed)?;
        }
        let set = usize::from(!self.epoch.is_multiple_of(2));
        let others = |messages: &[Message]| -> Vec<[u64; 1]> {
            spread(messages, self.rank).map(|message| [message.peer.0.into()]).collect()
        };
        let mut puts = Vec::new();
        for message in spread(&exchange.sends, self.rank) {
            let peer = self.ground.mapped(message.peer);
            messages::within(message.peer, self.rank, message.peer_at, message.bytes, peer.receive[set].bytes())?;
            puts.push(self.put(message, &peer, set, peer.words.signal_of(self.rank)));
        }
        if let Some(own) = messages::own(&exchange.sends, self.rank) {
            messages::within(self.rank, self.rank, own.peer_at, own.bytes, self.receive[set].bytes())?;
            puts.push(self.put(own, &self.ground.mapped(self.rank), set, 0));
        }
        let peers = (0..self.ground.mapped.len() as u32).map(Rank).filter(|peer| *peer != self.rank);
        let longest = exchange.sends.iter().map(|message| message.bytes).max().unwrap_or(0);
        Ok(Round {
            set,
            slices: slices(puts.len() as u64, longest, self.card.blocks()),
            puts: tables.puts(puts),
            receivers: tables.push(others(&exchange.sends)),
            senders: tables.push(others(&exchange.receives)),
            releases: tables.push(peers.map(|peer| [self.ground.mapped(peer).words.free_of(self.rank)])),
        })
    }

    fn put(&self, message: &Message, peer: &Mapped, set: usize, signal: u64) -> Put {
        Put {
            from: self.send.address() + message.at,
            to: peer.receive[set].address() + message.peer_at,
            bytes: message.bytes,
            signal,
            arrived: self.words.arrived(message.peer),
        }
    }

    /// Brings the tables to the card.
    pub(super) fn upload(&mut self, tables: &Tables) -> Result<(), CudaError> {
        let bytes = tables.bytes();
        reserve(&self.card, &mut self.tables, bytes.len() as u64)?;
        self.card.write(&*self.tables, 0, &bytes)
    }

    /// From the send buffer to the receive buffers: waits until they are empty, puts, waits for what the others put.
    pub(super) fn deliver(&self, round: &Round) -> Result<(), TransportError> {
        let emptied = self.epoch.saturating_sub(SETS);
        self.wait(self.words.frees(), round.receivers, emptied, self.words.seen_free())?;
        if round.puts.entries > 0 {
            let grid = Grid { x: round.slices, y: count(round.puts.entries), threads: self.card.threads() };
            self.launch(Kernel::Put, grid, &[self.at(round.puts), self.epoch, self.words.halted()])?;
        }
        // A card that has run out of queues runs grids in the order they came: no wait may come before a put it waits for.
        self.meet()?;
        Ok(self.wait(self.words.signals(), round.senders, self.epoch, self.words.seen_signal())?)
    }

    fn wait(&self, words: u64, peers: Table, epoch: u64, seen: u64) -> Result<(), CudaError> {
        if peers.entries == 0 || epoch == 0 {
            return Ok(());
        }
        let patience_ns = u64::try_from(self.patience.as_nanos()).unwrap_or(u64::MAX);
        let arguments = [words, self.at(peers), peers.entries, epoch, patience_ns, seen, self.words.halted()];
        self.launch(Kernel::WaitFor, self.small(peers), &arguments)
    }

    /// Tells the others that what they wrote has been read.
    pub(super) fn finish(&self, round: &Round) -> Result<(), CudaError> {
        if round.releases.entries == 0 {
            return Ok(());
        }
        let arguments = [self.at(round.releases), round.releases.entries, self.epoch, self.words.halted()];
        self.launch(Kernel::Release, self.small(round.releases), &arguments)
    }

    /// Whether the waits of this exchange have seen what they waited for.
    pub(super) fn check(&self, exchange: &RankExchange) -> Result<(), TransportError> {
        let seen = self.words.read(&self.card)?;
        if seen.halted == 0 {
            return Ok(());
        }
        let late = |messages: &[Message], seen: &[u64], epoch| {
            spread(messages, self.rank).zip(seen).find(|(_, seen)| **seen < epoch).map(|(message, _)| message.peer)
        };
        let (free, signal) = seen.peers.split_at(index(self.words.ranks));
        let peer = late(&exchange.sends, free, self.epoch.saturating_sub(SETS));
        let peer = peer.or_else(|| late(&exchange.receives, signal, self.epoch));
        let peer = peer.expect("a rank stops only when a peer was late");
        Err(TransportError::Timeout { rank: self.rank, peer, epoch: self.epoch, waited: self.patience })
    }

    pub(super) fn received(&self, round: &Round) -> &dyn Memory {
        &*self.receive[round.set]
    }

    /// Where the kernels of this rank look whether to go on.
    pub(super) fn halted(&self) -> u64 {
        self.words.halted()
    }

    /// The address of an uploaded table.
    pub(super) fn at(&self, table: Table) -> u64 {
        self.tables.address() + table.at
    }

    pub(super) fn launch(&self, kernel: Kernel, grid: Grid, arguments: &[u64]) -> Result<(), CudaError> {
        // SAFETY: arguments come in the order of the kernel; addresses are of this rank's memory, which it replaces only when
        // the card is idle, or of memory others have published, which lives as long as the ground all ranks stand on.
        #[expect(unsafe_code, reason = "kernels take addresses")]
        unsafe {
            self.card.launch(kernel, grid, arguments)
        }
    }

    pub(super) fn leave(&self) {
        self.ground.meeting.leave(self.rank);
    }

    /// Waits until all ranks have come here.
    pub(super) fn meet(&self) -> Result<(), TransportError> {
        self.agree(0).map(|_| ())
    }

    fn agree(&self, number: u64) -> Result<u64, TransportError> {
        self.ground.meeting.agree(self.rank, self.epoch, number)
    }

    /// All ranks come here in the same exchange, since all have heard the same number.
    fn grow(&mut self, needed: u64) -> Result<(), TransportError> {
        let bytes = needed.checked_next_power_of_two().unwrap_or(needed);
        self.card.synchronize()?;
        // From here on nobody writes to anybody.
        self.meet()?;
        self.receive = [self.card.allocate(bytes)?, self.card.allocate(bytes)?];
        self.ground.publish(self.rank, self.receive.clone());
        self.meet()?;
        Ok(())
    }

    fn small(&self, table: Table) -> Grid {
        Grid { x: 1, y: 1, threads: self.card.threads().min(count(table.entries).next_multiple_of(WARP)) }
    }

    fn carry(&mut self, exchange: &RankExchange, send: &[u8], receive: &mut [u8]) -> Result<(), TransportError> {
        let mut tables = Tables::default();
        let round = self.begin(exchange, &mut tables)?;
        self.upload(&tables)?;
        self.card.write(&*self.send, 0, send)?;
        self.deliver(&round)?;
        self.check(exchange)?;
        for message in &exchange.receives {
            self.card.read(self.received(&round), message.at, messages::run_mut(message, receive))?;
        }
        Ok(self.finish(&round)?)
    }
}

impl<C: Card> Transport for CudaRank<C> {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn world_size(&self) -> u32 {
        self.ground.mapped.len() as u32
    }

    fn all_to_all(&mut self, exchange: &RankExchange, send: &[u8], receive: &mut [u8]) -> Result<(), TransportError> {
        messages::check(self, exchange, send, receive)?;
        self.carry(exchange, send, receive).inspect_err(|_| self.leave())
    }

    fn barrier(&mut self) -> Result<(), TransportError> {
        self.meet()
    }

    fn exchange(
        &mut self,
        part: &RankExchange,
        tensors: &[TensorRows],
        element: ElementType,
        input: &[Vec<u8>],
    ) -> Result<(Vec<Vec<u8>>, Timing), ExecuteError> {
        if tensors.iter().all(|tensor| tensor.join == Join::Add) {
            return Ok(self.exchange_tensors(part, tensors, element, input)?);
        }
        // The card has no kernel that merges partial outputs: they are joined here, before and after.
        let input: Vec<Vec<u8>> = movement::summed(part, tensors, element, input)?.into_iter().map(Cow::into_owned).collect();
        let moved = RankExchange { sums_before: Vec::new(), sums_after: Vec::new(), ..part.clone() };
        let (mut output, timing) = self.exchange_tensors(&moved, tensors, element, &input)?;
        movement::sum_after(part, tensors, element, &mut output)?;
        Ok((output, timing))
    }
}

impl<C: Card> Drop for CudaRank<C> {
    fn drop(&mut self) {
        self.leave();
        // What this rank has queued uses memory that it is about to give up. A card that fails here has failed before, and
        // said so then.
        let _ = self.card.synchronize();
    }
}

impl Ground {
    fn mapped(&self, rank: Rank) -> Mapped {
        self.mapped[rank.0 as usize].lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn publish(&self, rank: Rank, receive: [Arc<dyn Memory>; 2]) {
        self.mapped[rank.0 as usize].lock().unwrap_or_else(PoisonError::into_inner).receive = receive;
    }
}

/// What the host reads of the words.
struct Seen {
    /// Frees, then signals, in the order they were waited for.
    peers: Vec<u64>,
    halted: u64,
}

impl Words {
    fn bytes(ranks: u64) -> u64 {
        8 * (4 * ranks + 1) + 4 * ranks
    }

    fn signals(&self) -> u64 {
        self.memory.address()
    }

    fn frees(&self) -> u64 {
        self.memory.address() + 8 * self.ranks
    }

    fn seen_free(&self) -> u64 {
        self.memory.address() + 16 * self.ranks
    }

    fn seen_signal(&self) -> u64 {
        self.memory.address() + 24 * self.ranks
    }

    fn halted(&self) -> u64 {
        self.memory.address() + 32 * self.ranks
    }

    fn arrived(&self, peer: Rank) -> u64 {
        self.halted() + 8 + 4 * u64::from(peer.0)
    }

    /// The word `rank` signals its data with.
    fn signal_of(&self, rank: Rank) -> u64 {
        self.signals() + 8 * u64::from(rank.0)
    }

    /// The word `rank` says with that its buffers are empty.
    fn free_of(&self, rank: Rank) -> u64 {
        self.frees() + 8 * u64::from(rank.0)
    }

    fn read(&self, card: &impl Card) -> Result<Seen, CudaError> {
        let mut bytes = vec![0; 16 * index(self.ranks) + 8];
        card.read(&*self.memory, 16 * self.ranks, &mut bytes)?;
        let mut peers: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let halted = peers.pop().expect("the last word is read with the others");
        Ok(Seen { peers, halted })
    }
}

/// Makes sure of `bytes` bytes of memory that only this rank uses.
pub(super) fn reserve(card: &impl Card, memory: &mut Arc<dyn Memory>, bytes: u64) -> Result<(), CudaError> {
    if memory.bytes() < bytes {
        card.synchronize()?;
        *memory = card.allocate(bytes.checked_next_power_of_two().unwrap_or(bytes))?;
    }
    Ok(())
}

/// Blocks that share a message: enough for all messages to fill the card, none with too little to do.
pub(super) fn slices(messages: u64, longest: u64, blocks: u32) -> u32 {
    let enough = u64::from(blocks).div_ceil(messages.max(1));
    count(enough.min(longest.div_ceil(SLICE_BYTES)).max(1))
}

/// A number of blocks or threads.
pub(super) fn count(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Sets of receive buffers, used in turn: a sender may be this many exchanges ahead of what was read.
const SETS: u64 = 2;

/// What a block of 512 threads copies with two rounds of its four 16-byte loads: less is not worth a block.
const SLICE_BYTES: u64 = 64 << 10;
