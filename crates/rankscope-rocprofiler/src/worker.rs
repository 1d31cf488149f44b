//! [`Collector`]: what the thread of a session does, which decodes what rocprofiler handed over.
#![expect(unsafe_code, reason = "names are texts of the tool's")]

use std::ffi::c_int;

use rankscope_devices::{Collect, text};
use rankscope_record::plugins::DeviceSource;

use crate::counts::Counts;
use crate::decode::{Decoder, LookUp};
use crate::hub::{Hub, Tally};
use crate::packed::unpacked;

/// What a session left.
pub(crate) type Collected = rankscope_devices::Collected<Counts>;

/// What the thread has of a session.
pub(crate) struct Collector {
    hub: &'static Hub,
    decoder: Decoder<&'static Hub>,
    before: Tally,
    source: DeviceSource,
}

impl LookUp for &'static Hub {
    fn kernel(&self, kernel: u64) -> Option<String> {
        // SAFETY: null, or a text that stays.
        unsafe { text((self.tool.kernel_name)(kernel)) }
    }

    fn stream(&self, call: u64) -> Option<u64> {
        (self.tool.stream)(call).checked_sub(1)
    }

    fn hip_call(&self, operation: c_int) -> Option<String> {
        self.library.hip_call(operation)
    }
}

impl Collector {
    pub(crate) fn new(hub: &'static Hub, decoder: Decoder<&'static Hub>) -> Self {
        Self { hub, decoder, before: hub.tally(), source: DeviceSource::new(hub.clock.clock) }
    }
}

impl Collect for Collector {
    type Left = Collected;

    fn ask(&mut self) {
        // What it returns says nothing that the records do not say.
        let _ = (self.hub.tool.flush)();
    }

    fn collect(&mut self) {
        for filled in self.hub.filled() {
            self.decoder.counts.buffers += 1;
            unpacked(filled.bytes()).for_each(|packed| self.decoder.record(packed));
            self.source.hand_over(&self.decoder.take());
        }
    }

    fn finish(self) -> Collected {
        let mut counts = self.decoder.counts;
        let now = self.hub.tally();
        counts.refused_records = now.refused - self.before.refused;
        counts.dropped_records = now.dropped - self.before.dropped;
        Collected { source: self.source, counts }
    }
}
