//! Who records at the moment: the store that is current and the sessions over it. Taken when sessions come and go and when a
//! thread joins, never per event.
//!
//! Locks are taken in this order: names, control, registry, a store's own.

mod active;
mod handle;

use std::sync::{Arc, Mutex};

use rankscope_recording::Categories;

pub(crate) use active::{Active, Companion};
pub(crate) use handle::Handle;

use crate::lease::Lease;
use crate::quiet::{self, Quiet};
use crate::state;
use crate::store::Store;

/// What is going on.
#[derive(Default)]
pub(crate) struct Control {
    /// The recording that runs.
    pub(crate) current: Option<Arc<Lease>>,
    pub(crate) sessions: Vec<Active>,
    pub(crate) last_session: u64,
    pub(crate) last_epoch: u32,
}

static CONTROL: Mutex<Control> = Mutex::new(Control { current: None, sessions: Vec::new(), last_session: 0, last_epoch: 0 });

/// Everything, locked.
pub(crate) fn lock() -> Quiet<'static, Control> {
    quiet::lock(&CONTROL)
}

/// The store of the recording `epoch`, while it runs.
pub(crate) fn current_store(epoch: u32) -> Option<Arc<Store>> {
    lock().current.as_ref().map(|lease| lease.store()).filter(|store| store.epoch == epoch).cloned()
}

/// The store of the recording that runs.
pub(crate) fn any_store() -> Option<Arc<Store>> {
    lock().current.as_ref().map(|lease| lease.store().clone())
}

impl Control {
    /// Tells all threads what the sessions want now.
    pub(crate) fn publish(&self) {
        let wanted = self.sessions.iter().fold(Categories::NONE, |all, session| all | session.categories);
        let epoch = self.current.as_ref().map_or(0, |lease| lease.store().epoch);
        state::set(epoch, if epoch == 0 { Categories::NONE } else { wanted });
    }
}
