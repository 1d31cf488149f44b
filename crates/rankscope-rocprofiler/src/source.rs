//! [`Rocprofiler`]: the plugin that a program adds to its session.

use rankscope_record::plugins::{PluginError, ProfilerPlugin, TraceSink};
use rankscope_record::{SessionOptions, set_metadata};

use crate::RocprofilerState;
use crate::abi::Status;
use crate::absent::Absent;
use crate::hub::Hub;
use crate::options::RocprofilerOptions;
use crate::probe::{probe, written};
use crate::running::{Ended, Running};
use crate::worker::Collected;

/// Records work of AMD's GPUs, through rocprofiler-sdk where this machine has it.
///
/// Where it has not, the session runs as without, and the recording says why under `rocprofiler.absent`.
pub struct Rocprofiler {
    options: RocprofilerOptions,
    state: RocprofilerState,
    phase: Phase,
}

enum Phase {
    Idle,
    Ready(&'static Hub),
    Running(Running),
    Ended(Ended),
}

impl Rocprofiler {
    /// One with these options.
    pub fn new(options: RocprofilerOptions) -> Self {
        Self { options, state: RocprofilerState::default(), phase: Phase::Idle }
    }

    /// How it goes, also when a session has the plugin.
    pub fn state(&self) -> RocprofilerState {
        self.state.clone()
    }

    /// It is absent, which is said once.
    fn stand_back(&mut self, absent: &Absent) {
        self.phase = Phase::Idle;
        set_metadata("rocprofiler.absent", &absent.to_string());
        self.state.set_absent(absent);
    }

    fn end(&mut self) {
        if let Phase::Running(running) = std::mem::replace(&mut self.phase, Phase::Idle) {
            self.phase = Phase::Ended(running.end());
        }
    }
}

impl Default for Rocprofiler {
    fn default() -> Self {
        Self::new(RocprofilerOptions::default())
    }
}

impl ProfilerPlugin for Rocprofiler {
    fn name(&self) -> &str {
        "rocprofiler"
    }

    fn initialize(&mut self, _: &SessionOptions) -> Result<(), PluginError> {
        match probe(&self.options) {
            Ok(hub) => self.phase = Phase::Ready(hub),
            Err(absent) => self.stand_back(&absent),
        }
        Ok(())
    }

    fn on_profiling_start(&mut self) -> Result<(), PluginError> {
        let Phase::Ready(hub) = self.phase else { return Ok(()) };
        match Running::begin(hub, &self.options) {
            Ok(running) => {
                // Said at once, so that it is known also of a program that is killed.
                say_what_is_there(hub);
                self.phase = Phase::Running(running);
            }
            Err(absent) => self.stand_back(&absent),
        }
        Ok(())
    }

    fn on_profiling_stop(&mut self) -> Result<(), PluginError> {
        self.end();
        Ok(())
    }

    fn export_data(&mut self, sink: &mut TraceSink<'_>) -> Result<(), PluginError> {
        let Phase::Ended(Ended { collected, absent }) = std::mem::replace(&mut self.phase, Phase::Idle) else { return Ok(()) };
        if let Some(absent) = absent {
            self.stand_back(&absent);
        }
        let Collected { source, counts } = collected.ok_or("the thread that decodes records does not answer")?;
        self.state.set_counts(&counts);
        sink.metadata("counts", &serde_json::to_string(&counts)?);
        sink.device_work(&source);
        if Hub::find().is_some_and(Hub::is_off) {
            return Err("a callback panicked, and nothing is recorded of devices any more".into());
        }
        Ok(())
    }
}

fn say_what_is_there(hub: &Hub) {
    let said = serde_json::json!({
        "file": hub.library.file,
        "version": written(hub.version),
        "clock": format!("{:?}", hub.clock.clock),
        "clock_off_ns": hub.clock.off_ns,
        "clock_half_width_ns": hub.clock.half_width_ns,
        "buffers": hub.buffers(),
        "buffer_bytes": hub.buffer_bytes(),
    });
    set_metadata("rocprofiler.library", &said.to_string());
    let services =
        [("copies", hub.tool.copies_status), ("calls", hub.tool.calls_status), ("spans of work", hub.tool.ties_status)];
    let refused = services.iter().filter(|(_, status)| *status != 0);
    let refused: Vec<String> = refused.map(|(what, status)| format!("{what}: {}", Status(*status))).collect();
    if !refused.is_empty() {
        set_metadata("rocprofiler.refused", &serde_json::json!(refused).to_string());
    }
    hub.gpus.say();
}

impl Drop for Rocprofiler {
    fn drop(&mut self) {
        self.end();
    }
}

impl std::fmt::Debug for Rocprofiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rocprofiler").field("options", &self.options).field("state", &self.state).finish_non_exhaustive()
    }
}
