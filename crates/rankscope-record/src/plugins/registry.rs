//! The plugins of one session, in order of registration, and what became of them.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use super::{PluginError, ProfilerPlugin, TraceSink};
use crate::about::set_metadata;
use crate::control::Companion;
use crate::report::PluginFailure;
use crate::session::SessionOptions;

/// The plugins of one session.
#[derive(Default)]
pub struct Registry {
    entries: Vec<Entry>,
    failures: Vec<PluginFailure>,
    files: Option<PathBuf>,
    /// The process whose threads the plugins may have; none before they are started.
    process: Option<u32>,
}

struct Entry {
    name: String,
    plugin: Box<dyn ProfilerPlugin>,
    is_on: bool,
}

impl Registry {
    /// One without plugins.
    pub fn new() -> Self {
        Self::default()
    }

    /// Files that plugins export lie in `directory`, which is made when the first one comes. Without this they cannot export any.
    #[must_use]
    pub fn files_in(mut self, directory: impl Into<PathBuf>) -> Self {
        self.files = Some(directory.into());
        self
    }

    /// The same with one more plugin, behind those that are there.
    #[must_use]
    pub fn with(mut self, plugin: impl ProfilerPlugin + 'static) -> Self {
        self.register(plugin);
        self
    }

    /// Adds a plugin behind those that are there.
    pub fn register(&mut self, plugin: impl ProfilerPlugin + 'static) {
        let plugin: Box<dyn ProfilerPlugin> = Box::new(plugin);
        let name = catch_unwind(AssertUnwindSafe(|| plugin.name().to_owned())).unwrap_or_else(|_| "unnamed".to_owned());
        self.entries.push(Entry { name, plugin, is_on: false });
    }

    /// Notes that there would be one more, had it not failed.
    #[cfg(feature = "foreign-plugins")]
    pub(super) fn failed(&mut self, failure: PluginFailure) {
        self.failures.push(failure);
    }

    /// Whether there are no plugins, nor any that failed to become one.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.failures.is_empty()
    }

    /// Plugins that were switched off so far.
    pub fn failures(&self) -> &[PluginFailure] {
        &self.failures
    }

    /// Begins with a session that has begun.
    pub(crate) fn start(&mut self, options: &SessionOptions) {
        self.process = Some(std::process::id());
        self.failures.iter().for_each(say);
        for entry in &mut self.entries {
            let mut enabled = false;
            entry.call("is_enabled", &mut self.failures, |plugin| {
                enabled = plugin.is_enabled();
                Ok(())
            });
            entry.is_on = enabled;
        }
        self.each("initialize", Order::Registered, |plugin| plugin.initialize(options));
        self.each("on_profiling_start", Order::Registered, |plugin| plugin.on_profiling_start());
    }

    fn each(
        &mut self,
        hook: &'static str,
        order: Order,
        mut call: impl FnMut(&mut dyn ProfilerPlugin) -> Result<(), PluginError>,
    ) {
        let mut entries: Vec<&mut Entry> = self.entries.iter_mut().filter(|entry| entry.is_on).collect();
        if order == Order::Reversed {
            entries.reverse();
        }
        for entry in entries {
            entry.call(hook, &mut self.failures, &mut call);
        }
    }
}

impl Companion for Registry {
    fn finish(mut self: Box<Self>) -> Vec<PluginFailure> {
        self.each("on_profiling_stop", Order::Reversed, |plugin| plugin.on_profiling_stop());
        for entry in self.entries.iter_mut().filter(|entry| entry.is_on) {
            let mut sink = TraceSink::new(&entry.name, self.files.as_deref());
            let exported = guarded(|| entry.plugin.export_data(&mut sink));
            entry.settle("export_data", exported, &mut self.failures);
        }
        mem::take(&mut self.failures)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Registered,
    Reversed,
}

impl Entry {
    fn call(
        &mut self,
        hook: &'static str,
        failures: &mut Vec<PluginFailure>,
        call: impl FnOnce(&mut dyn ProfilerPlugin) -> Result<(), PluginError>,
    ) {
        let called = guarded(|| call(self.plugin.as_mut()));
        self.settle(hook, called, failures);
    }

    /// One that failed is off, and the recording says so too: a report may never be looked at.
    fn settle(&mut self, hook: &'static str, called: Result<(), String>, failures: &mut Vec<PluginFailure>) {
        let Err(reason) = called else { return };
        self.is_on = false;
        let failure = PluginFailure { plugin: self.name.clone(), hook, reason };
        say(&failure);
        failures.push(failure);
    }
}

fn say(failure: &PluginFailure) {
    let PluginFailure { plugin, hook, reason } = failure;
    set_metadata(&format!("plugin.{plugin}.failed"), &format!("{hook}: {reason}"));
}

impl Drop for Registry {
    fn drop(&mut self) {
        // After a fork the threads that plugins would wait for are the parent's.
        let is_foreign = self.process.is_some_and(|process| process != std::process::id());
        for entry in self.entries.drain(..) {
            if is_foreign {
                mem::forget(entry);
            } else {
                let _ = guarded(|| {
                    drop(entry);
                    Ok(())
                });
            }
        }
    }
}

fn guarded(call: impl FnOnce() -> Result<(), PluginError>) -> Result<(), String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(panic) => Err(format!("it panicked: {}", said(panic.as_ref()))),
    }
}

/// What a panic said.
pub(crate) fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it gave no reason")
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.entries.iter().map(|entry| entry.name.as_str()).collect();
        f.debug_struct("Registry").field("plugins", &names).field("failures", &self.failures).finish_non_exhaustive()
    }
}
