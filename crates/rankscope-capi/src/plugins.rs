//! Plugins that the program links, beside those that the environment names.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rankscope_record::plugins::Registry;
use rankscope_record::plugins::foreign::{ForeignPlugin, LoadError, Plugin};

use crate::forks;
use crate::guard::answered;
use crate::status::{Error, Status};

/// A table that lives as long as the process.
#[derive(Clone, Copy)]
pub(crate) struct Table(*const Plugin);

// SAFETY: whoever registered it said that it does not change and lives on.
unsafe impl Send for Table {}

static REGISTERED: Mutex<Vec<Table>> = Mutex::new(Vec::new());

/// Those that were registered, locked.
pub(crate) fn lock() -> MutexGuard<'static, Vec<Table>> {
    forks::prepare();
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// No program has more.
const MOST: usize = 64;

/// Adds a plugin that the program links to the sessions to come, behind those that are there. A shared library is named in
/// `RANKSCOPE_PLUGINS` instead.
///
/// # Safety
/// `plugin` is null, or a table that lives as long as the process and whose functions keep to their contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_plugin_register(plugin: *const Plugin) -> Status {
    answered(|| {
        if plugin.is_null() {
            return Err(Error::Null { argument: "plugin" });
        }
        // SAFETY: the caller says so.
        drop(unsafe { foreign(Table(plugin)) }?);
        let mut registered = lock();
        if registered.len() >= MOST {
            return Err(Error::NoSuchNumber { argument: "the number of plugins", number: registered.len() as u64 + 1 });
        }
        registered.push(Table(plugin));
        Ok(())
    })
}

/// Those of a session that starts now: of the environment first.
pub(crate) fn all() -> Registry {
    let mut plugins = Registry::new();
    plugins.load_from_environment();
    let registered = lock().clone();
    for table in registered {
        // SAFETY: whoever registered it said that it lives on.
        if let Ok(plugin) = unsafe { foreign(table) } {
            plugins.register(plugin);
        }
    }
    plugins
}

/// # Safety
/// That of [`rankscope_plugin_register`].
unsafe fn foreign(table: Table) -> Result<ForeignPlugin, LoadError> {
    // SAFETY: the caller says so.
    unsafe { ForeignPlugin::new(table.0, "the registered plugin") }
}
