//! [`Cupti`]: the plugin that a program adds to its session.

use rankscope_devices::{Profiler, SourcePlugin};
use rankscope_record::set_metadata;

use crate::absent::Absent;
use crate::counts::Counts;
use crate::hub::Hub;
use crate::options::CuptiOptions;
use crate::probe::probe;
use crate::running::{Ended, Running};
use crate::visible::Visible;

/// Records work of NVIDIA's GPUs, through CUPTI where this machine has it.
///
/// Where it has not, the session runs as without, and the recording says why under `cupti.absent`.
pub type Cupti = SourcePlugin<CuptiOptions>;

impl Profiler for CuptiOptions {
    const NAME: &'static str = "cupti";
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
        say_what_is_there(running);
    }

    fn end(&self, running: Running) -> Ended {
        running.end(self.patience)
    }

    fn is_off() -> bool {
        Hub::find().is_some_and(|hub| hub.switch.is_off())
    }
}

fn say_what_is_there(running: &Running) {
    let hub = running.hub;
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
