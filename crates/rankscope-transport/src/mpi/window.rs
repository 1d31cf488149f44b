//! Memory of every rank that the others may write: an MPI window under one lock for its whole life. rsmpi has no face for
//! windows, so all of MPI that is called by hand is called here.
#![expect(unsafe_code, reason = "rsmpi has no safe face for one-sided communication")]

use std::ffi::c_int;
use std::ptr;

use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::CommunicatorCollectives;
use rankscope_time::Rank;

use crate::TransportError;
use crate::messages::{self, index};

/// A window of as many bytes on every rank.
pub(super) struct Window {
    rank: Rank,
    handle: ffi::MPI_Win,
    base: *mut u8,
    bytes: u64,
}

impl Window {
    /// Zeroed memory of `bytes` on every rank of `world`; all of them call it together with the same size.
    pub(super) fn allocate(world: &SimpleCommunicator, rank: Rank, bytes: u64) -> Result<Self, TransportError> {
        let size = isize::try_from(bytes).map_err(|_| TransportError::Library { rank, call: "MPI_Win_allocate", code: -1 })?;
        let mut base: *mut u8 = ptr::null_mut();
        // SAFETY: a handle of no window, to be replaced; reading a constant of the library.
        let mut handle = unsafe { ffi::RSMPI_WIN_NULL };
        // SAFETY: MPI writes the address of its memory to `base` and the handle to `handle`; both are valid places for it.
        let code = unsafe {
            let to_base: *mut *mut u8 = &raw mut base;
            ffi::MPI_Win_allocate(size, 1, ffi::RSMPI_INFO_NULL, world.as_raw(), to_base.cast(), &raw mut handle)
        };
        checked(rank, "MPI_Win_allocate", code)?;
        // SAFETY: the window exists; a lock on all ranks may be taken on any window, and is given back before it is freed.
        checked(rank, "MPI_Win_lock_all", unsafe { ffi::MPI_Win_lock_all(0, handle) })?;
        let window = Self { rank, handle, base, bytes };
        if bytes > 0 {
            // SAFETY: MPI has just allocated `bytes` at `base`, and nobody else knows of them before the barrier below.
            unsafe { window.base.write_bytes(0, index(bytes)) };
        }
        window.sync()?;
        world.barrier();
        Ok(window)
    }

    /// Bytes of the window on each rank.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes into `peer`'s window and waits until it is there: MPI reads `bytes` until then.
    pub(super) fn put(&self, peer: Rank, at: u64, bytes: &[u8]) -> Result<(), TransportError> {
        messages::within(peer, self.rank, at, bytes.len() as u64, self.bytes)?;
        let put = bytes.chunks(LONGEST_PUT).enumerate().try_for_each(|(number, run)| {
            let at = index(at) + number * LONGEST_PUT;
            let (count, peer) = (run.len() as c_int, peer.0 as c_int);
            // SAFETY: `run` is `count` readable bytes until the flush below, and the target range lies inside the window.
            let code = unsafe {
                let byte = ffi::RSMPI_UINT8_T;
                ffi::MPI_Put(run.as_ptr().cast(), count, byte, peer, at as isize, count, byte, self.handle)
            };
            self.checked("MPI_Put", code)
        });
        self.flush(peer).and(put)
    }

    fn flush(&self, peer: Rank) -> Result<(), TransportError> {
        // SAFETY: the window is locked for all ranks.
        self.checked("MPI_Win_flush", unsafe { ffi::MPI_Win_flush(peer.0 as c_int, self.handle) })
    }

    /// Adds to a word of `peer`'s window, atomically, and waits until it is there.
    pub(super) fn add(&self, peer: Rank, at: u64, value: u64) -> Result<(), TransportError> {
        messages::within(peer, self.rank, at, size_of::<u64>() as u64, self.bytes)?;
        // SAFETY: `value` outlives the flush below, and the target word lies inside the window.
        let code = unsafe {
            let (word, sum) = (ffi::RSMPI_UINT64_T, ffi::RSMPI_SUM);
            let value = (&raw const value).cast();
            ffi::MPI_Accumulate(value, 1, word, peer.0 as c_int, at as isize, 1, word, sum, self.handle)
        };
        self.checked("MPI_Accumulate", code)?;
        self.flush(peer)
    }

    /// A word of this rank's own window, read by adding nothing to it: in one order with what the others add.
    pub(super) fn word(&self, at: u64) -> Result<u64, TransportError> {
        messages::within(self.rank, self.rank, at, size_of::<u64>() as u64, self.bytes)?;
        let (nothing, mut found) = (0_u64, 0_u64);
        // SAFETY: both places outlive the flush below, and the word lies inside the window.
        let code = unsafe {
            let (nothing, found) = ((&raw const nothing).cast(), (&raw mut found).cast());
            let (own, word, sum) = (self.rank.0 as c_int, ffi::RSMPI_UINT64_T, ffi::RSMPI_SUM);
            ffi::MPI_Fetch_and_op(nothing, found, word, own, at as isize, sum, self.handle)
        };
        self.checked("MPI_Fetch_and_op", code)?;
        self.flush(self.rank)?;
        Ok(found)
    }

    /// Copies out of this rank's own window what has been signalled.
    pub(super) fn read(&self, at: u64, bytes: &mut [u8]) -> Result<(), TransportError> {
        messages::within(self.rank, self.rank, at, bytes.len() as u64, self.bytes)?;
        self.sync()?;
        // SAFETY: the range lies inside this rank's memory. Peers write it only between an agreement and their signal, and
        // the caller has seen the signal of everybody who puts here in this exchange.
        unsafe { ptr::copy_nonoverlapping(self.base.add(index(at)), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// Makes what others wrote visible to plain loads.
    fn sync(&self) -> Result<(), TransportError> {
        // SAFETY: the window is locked.
        self.checked("MPI_Win_sync", unsafe { ffi::MPI_Win_sync(self.handle) })
    }

    fn checked(&self, call: &'static str, code: c_int) -> Result<(), TransportError> {
        checked(self.rank, call, code)
    }
}

impl Drop for Window {
    /// Freeing is collective: all ranks drop their windows in the same order, or end the job.
    fn drop(&mut self) {
        // SAFETY: the window was locked when it was made, and nothing uses its memory any more.
        unsafe {
            ffi::MPI_Win_unlock_all(self.handle);
            ffi::MPI_Win_free(&raw mut self.handle);
        }
    }
}

fn checked(rank: Rank, call: &'static str, code: c_int) -> Result<(), TransportError> {
    match code as u32 {
        ffi::MPI_SUCCESS => Ok(()),
        _ => Err(TransportError::Library { rank, call, code }),
    }
}

/// One call counts in `int`; a power of two keeps its pieces aligned.
const LONGEST_PUT: usize = 1 << 30;
