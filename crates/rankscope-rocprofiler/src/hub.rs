//! [`Hub`]: what callbacks reach, one for the process and for good.
//!
//! Callbacks may come at any time, also behind the end of a session, so what they need is never taken down: it is made when the first
//! session gets ready, and each session uses it while it lasts.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rankscope_devices::{ClockFit, Filled, Pool, Switch};

use crate::absent::Absent;
use crate::agents::Gpus;
use crate::library::Library;
use crate::tool::Tool;

static HUB: OnceLock<Hub> = OnceLock::new();

/// What there is of rocprofiler in this process.
pub struct Hub {
    pub(crate) library: Library,
    pub(crate) version: [u32; 3],
    pub(crate) clock: ClockFit,
    pub(crate) gpus: Gpus,
    pub(crate) tool: &'static Tool,
    pool: Pool,
    pub(crate) switch: Switch,
    refused: AtomicU64,
    dropped: AtomicU64,
}

/// What callbacks counted, ever since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Records for which there was no buffer.
    pub(crate) refused: u64,
    /// Records that rocprofiler dropped by itself.
    pub(crate) dropped: u64,
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

    pub(crate) fn new(
        library: Library,
        version: [u32; 3],
        clock: ClockFit,
        gpus: Gpus,
        tool: &'static Tool,
        pool: Pool,
    ) -> Self {
        Self {
            library,
            version,
            clock,
            gpus,
            tool,
            pool,
            switch: Switch::new(),
            refused: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    /// What was refused of what tells streams of HIP; zero is nothing. Who is not asked about work does not learn of its stream either.
    pub(crate) fn streams_status(&self) -> i32 {
        if self.tool.streams_status == 0 { self.tool.ties_status } else { self.tool.streams_status }
    }

    /// A buffer to copy records into.
    pub(crate) fn buffer(&self) -> Option<*mut u8> {
        self.pool.take()
    }

    pub(crate) fn buffer_bytes(&self) -> usize {
        self.pool.buffer_bytes()
    }

    /// Buffers there are.
    pub(crate) fn buffers(&self) -> u32 {
        self.pool.buffers()
    }

    /// A buffer of which so much was used.
    pub(crate) fn give_back(&self, buffer: *mut u8, used: usize) {
        self.pool.give_back(buffer, used);
    }

    /// A record finds no room.
    pub(crate) fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// So many rocprofiler has dropped so far.
    pub(crate) fn note_dropped(&self, so_far: u64) {
        self.dropped.fetch_max(so_far, Ordering::Relaxed);
    }

    /// Buffers that nobody has looked at.
    pub(crate) fn filled(&self) -> impl Iterator<Item = Filled<'_>> {
        self.pool.filled()
    }

    pub(crate) fn tally(&self) -> Tally {
        Tally { refused: self.refused.load(Ordering::Relaxed), dropped: self.dropped.load(Ordering::Relaxed) }
    }
}
