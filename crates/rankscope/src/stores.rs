//! Object stores, for everything that takes a path. This is the only place that knows who speaks to them.

use rankscope_run::register_stores;
use rankscope_store::ObjectStores;

/// Makes URLs of stores paths like others.
pub(crate) fn register() {
    register_stores(Box::new(ObjectStores::default()));
}
