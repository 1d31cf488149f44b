//! [`OpenSpans`]: which spans are open on a thread, innermost last.
//!
//! An end has to say which span it ends, and a new piece which spans were open before it; both need more than a count. A few
//! levels lie in the lane itself; a thread that goes deeper gets a region of its own, which is mapped and not allocated, because
//! the span may begin inside an allocator.

use std::cell::{Cell, UnsafeCell};
use std::ptr;

use rankscope_recording::NameId;

/// Spans open at a time on one thread.
pub(crate) const DEPTH_MAX: usize = 4096;

/// Levels that need no memory beyond the lane.
const SHALLOW: usize = 32;

/// A span that is open. Its number counts only where it is said to have one.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Open {
    /// Its correlation id; zero below the outermost span, so that there is always an innermost one to look at.
    pub(super) id: u64,
    /// When it began.
    pub(super) tick: u64,
    /// Its name, and [`NUMBERED`].
    name: u64,
    number: i64,
}

const NUMBERED: u64 = 1 << 32;
const BOTTOM: Open = Open { id: 0, tick: 0, name: 0, number: 0 };
/// The bottom, and as many spans as may be open.
const DEEP: usize = DEPTH_MAX + 1;
const DEEP_BYTES: usize = DEEP * size_of::<Open>();

/// The open spans of one thread, reached by that thread alone.
pub(super) struct OpenSpans {
    /// Where the next one goes; null until [`OpenSpans::clear`] was called once.
    top: Cell<*mut Open>,
    /// Behind the last that has room.
    end: Cell<*mut Open>,
    /// The bottom.
    base: Cell<*mut Open>,
    shallow: UnsafeCell<[Open; SHALLOW]>,
}

impl OpenSpans {
    pub(super) const fn new() -> Self {
        Self {
            top: Cell::new(ptr::null_mut()),
            end: Cell::new(ptr::null_mut()),
            base: Cell::new(ptr::null_mut()),
            shallow: UnsafeCell::new([BOTTOM; SHALLOW]),
        }
    }

    /// Whether one more has room.
    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.top.get() != self.end.get()
    }

    /// Puts one more on top, for which there is room.
    #[inline(always)]
    pub(super) fn push(&self, id: u64, tick: u64, name: NameId, number: Option<i64>) {
        let top = self.top.get();
        // SAFETY: `has_room` was asked, so `top` lies within the levels, which this thread alone reaches.
        unsafe {
            (*top).id = id;
            (*top).tick = tick;
            (*top).name = u64::from(name.0);
            if let Some(number) = number {
                (*top).name |= NUMBERED;
                (*top).number = number;
            }
        }
        self.top.set(top.wrapping_add(1));
    }

    /// Whether the innermost one is `id`, which is not zero. Only on a lane that is in a recording.
    #[inline(always)]
    pub(super) fn is_innermost(&self, id: u64) -> bool {
        // SAFETY: a lane in a recording was cleared, so there is at least the bottom below `top`.
        unsafe { (*self.top.get().wrapping_sub(1)).id == id }
    }

    /// Takes the innermost one out; there is one.
    #[inline(always)]
    pub(super) fn pop(&self) {
        self.top.set(self.top.get().wrapping_sub(1));
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all().len()
    }

    /// All of them, outermost first.
    pub(super) fn all(&self) -> &[Open] {
        let base = self.base.get();
        if base.is_null() {
            return &[];
        }
        let levels = (self.top.get() as usize - base as usize) / size_of::<Open>();
        // SAFETY: the levels from the bottom to `top` were written, and nothing changes them while they are looked at here.
        unsafe { &std::slice::from_raw_parts(base, levels)[1..] }
    }

    /// Takes `id` out, wherever it is.
    pub(super) fn take_out(&self, id: u64) {
        let Some(at) = self.all().iter().rposition(|open| open.id == id) else { return };
        let hole = self.base.get().wrapping_add(1 + at);
        let above = self.len() - at - 1;
        // SAFETY: both stretches lie between the bottom and `top`.
        unsafe { ptr::copy(hole.wrapping_add(1), hole, above) };
        self.pop();
    }

    /// None is open.
    pub(super) fn clear(&self) {
        if self.base.get().is_null() {
            self.base.set(self.shallow.get().cast());
            self.end.set(self.base.get().wrapping_add(SHALLOW));
        }
        self.top.set(self.base.get().wrapping_add(1));
    }

    /// Makes room for more; false where there are as many as may be, or the system has no memory.
    pub(super) fn deepen(&self) -> bool {
        if self.has_room() {
            return true;
        }
        if self.is_deep() {
            return false;
        }
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh anonymous mapping touches nothing that exists.
        let region = unsafe { libc::mmap(ptr::null_mut(), DEEP_BYTES, protection, flags, -1, 0) };
        if region == libc::MAP_FAILED {
            return false;
        }
        let (deep, levels) = (region.cast::<Open>(), 1 + self.len());
        // SAFETY: the region is larger than what is copied, and page-aligned.
        unsafe { ptr::copy_nonoverlapping(self.base.get(), deep, levels) };
        self.base.set(deep);
        self.top.set(deep.wrapping_add(levels));
        self.end.set(deep.wrapping_add(DEEP));
        true
    }

    /// The thread ends: gives back what [`OpenSpans::deepen`] took.
    pub(super) fn give_back(&self) {
        if self.is_deep() {
            // SAFETY: the region came from `mmap` with this length, and nothing points into it any more.
            unsafe { libc::munmap(self.base.get().cast(), DEEP_BYTES) };
        }
        self.base.set(ptr::null_mut());
        self.clear();
    }

    fn is_deep(&self) -> bool {
        !self.base.get().is_null() && !ptr::eq(self.base.get(), self.shallow.get().cast())
    }
}

impl Open {
    /// Its name.
    pub(super) fn name(&self) -> NameId {
        NameId(self.name as u32)
    }

    /// What follows the name, behind a `#`.
    pub(super) fn number(&self) -> Option<i64> {
        (self.name & NUMBERED != 0).then_some(self.number)
    }
}
