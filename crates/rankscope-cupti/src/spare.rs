//! [`Spares`]: buffers for a CUPTI that cannot be refused one.
//!
//! Before CUDA 12.9 a refusal ended the process. Where the pool is empty, such a version is given a small mapping of its own, whose
//! records are not read: it stands for the refusal, is counted as one, and goes back to the system when it comes back. A mapping is a
//! system call and takes no lock of the program's.
#![expect(unsafe_code, reason = "maps and unmaps memory")]

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Enough for a few records of any kind, so that the library does not ask again at once.
pub(crate) const SPARE_BYTES: usize = 16 << 10;

/// Spares that are known. Those beyond are never given back.
const SPARES: usize = 64;

/// Where the spares lie that CUPTI has; zero is none.
#[derive(Debug)]
pub(crate) struct Spares([AtomicUsize; SPARES]);

impl Spares {
    pub(crate) const fn new() -> Self {
        Self([const { AtomicUsize::new(0) }; SPARES])
    }

    /// A fresh one; none where the system has no memory.
    pub(crate) fn take(&self) -> Option<*mut u8> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh anonymous mapping touches nothing that exists.
        let spare = unsafe { libc::mmap(ptr::null_mut(), SPARE_BYTES, protection, flags, -1, 0) };
        if spare == libc::MAP_FAILED {
            return None;
        }
        let note = |place: &AtomicUsize| place.compare_exchange(0, spare as usize, Ordering::Relaxed, Ordering::Relaxed);
        let _is_known = self.0.iter().any(|place| note(place).is_ok());
        Some(spare.cast())
    }

    /// One comes back. False if it is none of these.
    pub(crate) fn give_back(&self, buffer: *mut u8) -> bool {
        let address = buffer as usize;
        let forget = |place: &AtomicUsize| place.compare_exchange(address, 0, Ordering::Relaxed, Ordering::Relaxed);
        if address == 0 || !self.0.iter().any(|place| forget(place).is_ok()) {
            return false;
        }
        // SAFETY: it came from `mmap` with this length, and whoever took it out of the table has it alone.
        unsafe { libc::munmap(buffer.cast(), SPARE_BYTES) };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spare_is_given_back_once() {
        let spares = Spares::new();
        let (first, second) = (spares.take().unwrap(), spares.take().unwrap());
        assert_ne!(first, second);
        // SAFETY: as long as a mapping, and this test's.
        unsafe { first.add(SPARE_BYTES - 1).write(1) };
        assert!(spares.give_back(first) && !spares.give_back(first));
        assert!(spares.give_back(second) && !spares.give_back(ptr::null_mut()));
    }

    #[test]
    fn more_than_are_known_can_be_had() {
        let spares = Spares::new();
        let all: Vec<*mut u8> = (0..SPARES + 3).map(|_| spares.take().unwrap()).collect();
        assert_eq!(all.into_iter().filter(|spare| spares.give_back(*spare)).count(), SPARES);
    }
}
