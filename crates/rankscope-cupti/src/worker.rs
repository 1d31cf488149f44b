//! [`Collector`]: what the thread of a session does, which decodes what CUPTI fills.
#![expect(unsafe_code, reason = "what lies in buffers that came back is records of CUPTI's")]

use std::sync::Arc;

use rankscope_devices::Collect;
use rankscope_record::plugins::DeviceSource;

use crate::counts::Counts;
use crate::decode::Decoder;
use crate::hub::{Hub, Tally};
use crate::kinds::Kinds;

/// What a session left.
pub(crate) type Collected = rankscope_devices::Collected<Counts>;

/// What the thread has of a session.
pub(crate) struct Collector {
    hub: &'static Hub,
    kinds: Arc<Kinds>,
    decoder: Decoder,
    before: Tally,
    source: DeviceSource,
}

impl Collector {
    pub(crate) fn new(hub: &'static Hub, kinds: Arc<Kinds>, decoder: Decoder) -> Self {
        Self { hub, kinds, decoder, before: hub.tally(), source: DeviceSource::new(hub.clock_id()) }
    }
}

impl Collect for Collector {
    type Left = Collected;

    fn ask(&mut self) {
        // What it returns says nothing that the buffers do not say.
        let _ = self.hub.library.flush();
    }

    fn collect(&mut self) {
        for filled in self.hub.filled() {
            decode(self.hub, &mut self.decoder, filled.bytes());
            self.source.hand_over(&self.decoder.take());
        }
        self.decoder.counts.dropped_records += self.hub.library.dropped_records();
    }

    fn between(&mut self) {
        self.kinds.ask_again();
    }

    fn finish(self) -> Collected {
        let Self { hub, decoder, before, source, .. } = self;
        let mut counts = decoder.finish();
        let now = hub.tally();
        counts.refused_buffers = now.refused - before.refused;
        counts.stranger_buffers = now.strangers - before.strangers;
        counts.outstanding_buffers = hub.outstanding().into();
        Collected { source, counts }
    }
}

/// All records of a buffer. Behind one that makes no sense nothing is read.
fn decode(hub: &Hub, decoder: &mut Decoder, buffer: &[u8]) {
    decoder.counts.buffers += 1;
    if buffer.is_empty() {
        return;
    }
    let mut current = None;
    loop {
        let next = hub.library.next_record(buffer, current);
        let end = next.unwrap_or(None);
        // What of the last record before nonsense is its own is not known, so it is nonsense, too.
        if let (Some(at), true) = (current, next.is_ok()) {
            let record = &buffer[at..end.unwrap_or(buffer.len())];
            // SAFETY: CUPTI says that a record is there, and has just handed it over.
            unsafe { decoder.record(record) };
        }
        decoder.counts.damaged_buffers += u64::from(next.is_err());
        if end.is_none() {
            return;
        }
        current = end;
    }
}
