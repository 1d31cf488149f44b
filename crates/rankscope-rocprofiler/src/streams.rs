//! [`Streams`]: which stream of HIP work belongs to, from the moment on that it is given to a device.
//!
//! rocprofiler tells, before a call and after it, on its thread, which stream the call is about, and asks in between what the work belongs to
//! that the call gives to a device. Its record says so of one number alone, which is the span's. So the stream is kept here, by the number that
//! rocprofiler has for the call, until the record comes: in a table in which the newest call of a place is known, so that nothing waits and
//! nothing grows. A record that comes later than a hundred thousand calls finds nothing, and is on its queue.
#![expect(unsafe_code, reason = "rocprofiler calls with pointers of its own")]

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::abi::{ENTER, EXIT, HIP_STREAM, HipStream, STREAM_SET, Told};

/// Calls that are remembered; a power of two. They take a megabyte once they are used.
const CALLS: usize = 1 << 17;
/// Bits of a place that a call's number has; the stream has the others.
const CALL_BITS: u32 = 48;
const CALL_MASK: u64 = (1 << CALL_BITS) - 1;

/// Streams by calls: a stream's number and one in the upper bits, so that zero is none.
pub(crate) struct Streams([AtomicU64; CALLS]);

impl Streams {
    pub(crate) const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; CALLS])
    }

    /// Work of `call` is given to a device on this thread.
    pub(crate) fn note(&self, call: u64) {
        let stream = CURRENT.try_with(Cell::get).unwrap_or(0);
        if stream != 0 {
            self.place(call).store(stream << CALL_BITS | call & CALL_MASK, Ordering::Relaxed);
        }
    }

    /// The stream that work of `call` is on and one; zero where it is not known.
    pub(crate) fn find(&self, call: u64) -> u64 {
        let found = self.place(call).load(Ordering::Relaxed);
        if found & CALL_MASK == call & CALL_MASK { found >> CALL_BITS } else { 0 }
    }

    fn place(&self, call: u64) -> &AtomicU64 {
        &self.0[call as usize % CALLS]
    }
}

thread_local! {
    /// The stream and one, of the call that this thread is in; zero for none, and for numbers that are too large. It needs no destructor,
    /// because its library may be closed.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// rocprofiler tells which stream a call is about, before it and after it. What it keeps for us between the two is the stream of before.
pub(crate) unsafe extern "C" fn told(record: Told, kept: *mut u64, _: *mut c_void) {
    if (record.kind, record.operation) != (HIP_STREAM, STREAM_SET) {
        return;
    }
    // SAFETY: a word of rocprofiler's, or null.
    let Some(kept) = (unsafe { kept.as_mut() }) else { return };
    let set = |stream: u64| CURRENT.try_with(|current| current.replace(stream)).unwrap_or(0);
    match record.phase {
        // SAFETY: of this kind it is such a payload, which says how long it is.
        ENTER => *kept = set(unsafe { stream_of(record.payload.cast()) }),
        EXIT => {
            set(*kept);
        }
        _ => {}
    }
}

/// # Safety
/// It is null, or begins with its length.
unsafe fn stream_of(payload: *const u8) -> u64 {
    const BYTES: usize = 16;
    if payload.is_null() {
        return 0;
    }
    // SAFETY: the caller says so.
    let bytes = unsafe { payload.cast::<u64>().read_unaligned() };
    let bytes = usize::try_from(bytes).unwrap_or(0).min(BYTES);
    // SAFETY: so long it says that it is.
    let read = HipStream::read(unsafe { std::slice::from_raw_parts(payload, bytes) });
    read.and_then(|read| read.stream.checked_add(1)).filter(|stream| *stream < 1 << (u64::BITS - CALL_BITS)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tell(phase: i32, stream: &[u64; 3], kept: &mut u64) {
        let payload = stream.as_ptr().cast();
        let told_now = Told {
            context: 1,
            thread: 1,
            internal: 0,
            external: 0,
            ancestor: 0,
            kind: HIP_STREAM,
            operation: STREAM_SET,
            phase,
            payload,
        };
        // SAFETY: a payload of this kind, and a word.
        unsafe { told(told_now, kept, std::ptr::null_mut()) };
    }

    #[test]
    fn work_is_on_the_innermost_stream_that_was_told_and_on_none_behind_it() {
        static STREAMS: Streams = Streams::new();
        let (mut outer, mut inner) = (0, 0);
        STREAMS.note(1);
        tell(ENTER, &[24, 0, 0], &mut outer);
        STREAMS.note(2);
        tell(ENTER, &[24, 7, 0], &mut inner);
        STREAMS.note(3);
        tell(EXIT, &[24, 7, 0], &mut inner);
        STREAMS.note(4);
        tell(EXIT, &[24, 0, 0], &mut outer);
        STREAMS.note(5);
        assert_eq!([1, 2, 3, 4, 5].map(|call| STREAMS.find(call)), [0, 1, 8, 1, 0]);
        // Another call at the same place is not the first one.
        assert_eq!(STREAMS.find(3 + CALLS as u64), 0);
    }

    #[test]
    fn payloads_that_are_short_and_numbers_that_are_large_are_no_stream() {
        static STREAMS: Streams = Streams::new();
        for (call, payload) in [(1, [8, 7, 0]), (2, [24, u64::MAX, 0]), (3, [24, 65_535, 0]), (4, [24, 65_534, 0])] {
            let mut kept = 0;
            tell(ENTER, &payload, &mut kept);
            STREAMS.note(call);
            tell(EXIT, &payload, &mut kept);
        }
        assert_eq!([1, 2, 3, 4].map(|call| STREAMS.find(call)), [0, 0, 0, 65_535]);
    }
}
