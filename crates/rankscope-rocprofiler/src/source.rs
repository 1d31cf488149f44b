//! [`Rocprofiler`]: the plugin that a program adds to its session.

use rankscope_devices::{Profiler, SourcePlugin};
use rankscope_record::set_metadata;

use crate::abi::Status;
use crate::absent::Absent;
use crate::counts::Counts;
use crate::hub::Hub;
use crate::options::RocprofilerOptions;
use crate::probe::{probe, written};
use crate::running::{Ended, Running};

/// Records work of AMD's GPUs, through rocprofiler-sdk where this machine has it.
///
/// Where it has not, the session runs as without, and the recording says why under `rocprofiler.absent`.
pub type Rocprofiler = SourcePlugin<RocprofilerOptions>;

impl Profiler for RocprofilerOptions {
    const NAME: &'static str = "rocprofiler";
    type Absent = Absent;
    type Counts = Counts;
    type Found = &'static Hub;
    type Running = Running;

    fn find(&self) -> Result<&'static Hub, Absent> {
        probe(self)
    }

    fn begin(&self, found: &'static Hub) -> Result<Running, Absent> {
        Running::begin(found, self)
    }

    fn tell(running: &Running) {
        say_what_is_there(running.hub);
    }

    fn end(&self, running: Running) -> Ended {
        running.end()
    }

    fn is_off() -> bool {
        Hub::find().is_some_and(|hub| hub.switch.is_off())
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
    let services = [
        ("copies", hub.tool.copies_status),
        ("calls", hub.tool.calls_status),
        ("spans of work", hub.tool.ties_status),
        ("streams of HIP", hub.streams_status()),
        ("memory", hub.tool.memory_status),
        ("scratch memory", hub.tool.scratch_status),
        ("graphs", hub.tool.graphs_status),
    ];
    let refused = services.iter().filter(|(_, status)| *status != 0);
    let refused: Vec<String> = refused.map(|(what, status)| format!("{what}: {}", Status(*status))).collect();
    if !refused.is_empty() {
        set_metadata("rocprofiler.refused", &serde_json::json!(refused).to_string());
    }
    hub.gpus.say();
}
