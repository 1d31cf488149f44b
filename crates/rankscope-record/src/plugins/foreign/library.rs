//! Shared libraries with plugins, by path or as the environment names them.

use std::ffi::OsStr;
use std::mem;
use std::path::Path;

use libloading::Library;

use super::abi::{PLUGIN_ABI_VERSION, Plugin};
use super::plugin::ForeignPlugin;
use crate::plugins::{PluginFailure, Registry};

/// Where paths of plugins stand, separated by colons.
const PLUGINS: &str = "RANKSCOPE_PLUGINS";
/// What a library exports.
const ENTRY: &[u8] = b"rankscope_plugin_entry\0";

/// Why there is no plugin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The library cannot be loaded.
    #[error("{path}: {source}")]
    Library {
        /// The path.
        path: String,
        /// What the loader said.
        source: libloading::Error,
    },
    /// It is a library, and no plugin.
    #[error("{path}: no plugin: it does not export rankscope_plugin_entry")]
    NoEntry {
        /// The path.
        path: String,
    },
    /// It was built for another version of the interface.
    #[error("{origin}: built for version {found} of the plugin interface, and this is {PLUGIN_ABI_VERSION}: build it again")]
    Version {
        /// The library, or who handed over the table.
        origin: String,
        /// The version.
        found: u32,
    },
    /// What it gave is no plugin.
    #[error("{origin}: {reason}")]
    Refused {
        /// The library, or who handed over the table.
        origin: String,
        /// What is wrong.
        reason: &'static str,
    },
}

impl Registry {
    /// Adds the plugin that the shared library at `path` has. The library's code runs, and it stays loaded.
    ///
    /// # Errors
    /// What keeps it from being one.
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<(), LoadError> {
        self.register(load(path.as_ref().as_os_str())?);
        Ok(())
    }

    /// Adds the plugins whose paths `RANKSCOPE_PLUGINS` has, separated by colons. Those that cannot be loaded are among the
    /// [failures](Registry::failures), and so in the report of the session.
    pub fn load_from_environment(&mut self) {
        let Some(paths) = std::env::var_os(PLUGINS) else { return };
        for path in std::env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()) {
            if let Err(error) = self.load(&path) {
                let plugin = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                self.failed(PluginFailure { plugin, hook: "load", reason: error.to_string() });
            }
        }
    }
}

fn load(path: &OsStr) -> Result<ForeignPlugin, LoadError> {
    let origin = path.to_string_lossy().into_owned();
    // SAFETY: whoever names the path wants its code to run.
    let library = unsafe { Library::new(path) }.map_err(|source| LoadError::Library { path: origin.clone(), source })?;
    // SAFETY: the name is that of a function of this type, by contract.
    let entry = unsafe { library.get::<unsafe extern "C" fn(u32) -> *const Plugin>(ENTRY) };
    let entry = *entry.map_err(|_| LoadError::NoEntry { path: origin.clone() })?;
    // Nobody knows who will still point into it.
    mem::forget(library);
    // SAFETY: the library stays, and so does what it returns.
    unsafe { ForeignPlugin::new(entry(PLUGIN_ABI_VERSION), &origin) }
}
