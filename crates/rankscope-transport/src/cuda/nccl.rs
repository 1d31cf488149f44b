//! The second mode: NCCL carries the messages, one grouped send or receive per pair that has bytes. It finds links, machines'
//! topology and rings by itself, but takes one rank per card.
//!
//! NCCL's own all-to-all wants equal sizes; a group of sends and receives does not, and cannot deadlock.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::thread;

use cudarc::nccl::{result, sys};
use rankscope_dispatch::{Message, RankExchange};
use rankscope_time::Rank;

use super::card::{Card, Memory, address_of};
use super::device::{self, Device};
use super::error::CudaError;
use super::library;
use super::rank::reserve;
use crate::messages::{self, run_mut, spread};
use crate::{Transport, TransportError};

/// One rank's end of a job that NCCL connects.
pub struct NcclRank {
    rank: Rank,
    world_size: u32,
    device: Device,
    communicator: Communicator,
    send: Arc<dyn Memory>,
    receive: Arc<dyn Memory>,
}

/// A handle of NCCL, which is one rank's and no other's.
struct Communicator(sys::ncclComm_t);

// SAFETY: NCCL lets a communicator be used from any thread, one at a time.
#[expect(unsafe_code, reason = "the handle is a pointer")]
unsafe impl Send for Communicator {}

/// One rank per card.
pub(super) fn job(world_size: u32) -> Result<Vec<NcclRank>, CudaError> {
    library::nccl()?;
    let devices = device::open_bare(world_size)?;
    let id = result::get_uniqueid().map_err(failed("making an id"))?;
    // Every rank's call returns when all have called.
    thread::scope(|scope| {
        let open = |(rank, device)| scope.spawn(move || NcclRank::new(rank, world_size, device, id));
        let opening: Vec<_> = (0..world_size).zip(devices).map(open).collect();
        opening.into_iter().map(|rank| rank.join().expect("opening a communicator does not panic")).collect()
    })
}

impl NcclRank {
    fn new(rank: u32, world_size: u32, device: Device, id: sys::ncclUniqueId) -> Result<Self, CudaError> {
        let (send, receive) = (device.allocate(0)?, device.allocate(0)?);
        let number = |rank: u32| rank.cast_signed();
        let mut communicator = ptr::null_mut();
        // SAFETY: the card's context is current after the allocation, the id is everybody's, the ranks are distinct.
        #[expect(unsafe_code, reason = "the binding leaves the communicator's lifetime to its caller")]
        unsafe { result::comm_init_rank(&mut communicator, number(world_size), id, number(rank)) }
            .map_err(failed("opening a communicator"))?;
        Ok(Self { rank: Rank(rank), world_size, device, communicator: Communicator(communicator), send, receive })
    }

    /// Queues all messages of the exchange as one group, the one to itself included.
    fn group(&self, exchange: &RankExchange) -> Result<(), CudaError> {
        let (stream, communicator) = (self.device.stream().cu_stream().cast(), self.communicator.0);
        let bytes = sys::ncclDataType_t::ncclUint8;
        let peer = |message: &Message| message.peer.0.cast_signed();
        let place =
            |memory: &Arc<dyn Memory>, message: &Message| address_of(&**memory, message.at, message.bytes) as *mut c_void;
        let own = |messages| messages::own(messages, self.rank).into_iter();

        result::group_start().map_err(failed("starting a group"))?;
        for message in spread(&exchange.sends, self.rank).chain(own(&exchange.sends)) {
            let (from, length) = (place(&self.send, message), message.bytes as usize);
            // SAFETY: the place is inside of memory that is this rank's until its stream is idle.
            #[expect(unsafe_code, reason = "NCCL takes addresses")]
            unsafe { result::send(from, length, bytes, peer(message), communicator, stream) }.map_err(failed("sending"))?;
        }
        for message in spread(&exchange.receives, self.rank).chain(own(&exchange.receives)) {
            let (to, length) = (place(&self.receive, message), message.bytes as usize);
            // SAFETY: as above.
            #[expect(unsafe_code, reason = "NCCL takes addresses")]
            unsafe { result::recv(to, length, bytes, peer(message), communicator, stream) }.map_err(failed("receiving"))?;
        }
        result::group_end().map(|_| ()).map_err(failed("ending a group"))
    }
}

impl Transport for NcclRank {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn world_size(&self) -> u32 {
        self.world_size
    }

    fn all_to_all(&mut self, exchange: &RankExchange, send: &[u8], receive: &mut [u8]) -> Result<(), TransportError> {
        messages::check(self, exchange, send, receive)?;
        reserve(&self.device, &mut self.send, exchange.send_bytes)?;
        reserve(&self.device, &mut self.receive, exchange.receive_bytes)?;
        self.device.write(&*self.send, 0, send)?;
        self.group(exchange)?;
        for message in &exchange.receives {
            self.device.read(&*self.receive, message.at, run_mut(message, receive))?;
        }
        Ok(self.device.synchronize()?)
    }
}

impl Drop for NcclRank {
    fn drop(&mut self) {
        // SAFETY: opened once, closed once. Aborting does not wait for peers, which may be gone.
        #[expect(unsafe_code, reason = "the binding leaves the communicator's lifetime to its caller")]
        let _ = unsafe { result::comm_abort(self.communicator.0) };
    }
}

fn failed(doing: &'static str) -> impl Fn(result::NcclError) -> CudaError {
    move |error| CudaError::Nccl { doing, reason: format!("{error:?}") }
}
