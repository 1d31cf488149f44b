//! [`ForeignPlugin`]: a table of functions as one of our plugins.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use rankscope_recording::ClockId;

use super::abi::{PLUGIN_ABI_VERSION, Plugin, SessionAbout};
use super::collected::Collected;
use super::host::{HOST, copied, text};
use super::library::LoadError;
use crate::anchors;
use crate::plugins::{DeviceSource, PluginError, ProfilerPlugin, TraceSink};
use crate::session::SessionOptions;
use crate::store::Storage;

/// A plugin of another language.
pub struct ForeignPlugin {
    name: String,
    table: Plugin,
    session: *mut c_void,
    is_created: bool,
}

// SAFETY: a plugin's functions are called by one thread at a time, whichever starts and stops the session, as its contract says.
unsafe impl Send for ForeignPlugin {}

/// The table as far as `create`.
const LEAST: u32 = 56;
/// Bytes of a plugin's reason.
const REASON_BYTES: usize = 512;

impl ForeignPlugin {
    /// Takes a plugin's table, which is copied as far as it goes. `origin` is what it is called in errors.
    ///
    /// # Errors
    /// What is no table, or one of another version.
    ///
    /// # Safety
    /// `table` is null, or a plugin whose functions keep to its contract for as long as the process runs.
    pub unsafe fn new(table: *const Plugin, origin: &str) -> Result<Self, LoadError> {
        let refused = |reason| LoadError::Refused { origin: origin.to_owned(), reason };
        if table.is_null() {
            return Err(refused("it does not work with this version of the plugin interface"));
        }
        // SAFETY: zeros are a table without functions, and the caller says that there is one.
        let table =
            unsafe { copied(table, LEAST) }.ok_or_else(|| refused("its table is smaller than any version of it was"))?;
        if table.abi_version != PLUGIN_ABI_VERSION {
            return Err(LoadError::Version { origin: origin.to_owned(), found: table.abi_version });
        }
        if table.create.is_none() {
            return Err(refused("its table has no function `create`"));
        }
        if !anchors::CLOCKS.iter().any(|(id, _)| *id == ClockId(table.clock)) {
            return Err(refused("its clock is none of 1 to 4"));
        }
        // SAFETY: the caller says that its name is one.
        let name = unsafe { text(table.name, table.name_bytes) }.filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| refused("it has no name"))?;
        Ok(Self { name, table, session: ptr::null_mut(), is_created: false })
    }

    fn call(&self, function: Option<unsafe extern "C" fn(*mut c_void) -> i32>) -> Result<(), PluginError> {
        // SAFETY: `create` made this session, which has not been destroyed.
        function.map_or(Ok(()), |function| self.settled(unsafe { function(self.session) }))
    }

    /// What a number means that a function returned.
    fn settled(&self, code: i32) -> Result<(), PluginError> {
        if code == 0 {
            return Ok(());
        }
        let said = self.reason();
        Err(if said.is_empty() { format!("it returned {code}") } else { format!("it returned {code}: {said}") }.into())
    }

    fn reason(&self) -> String {
        let Some(describe) = self.table.describe_error else { return String::new() };
        let mut words = [MaybeUninit::<u8>::zeroed(); REASON_BYTES];
        // SAFETY: there are so many bytes, all of which have a value; the session is the plugin's own, or null if it made none.
        let written = unsafe { describe(self.session, words.as_mut_ptr().cast::<c_char>(), REASON_BYTES) };
        // SAFETY: as above.
        unsafe { text(words.as_ptr().cast(), written.min(REASON_BYTES)) }.unwrap_or_default().trim_end_matches('\0').to_owned()
    }
}

impl ProfilerPlugin for ForeignPlugin {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_enabled(&self) -> bool {
        // SAFETY: the table's contract.
        self.table.is_enabled.is_none_or(|is_enabled| unsafe { is_enabled(self.table.context) } != 0)
    }

    fn initialize(&mut self, options: &SessionOptions) -> Result<(), PluginError> {
        let Some(create) = self.table.create else { return Ok(()) };
        let path = match &options.storage {
            Storage::File(path) => path.as_os_str().as_bytes(),
            Storage::Memory => &[],
        };
        let about = SessionAbout {
            struct_size: size_of::<SessionAbout>() as u32,
            categories: options.categories.0,
            path: if path.is_empty() { ptr::null() } else { path.as_ptr().cast() },
            path_bytes: path.len(),
        };
        // SAFETY: the table's contract; all three places outlive the call.
        let code = unsafe { create(self.table.context, &raw const HOST, &raw const about, &raw mut self.session) };
        self.is_created = code == 0;
        self.settled(code)
    }

    fn on_profiling_start(&mut self) -> Result<(), PluginError> {
        self.call(self.table.start)
    }

    fn on_profiling_stop(&mut self) -> Result<(), PluginError> {
        self.call(self.table.stop)
    }

    fn export_data(&mut self, sink: &mut TraceSink<'_>) -> Result<(), PluginError> {
        let Some(collect) = self.table.collect else { return Ok(()) };
        let mut collected = Collected::default();
        let emit = collected.table();
        // SAFETY: `create` made this session; the table and what it speaks for outlive the call.
        let code = unsafe { collect(self.session, &raw const emit) };
        let settled = self.settled(code);
        for (key, json) in &collected.metadata {
            sink.metadata(key, json);
        }
        for (name, value) in &collected.counters {
            sink.counter_f64(name, *value);
        }
        if !collected.problems.is_empty() {
            let said: Vec<String> = collected.problems.iter().map(|(severity, words)| format!("{severity}: {words}")).collect();
            sink.metadata("problems", &serde_json::Value::from(said).to_string());
        }
        if collected.refused > 0 {
            sink.metadata("refused", &collected.refused.to_string());
        }
        if !collected.items.is_empty() {
            let source = DeviceSource::new(ClockId(self.table.clock));
            source.hand_over(&collected.items);
            sink.device_work(&source);
        }
        settled
    }
}

impl Drop for ForeignPlugin {
    fn drop(&mut self) {
        if let Some(destroy) = self.table.destroy.filter(|_| self.is_created) {
            // SAFETY: `create` made this session, and this is its last call.
            unsafe { destroy(self.session) };
        }
    }
}

impl std::fmt::Debug for ForeignPlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ForeignPlugin").field("name", &self.name).finish_non_exhaustive()
    }
}
