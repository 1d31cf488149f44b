//! A session that runs, as the recorder keeps it.

use std::sync::{Arc, Weak};

use rankscope_recording::Cut;

use super::ThreadFilter;
use super::handle::Handle;
use crate::Categories;
use crate::lane::registry::Tally;
use crate::plugins::Registry;

/// A session that runs.
pub(crate) struct Active {
    pub(super) id: u64,
    pub(super) handle: Weak<Handle>,
    pub(crate) categories: Categories,
    pub(super) threads: ThreadFilter,
    pub(super) start_tick: u64,
    pub(super) changes: Vec<(u64, u32)>,
    pub(super) own_stream: u32,
    pub(super) before: Vec<Tally>,
    pub(super) overwritten_before: u64,
    /// Another session ran at some time that this one did.
    pub(super) has_shared: bool,
    pub(super) plugins: Option<Registry>,
}

impl Active {
    /// A handle to it. Where all have gone, it runs on by itself, so a new one does not stop it.
    pub(super) fn handle(&mut self) -> Arc<Handle> {
        self.handle.upgrade().unwrap_or_else(|| {
            let handle = Arc::new(Handle::detached(self.id));
            self.handle = Arc::downgrade(&handle);
            handle
        })
    }

    /// Which part of the recording is its own, up to `to_tick`.
    pub(super) fn cut(&self, to_tick: u64, tallies: &[Tally]) -> Cut {
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
