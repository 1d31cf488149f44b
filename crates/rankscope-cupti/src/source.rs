//! [`Cupti`]: the plugin that a program adds to its session.

use rankscope_record::plugins::{PluginError, ProfilerPlugin, TraceSink};
use rankscope_record::{SessionOptions, set_metadata};

use crate::CuptiState;
use crate::absent::Absent;
use crate::hub::Hub;
use crate::options::CuptiOptions;
use crate::probe::probe;
use crate::running::{Ended, Running};
use crate::visible::Visible;
use crate::worker::Collected;

/// Records work of NVIDIA's GPUs, through CUPTI where this machine has it.
///
/// Where it has not, the session runs as without, and the recording says why under `cupti.absent`.
pub struct Cupti {
    options: CuptiOptions,
    state: CuptiState,
    phase: Phase,
}

enum Phase {
    Idle,
    Ready(&'static Hub),
    Running(Running),
    Ended(Ended),
}

impl Cupti {
    /// One with these options.
    pub fn new(options: CuptiOptions) -> Self {
        Self { options, state: CuptiState::default(), phase: Phase::Idle }
    }

    /// How it goes, also when a session has the plugin.
    pub fn state(&self) -> CuptiState {
        self.state.clone()
    }

    /// It is absent, which is said once.
    fn stand_back(&mut self, absent: &Absent) {
        self.phase = Phase::Idle;
        set_metadata("cupti.absent", &absent.to_string());
        self.state.set_absent(absent);
    }

    fn end(&mut self) {
        if let Phase::Running(running) = std::mem::replace(&mut self.phase, Phase::Idle) {
            self.phase = Phase::Ended(running.end(self.options.patience));
        }
    }
}

impl Default for Cupti {
    fn default() -> Self {
        Self::new(CuptiOptions::default())
    }
}

impl ProfilerPlugin for Cupti {
    fn name(&self) -> &str {
        "cupti"
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
                say_what_is_there(hub, &running);
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
        let Phase::Ended(Ended { collected, refused, absent }) = std::mem::replace(&mut self.phase, Phase::Idle) else {
            return Ok(());
        };
        if let Some(absent) = absent {
            self.stand_back(&absent);
        }
        if !refused.is_empty() {
            let said: Vec<String> = refused.iter().map(|(kind, status)| format!("{}: {status}", kind.name())).collect();
            sink.metadata("refused_kinds", &serde_json::to_string(&said)?);
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

fn say_what_is_there(hub: &Hub, running: &Running) {
    let (buffers, buffer_bytes) = hub.room();
    let said = serde_json::json!({
        "file": hub.library.file,
        "version": hub.version,
        "clock": format!("{:?}", hub.clock.clock),
        "clock_off_ns": hub.clock.off_ns,
        "clock_half_width_ns": hub.clock.half_width_ns,
        "buffers": buffers,
        "buffer_bytes": buffer_bytes,
        "records": if running.chooses_fields { "chosen fields" } else { "whole" },
        "beside": running.beside,
    });
    set_metadata("cupti.library", &said.to_string());
    hub.visible.iter().for_each(Visible::say);
}

impl Drop for Cupti {
    fn drop(&mut self) {
        self.end();
    }
}

impl std::fmt::Debug for Cupti {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cupti").field("options", &self.options).field("state", &self.state).finish_non_exhaustive()
    }
}
