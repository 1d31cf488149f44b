//! [`Pool`]: the buffers that a vendor's profiler fills, all of them there before the first is asked for.
//!
//! Whose a buffer is, three words of bits say: free, given to the profiler, or filled and waiting for the thread that decodes. A callback
//! changes a bit or two and returns: it never waits, locks or allocates. The order in which buffers come back is not kept, because
//! nothing depends on it. The memory is never given back to the system: a profiler may hold a buffer to the end of the process.
#![expect(unsafe_code, reason = "memory that another library fills is read where it lies")]

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Buffers that there may be: one for each bit.
const BUFFERS_MAX: u32 = 64;

/// The buffers.
#[derive(Debug)]
pub struct Pool {
    /// The first of them. They lie one behind the other.
    base: AtomicPtr<u8>,
    buffer_bytes: usize,
    buffers: u32,
    free: AtomicU64,
    given: AtomicU64,
    filled: AtomicU64,
    /// How much of each is filled.
    valid_bytes: [AtomicUsize; BUFFERS_MAX as usize],
}

impl Pool {
    /// So many buffers of so many bytes, at least one of each.
    ///
    /// # Errors
    /// The system has no memory.
    pub fn new(buffers: u32, buffer_bytes: usize) -> io::Result<Self> {
        let buffers = buffers.clamp(1, BUFFERS_MAX);
        // Records are aligned to eight bytes, and so is what they are written into.
        let buffer_bytes = buffer_bytes.max(1).checked_next_multiple_of(8).ok_or(io::ErrorKind::OutOfMemory)?;
        let memory = mapped(buffer_bytes.checked_mul(buffers as usize).ok_or(io::ErrorKind::OutOfMemory)?)?;
        Ok(Self {
            base: AtomicPtr::new(memory),
            buffer_bytes,
            buffers,
            free: AtomicU64::new(u64::MAX >> (BUFFERS_MAX - buffers)),
            given: AtomicU64::new(0),
            filled: AtomicU64::new(0),
            valid_bytes: [const { AtomicUsize::new(0) }; BUFFERS_MAX as usize],
        })
    }

    /// Bytes of one buffer.
    pub fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// How many there are.
    pub fn buffers(&self) -> u32 {
        self.buffers
    }

    /// A free buffer, which is the caller's from now on; none where all are in use.
    pub fn take(&self) -> Option<*mut u8> {
        let lowest = |free: u64| (free != 0).then_some(free & free.wrapping_sub(1));
        let free = self.free.fetch_update(Ordering::Acquire, Ordering::Relaxed, lowest).ok()?;
        let index = free.trailing_zeros();
        self.given.fetch_or(1 << index, Ordering::Relaxed);
        Some(self.at(index))
    }

    /// A buffer comes back with so many bytes filled. False if it is none of these, or was not given.
    pub fn give_back(&self, buffer: *mut u8, valid_bytes: usize) -> bool {
        let offset = (buffer as usize).wrapping_sub(self.at(0) as usize);
        let index = offset / self.buffer_bytes;
        if !offset.is_multiple_of(self.buffer_bytes) || index >= self.buffers as usize {
            return false;
        }
        let bit = 1 << index;
        if self.given.fetch_and(!bit, Ordering::Relaxed) & bit == 0 {
            return false;
        }
        // What claims to be longer than the buffer is not to be read at all.
        let valid_bytes = if valid_bytes <= self.buffer_bytes { valid_bytes } else { 0 };
        self.valid_bytes[index].store(valid_bytes, Ordering::Relaxed);
        self.filled.fetch_or(bit, Ordering::Release);
        true
    }

    /// Buffers that the profiler has.
    pub fn outstanding(&self) -> u32 {
        self.given.load(Ordering::Relaxed).count_ones()
    }

    /// Those that are filled, each of which is free again when it is dropped.
    pub fn filled(&self) -> impl Iterator<Item = Filled<'_>> {
        let mut filled = self.filled.swap(0, Ordering::Acquire);
        std::iter::from_fn(move || {
            let index = filled.trailing_zeros();
            filled &= filled.wrapping_sub(1);
            (index < BUFFERS_MAX).then(|| Filled { pool: self, index })
        })
    }

    fn at(&self, index: u32) -> *mut u8 {
        self.base.load(Ordering::Relaxed).wrapping_add(index as usize * self.buffer_bytes)
    }
}

/// Fresh memory, all zero, of which pages that nobody writes to are none.
fn mapped(bytes: usize) -> io::Result<*mut u8> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh anonymous mapping touches nothing that exists.
    let memory = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if memory == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(memory.cast()) }
}

/// A buffer that is filled, in the hands of who decodes it.
#[derive(Debug)]
pub struct Filled<'p> {
    pool: &'p Pool,
    index: u32,
}

impl Filled<'_> {
    /// What is filled of it.
    pub fn bytes(&self) -> &[u8] {
        let valid_bytes = self.pool.valid_bytes[self.index as usize].load(Ordering::Relaxed);
        // SAFETY: the bytes lie within the buffer, were zero or written by the profiler, and nobody writes until it is free again; the bit by
        // which this was found was set behind all of that.
        unsafe { std::slice::from_raw_parts(self.pool.at(self.index), valid_bytes) }
    }
}

impl Drop for Filled<'_> {
    fn drop(&mut self) {
        self.pool.free.fetch_or(1 << self.index, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_one_owners_at_a_time() {
        let pool = Pool::new(2, 12).unwrap();
        assert_eq!((pool.buffers(), pool.buffer_bytes(), pool.outstanding()), (2, 16, 0));
        let (first, second) = (pool.take().unwrap(), pool.take().unwrap());
        assert_eq!((pool.take(), pool.outstanding()), (None, 2));
        assert_eq!(second as usize - first as usize, 16);
        assert!((first as usize).is_multiple_of(8));

        assert!(pool.give_back(second, 5));
        assert!(!pool.give_back(second, 5), "twice");
        assert!(!pool.give_back(first.wrapping_add(8), 5), "not where a buffer begins");
        assert!(!pool.give_back(first.wrapping_add(32), 5), "behind the last");
        assert!(!pool.give_back(std::ptr::null_mut(), 5));
        assert_eq!(pool.take(), None, "nobody has looked at it yet");
        assert_eq!(pool.filled().map(|filled| filled.bytes().len()).collect::<Vec<_>>(), [5]);
        assert_eq!(pool.take(), Some(second));
    }

    #[test]
    fn what_claims_to_be_longer_than_its_buffer_is_not_read() {
        let pool = Pool::new(1, 64).unwrap();
        let buffer = pool.take().unwrap();
        assert!(pool.give_back(buffer, 65));
        assert_eq!(pool.filled().map(|filled| filled.bytes().len()).collect::<Vec<_>>(), [0]);
        assert!(pool.take().is_some());
    }

    #[test]
    fn more_memory_than_there_is_is_no_crash() {
        assert!(Pool::new(64, usize::MAX).is_err() && Pool::new(64, usize::MAX / 64).is_err());
    }

    #[test]
    fn the_number_of_buffers_is_bounded() {
        assert_eq!((Pool::new(0, 8).unwrap().buffers(), Pool::new(1_000, 8).unwrap().buffers()), (1, BUFFERS_MAX));
        let pool = Pool::new(1_000, 8).unwrap();
        assert_eq!(std::iter::from_fn(|| pool.take()).count(), 64);
    }

    #[test]
    fn threads_lose_no_buffer_and_share_none() {
        const ROUNDS: u64 = 20_000;
        let pool = Pool::new(3, 8).unwrap();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let (read, sum) = std::thread::scope(|scope| {
            let fillers: Vec<_> = (0..4_u64)
                .map(|thread| {
                    let pool = &pool;
                    scope.spawn(move || {
                        for round in 0..ROUNDS {
                            let buffer = loop {
                                match pool.take() {
                                    Some(buffer) => break buffer,
                                    None => std::thread::yield_now(),
                                }
                            };
                            // SAFETY: eight bytes that are this thread's until it gives them back.
                            unsafe { buffer.cast::<u64>().write(thread * ROUNDS + round) };
                            assert!(pool.give_back(buffer, 8));
                        }
                    })
                })
                .collect();
            let reader = scope.spawn(|| {
                let (mut read, mut sum) = (0_u64, 0_u64);
                loop {
                    let ends = is_over.load(Ordering::Acquire);
                    for filled in pool.filled() {
                        read += 1;
                        sum += u64::from_ne_bytes(filled.bytes().try_into().unwrap());
                    }
                    if ends {
                        return (read, sum);
                    }
                    std::thread::yield_now();
                }
            });
            fillers.into_iter().for_each(|filler| filler.join().unwrap());
            is_over.store(true, Ordering::Release);
            reader.join().unwrap()
        });
        let all = 4 * ROUNDS;
        assert_eq!((read, sum, pool.outstanding()), (all, all * (all - 1) / 2, 0));
    }
}
