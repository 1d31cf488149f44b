//! What others want done while a session records: samplers, exporters, readers of clocks, each a [`ProfilerPlugin`].
//!
//! The hooks follow the session: initialize and start behind its beginning, stop and export before its end, so that what a
//! plugin adds is part of the recording. A plugin that fails or panics is switched off and reported once; the program, the
//! session and the other plugins go on. There is no global list: a [`Registry`] belongs to the session it is started with.

mod device_source;
#[cfg(feature = "foreign-plugins")]
pub mod foreign;
mod registry;
mod sink;

use std::error::Error;

pub use device_source::DeviceSource;
pub use registry::Registry;
#[cfg(feature = "snapshots")]
pub(crate) use registry::said;
pub use sink::TraceSink;

pub use crate::keeper::block_signals;
pub use crate::report::PluginFailure;
use crate::session::SessionOptions;

/// What a hook fails with.
pub type PluginError = Box<dyn Error + Send + Sync>;

/// Something that works beside a session. Hooks run on the threads that start and stop the session and should be quick.
pub trait ProfilerPlugin: Send {
    /// What it is called in reports.
    fn name(&self) -> &str;

    /// Whether it takes part; asked once, before all else. One that does not is never called again.
    fn is_enabled(&self) -> bool {
        true
    }

    /// Gets ready for a session of these options.
    ///
    /// # Errors
    /// Whatever keeps it from working; the session goes on without it.
    fn initialize(&mut self, options: &SessionOptions) -> Result<(), PluginError> {
        let _ = options;
        Ok(())
    }

    /// The session records from now on.
    ///
    /// # Errors
    /// Whatever keeps it from working; the session goes on without it.
    fn on_profiling_start(&mut self) -> Result<(), PluginError> {
        Ok(())
    }

    /// The session is about to end; plugins stop in reverse order of their start.
    ///
    /// # Errors
    /// What went wrong since the start; the plugin then exports nothing.
    fn on_profiling_stop(&mut self) -> Result<(), PluginError> {
        Ok(())
    }

    /// Adds what it has to the recording.
    ///
    /// # Errors
    /// What could not be added.
    fn export_data(&mut self, sink: &mut TraceSink<'_>) -> Result<(), PluginError> {
        let _ = sink;
        Ok(())
    }
}
