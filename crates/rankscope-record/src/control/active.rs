//! A session that runs, as the recorder keeps it.

use std::sync::{Arc, Weak};

use rankscope_recording::{Categories, Cut};

use super::handle::Handle;
use crate::lane::tally::Tally;
use crate::report::PluginFailure;
use crate::session::ThreadFilter;

/// What began with a session and ends before it does.
pub(crate) trait Companion: Send {
    /// Ends it. Returns what went wrong in all.
    fn finish(self: Box<Self>) -> Vec<PluginFailure>;
}

/// A session that runs.
pub(crate) struct Active {
    pub(crate) id: u64,
    pub(crate) handle: Weak<Handle>,
    pub(crate) categories: Categories,
    pub(crate) threads: ThreadFilter,
    pub(crate) start_tick: u64,
    pub(crate) changes: Vec<(u64, u32)>,
    pub(crate) own_stream: u32,
    pub(crate) before: Vec<Tally>,
    pub(crate) overwritten_before: u64,
    /// Another session ran at some time that this one did.
    pub(crate) has_shared: bool,
    pub(crate) plugins: Option<Box<dyn Companion>>,
}

impl Active {
    /// A handle to it. Where all have gone, it runs on by itself, so a new one does not stop it.
    pub(crate) fn handle(&mut self) -> Arc<Handle> {
        self.handle.upgrade().unwrap_or_else(|| {
            let handle = Arc::new(Handle::detached(self.id));
            self.handle = Arc::downgrade(&handle);
            handle
        })
    }

    /// Which part of the recording is its own, up to `to_tick`.
    pub(crate) fn cut(&self, to_tick: u64, tallies: &[Tally]) -> Cut {
        let streams = match &self.threads {
            ThreadFilter::All => None,
            ThreadFilter::Current => Some(vec![self.own_stream]),
            ThreadFilter::Only(tids) => {
                Some(tallies.iter().filter(|tally| tids.contains(&tally.tid)).map(|tally| tally.stream).collect())
            }
        };
        Cut { from_tick: self.start_tick, to_tick, changes: self.changes.clone(), streams }
    }
}
