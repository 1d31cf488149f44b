//! [`Chain`]: another profiler plugin that is called with everything that this one is, because NCCL loads only one.
//!
//! The other one is called as NCCL would call it: with its own contexts and handles, and only for the events that it asked for. From
//! version 5 on descriptors only grow at their ends, so that a plugin of an earlier version of these reads a later descriptor as its
//! own; a plugin that has none of them is not called, and that is said. Ours see every event that either wants.
#![expect(unsafe_code, reason = "functions of another library are called with NCCL's pointers")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::comms::COMMS;
use crate::event::Sort;
use crate::handles::{HANDLES, Handles};
use crate::layout::{BODY, Coll5, Descriptor5, Logger, P2p5, ProfilerOf5};

/// The variable that names the library.
pub(crate) const VARIABLE: &str = "RANKSCOPE_NCCL_CHAIN";

/// Bits that version 5 knows, and those that version 6 adds.
const KINDS_OF_5: i32 = 0x0fff;
const KINDS_OF_6: i32 = 0x7fff;

/// The other plugin.
pub(crate) struct Chain {
    table: &'static ProfilerOf5,
    /// Which events it may be told of, and which it asked for.
    knows: i32,
    wants: AtomicU64,
    /// Its contexts by our slots of communicators, and its handles by our numbers.
    contexts: Box<[AtomicU64]>,
    handles: Box<[AtomicU64]>,
}

impl Chain {
    /// The plugin that `name` stands for, as NCCL looks for one: a path, or what is between `libnccl-profiler-` and `.so`.
    ///
    /// # Errors
    /// In words, why it cannot be called.
    pub(crate) fn open(name: &str) -> Result<Self, String> {
        let library = [name.to_owned(), format!("libnccl-profiler-{name}.so")].into_iter().find_map(|name| load(&name));
        let library = library.ok_or_else(|| format!("{VARIABLE}: {name} cannot be loaded"))?;
        let versions = [(c"ncclProfiler_v7", !0), (c"ncclProfiler_v6", KINDS_OF_6), (c"ncclProfiler_v5", KINDS_OF_5)];
        let table = versions.into_iter().find_map(|(symbol, knows)| {
            // SAFETY: the library is open, and the text ends in a zero byte.
            let table = unsafe { libc::dlsym(library, symbol.as_ptr()) };
            // SAFETY: a library that exports this name has a table of this layout there, which lasts as long as it is loaded: for ever.
            Some((unsafe { table.cast::<ProfilerOf5>().as_ref() }?, knows))
        });
        let (table, knows) = table.ok_or_else(|| format!("{VARIABLE}: {name} has no table of version 5, 6 or 7"))?;
        let zeros = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { table, knows, wants: AtomicU64::new(0), contexts: zeros(COMMS), handles: zeros(HANDLES) })
    }

    /// A communicator begins, in our slot. The events that the other one asks for.
    ///
    /// # Safety
    /// `name` is null or a text that ends in a zero byte.
    pub(crate) unsafe fn begin(
        &self,
        slot: u16,
        id: u64,
        name: *const c_char,
        (nodes, ranks, rank): (c_int, c_int, c_int),
        log: Logger,
    ) -> i32 {
        let (mut context, mut mask) = (std::ptr::null_mut(), 0);
        // SAFETY: its own function, with what NCCL gave.
        let result = unsafe { (self.table.init)(&raw mut context, id, &raw mut mask, name, nodes, ranks, rank, log) };
        let context = if result == 0 { context as u64 } else { 0 };
        self.contexts[usize::from(slot) % COMMS].store(context, Ordering::Relaxed);
        let wants = if context == 0 { 0 } else { mask & self.knows };
        self.wants.fetch_or(u64::from(wants.cast_unsigned()), Ordering::Relaxed);
        wants
    }

    /// An event starts, which has our handle's `number`; its parents are ours, too.
    ///
    /// # Safety
    /// `descriptor` leads to one of version 5 or later, which nobody else uses now.
    pub(crate) unsafe fn start_event(&self, slot: u16, number: u32, sort: Sort, ours: &Handles, descriptor: *mut c_void) {
        let place = &self.handles[number as usize % HANDLES];
        place.store(0, Ordering::Relaxed);
        let context = self.contexts[usize::from(slot) % COMMS].load(Ordering::Relaxed);
        if context == 0 || self.wants.load(Ordering::Relaxed) & u64::from(sort.bit().cast_unsigned()) == 0 {
            return;
        }
        let mut handle = std::ptr::null_mut();
        // SAFETY: the parents are words of every descriptor of this sort, and are put back; the function is the other plugin's own.
        let result = unsafe {
            let parents = parents(sort).map(|at| descriptor.byte_add(at).cast::<u64>());
            let before = parents.map(|place| place.read());
            parents.iter().zip(before).for_each(|(place, parent)| place.write(self.handle_of(ours.remembered(parent))));
            let result = (self.table.start_event)(context as *mut c_void, &raw mut handle, descriptor);
            parents.iter().zip(before).for_each(|(place, parent)| place.write(parent));
            result
        };
        if result == 0 {
            place.store(handle as u64, Ordering::Relaxed);
        }
    }

    fn handle_of(&self, number: u32) -> u64 {
        if number == 0 { 0 } else { self.handles[number as usize % HANDLES].load(Ordering::Relaxed) }
    }

    /// The event with our `number` stops.
    pub(crate) fn stop_event(&self, number: u32) {
        // It stays known: what is enqueued has stopped when its children start.
        let handle = self.handle_of(number);
        if handle != 0 {
            // SAFETY: a handle that it gave out; ours stops once, and with it this one.
            unsafe { (self.table.stop_event)(handle as *mut c_void) };
        }
    }

    /// The event with our `number` has come to a state.
    ///
    /// # Safety
    /// `args` are NCCL's for that state, or null.
    pub(crate) unsafe fn record_state(&self, number: u32, state: c_int, args: *mut c_void) {
        let handle = self.handle_of(number);
        if handle != 0 {
            // SAFETY: a handle that it gave out and that was not stopped.
            unsafe { (self.table.record_state)(handle as *mut c_void, state, args) };
        }
    }

    /// The communicator in our slot ends.
    pub(crate) fn end(&self, slot: u16) {
        let context = self.contexts[usize::from(slot) % COMMS].swap(0, Ordering::Relaxed);
        if context != 0 {
            // SAFETY: a context that it gave out and that was not ended.
            unsafe { (self.table.finalize)(context as *mut c_void) };
        }
    }
}

/// Where a descriptor of that sort has the handles of what it belongs to. Most have one place, which then stands there twice.
fn parents(sort: Sort) -> [usize; 2] {
    const PARENT: usize = offset_of!(Descriptor5, parent);
    match sort {
        Sort::Coll => [PARENT, BODY + offset_of!(Coll5, parent_group)],
        Sort::P2p => [PARENT, BODY + offset_of!(P2p5, parent_group)],
        _ => [PARENT, PARENT],
    }
}

fn load(name: &str) -> Option<*mut c_void> {
    let name = CString::new(name).ok()?;
    // SAFETY: the text ends in a zero byte. What the library does when it is loaded is what its user wants.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    (!library.is_null()).then_some(library)
}
