//! [`Forwarded`]: a vendor's profiler that runs along with one of ours.
//!
//! It is called in the order that its own host would keep, whatever came before. An error of it is read, given back to it and said; the
//! session of ours never hears of it. What it collects is copied at once, and only as far as it can be part of an XSpace.
#![expect(unsafe_code, reason = "functions of another library are called by their documented signatures")]

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::layout::{Answer, Arguments, Call, Collect, Create, ErrorDestroy, ErrorMessage, OfProfiler, ProfilerApi};
use crate::vendor::{Step, Vendor, vendor};
use crate::wire;

/// No host can parse more than 2 GiB at once, and ours is below 1 MiB.
const BYTES_MAX: usize = (2 << 30) - (1 << 20);
/// Of what an error says.
const TEXT_MAX: usize = 1_000;

/// A profiler of the vendor's.
#[derive(Debug)]
pub(crate) struct Forwarded {
    vendor: &'static Vendor,
    table: &'static ProfilerApi,
    profiler: AtomicPtr<c_void>,
    phase: Mutex<Phase>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Running,
    /// It has something to collect.
    Stopped,
}

impl Forwarded {
    /// One with the options that the host gave; none where there is no vendor, or it refuses.
    ///
    /// # Safety
    /// `options` leads to so many bytes, as the host's promise is.
    pub(crate) unsafe fn new(options: *const c_char, options_size: usize) -> Option<Self> {
        let vendor = vendor().ok()?;
        let table = vendor.profiler()?;
        let mut args = Create { struct_size: Create::NEEDS, options, options_size, profiler: ptr::null_mut() };
        // SAFETY: its own function, with what it is documented to be called with.
        unsafe { called(vendor, table, Step::Create, table.create, &raw mut args) }?;
        if args.profiler.is_null() {
            vendor.complain(Step::Create, "it made none");
            return None;
        }
        Some(Self { vendor, table, profiler: AtomicPtr::new(args.profiler), phase: Mutex::new(Phase::Idle) })
    }

    pub(crate) fn start(&self) {
        let mut phase = self.lock();
        if *phase != Phase::Running && self.call(Step::Start, self.table.start).is_some() {
            *phase = Phase::Running;
        } else if *phase == Phase::Stopped {
            *phase = Phase::Idle;
        }
    }

    pub(crate) fn stop(&self) {
        let mut phase = self.lock();
        if *phase == Phase::Running {
            *phase = if self.call(Step::Stop, self.table.stop).is_some() { Phase::Stopped } else { Phase::Idle };
        }
    }

    /// What it has recorded, as fields of an XSpace; nothing where something went wrong.
    pub(crate) fn collect(&self) -> Vec<u8> {
        let phase = self.lock();
        let mut bytes = if *phase == Phase::Stopped { self.collected().unwrap_or_default() } else { Vec::new() };
        let whole = wire::whole(&bytes);
        // XLA's own profilers hand over a zero byte too many, which is nothing that was recorded.
        if bytes[whole..].iter().any(|byte| *byte != 0) {
            self.vendor
                .complain(Step::Collect, &format!("the last {} of {} bytes make no sense", bytes.len() - whole, bytes.len()));
        }
        bytes.truncate(whole);
        bytes
    }

    fn collected(&self) -> Option<Vec<u8>> {
        let mut args = self.ask(ptr::null_mut(), 0)?;
        if args.buffer_size > BYTES_MAX {
            self.vendor.complain(Step::Collect, &format!("{} bytes are more than a trace can hold", args.buffer_size));
            return None;
        }
        if args.buffer.is_null() && args.buffer_size > 0 {
            // One that says how much there is, and wants to be told where to.
            let mut room = vec![0_u8; args.buffer_size];
            args = self.ask(room.as_mut_ptr(), room.len())?;
            if args.buffer.is_null() || args.buffer == room.as_mut_ptr() {
                room.truncate(args.buffer_size);
                return Some(room);
            }
        }
        if args.buffer.is_null() || args.buffer_size > BYTES_MAX {
            return Some(Vec::new());
        }
        // SAFETY: a buffer of the profiler's own, which it keeps until it is destroyed.
        Some(unsafe { std::slice::from_raw_parts(args.buffer, args.buffer_size) }.to_vec())
    }

    fn ask(&self, buffer: *mut u8, buffer_size: usize) -> Option<Collect> {
        let profiler = self.profiler.load(Ordering::Relaxed);
        let mut args = Collect { struct_size: Collect::NEEDS, profiler, buffer, buffer_size };
        // SAFETY: its own function, with a profiler that it made and a buffer of that length.
        unsafe { called(self.vendor, self.table, Step::Collect, self.table.collect_data, &raw mut args) }?;
        Some(args)
    }

    fn call(&self, step: Step, function: Option<Call<OfProfiler>>) -> Option<()> {
        let mut args = OfProfiler { struct_size: OfProfiler::NEEDS, profiler: self.profiler.load(Ordering::Relaxed) };
        // SAFETY: its own function, with a profiler that it made and that was not destroyed.
        unsafe { called(self.vendor, self.table, step, function, &raw mut args) }
    }

    fn lock(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Forwarded {
    fn drop(&mut self) {
        self.stop();
        let _said = self.call(Step::Destroy, self.table.destroy);
    }
}

/// Calls a function of the vendor's; none, and that is said, where it answers with an error.
///
/// # Safety
/// `function` is one of `table`, and `args` are what it is called with.
unsafe fn called<Args>(
    vendor: &Vendor,
    table: &ProfilerApi,
    step: Step,
    function: Option<Call<Args>>,
    args: *mut Args,
) -> Option<()> {
    // SAFETY: the caller's promise.
    let answer = unsafe { function?(args) };
    if answer.is_null() {
        return Some(());
    }
    // SAFETY: an error that it just made.
    vendor.complain(step, &unsafe { text(table, answer) });
    None
}

/// What an error says. It is the vendor's again afterwards.
///
/// # Safety
/// `error` is one that a function of `table` answered with.
unsafe fn text(table: &ProfilerApi, error: Answer) -> String {
    let mut args =
        ErrorMessage { struct_size: ErrorMessage::NEEDS, state: table.state, error, message: ptr::null(), message_size: 0 };
    if let Some(message) = table.error_message {
        // SAFETY: its own function, with an error of its own.
        unsafe { message(&raw mut args) };
    }
    let text = if args.message.is_null() {
        "an error that says nothing".to_owned()
    } else {
        // SAFETY: the text is there until the error is destroyed, and as long as was said, of which the beginning is enough.
        let bytes = unsafe { std::slice::from_raw_parts(args.message.cast::<u8>(), args.message_size.min(TEXT_MAX)) };
        String::from_utf8_lossy(bytes).into_owned()
    };
    if let Some(destroy) = table.error_destroy {
        let mut args = ErrorDestroy { struct_size: ErrorDestroy::NEEDS, state: table.state, error };
        // SAFETY: its own function, once for each error.
        unsafe { destroy(&raw mut args) };
    }
    text
}
