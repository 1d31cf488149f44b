//! [`Hub`]: what CUPTI's callbacks reach, one for the process and for good.
//!
//! CUPTI's callbacks have no word of ours with them and may come at any time, also behind the end of a session, so what they need is
//! never taken down: it is made when the first session gets ready, and each session uses it while it lasts.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rankscope_devices::{ClockFit, Filled, Pool, Switch};
use rankscope_record::recording::ClockId;

use crate::absent::Absent;
use crate::library::Library;
use crate::spare::{SPARE_BYTES, Spares};
use crate::visible::Visible;

/// The first version that survives a refusal.
const REFUSALS_FROM: u32 = 27;

static HUB: OnceLock<Hub> = OnceLock::new();

/// What there is of CUPTI in this process.
pub struct Hub {
    pub(crate) library: Library,
    pub(crate) version: u32,
    pub(crate) clock: ClockFit,
    /// The devices that this process sees.
    pub(crate) visible: Vec<Visible>,
    pool: Pool,
    spares: Spares,
    pub(crate) switch: Switch,
    refused: AtomicU64,
    strangers: AtomicU64,
}

/// What callbacks counted, ever since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Buffers that were asked for when there was none.
    pub(crate) refused: u64,
    /// Buffers that came back and were not ours.
    pub(crate) strangers: u64,
}

impl Hub {
    /// The one of this process, if there is one.
    pub(crate) fn find() -> Option<&'static Self> {
        HUB.get()
    }

    /// The one of this process, which `make` makes if there is none.
    ///
    /// # Errors
    /// What `make` fails with, and a fork since.
    pub(crate) fn get(make: impl FnOnce() -> Result<Self, Absent>) -> Result<&'static Self, Absent> {
        if HUB.get().is_none() {
            // Of two at once one is too many; its memory was never touched.
            let _ = HUB.set(make()?);
        }
        let hub = HUB.get().ok_or(Absent::InUse)?;
        if hub.switch.is_of_this_process() { Ok(hub) } else { Err(Absent::Forked) }
    }

    pub(crate) fn new(library: Library, version: u32, clock: ClockFit, pool: Pool, visible: Vec<Visible>) -> Self {
        Self {
            library,
            version,
            clock,
            visible,
            pool,
            spares: Spares::new(),
            switch: Switch::new(),
            refused: AtomicU64::new(0),
            strangers: AtomicU64::new(0),
        }
    }

    pub(crate) fn clock_id(&self) -> ClockId {
        self.clock.clock
    }

    /// A buffer and its length, for CUPTI; none, and that is counted, where there is none and it can be refused.
    pub(crate) fn buffer(&self) -> Option<(*mut u8, usize)> {
        if let Some(buffer) = self.pool.take() {
            return Some((buffer, self.pool.buffer_bytes()));
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        let spare = if self.version < REFUSALS_FROM { self.spares.take() } else { None };
        spare.map(|buffer| (buffer, SPARE_BYTES))
    }

    /// A buffer comes back from CUPTI.
    pub(crate) fn take_back(&self, buffer: *mut u8, valid_bytes: usize) {
        if !self.pool.give_back(buffer, valid_bytes) && !self.spares.give_back(buffer) {
            self.strangers.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Buffers that came back and nobody has looked at.
    pub(crate) fn filled(&self) -> impl Iterator<Item = Filled<'_>> {
        self.pool.filled()
    }

    /// Buffers that CUPTI has.
    pub(crate) fn outstanding(&self) -> u32 {
        self.pool.outstanding()
    }

    /// Buffers there are, and bytes of each.
    pub(crate) fn room(&self) -> (u32, usize) {
        (self.pool.buffers(), self.pool.buffer_bytes())
    }

    pub(crate) fn tally(&self) -> Tally {
        Tally { refused: self.refused.load(Ordering::Relaxed), strangers: self.strangers.load(Ordering::Relaxed) }
    }
}
