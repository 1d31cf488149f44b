//! [`Lease`]: whoever wants what a store holds has one.

use std::sync::Arc;

use crate::lane::registry;
use crate::store::Store;

/// A claim on a store's content. When the last one goes, the memory goes.
#[derive(Debug)]
pub(crate) struct Lease {
    store: Arc<Store>,
    process: u32,
}

impl Lease {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, process: std::process::id() }
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // After a fork the parent's keeper, which this process does not have, may hold the store's lock for ever.
            return;
        }
        // The pieces that threads hold stay: a thread may be about to write one.
        let owned = registry::lock().owned(&self.store);
        self.store.retire(|index| owned.contains(&index));
    }
}
