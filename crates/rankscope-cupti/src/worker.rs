//! [`Worker`]: the thread that decodes what comes back, and looks after a session in between.
//!
//! It looks every few milliseconds instead of being woken: a callback that wakes somebody may have to wait itself. The pool holds more
//! than CUPTI fills in that time.
#![expect(unsafe_code, reason = "what lies in buffers that came back is records of CUPTI's")]

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rankscope_record::plugins::{DeviceSource, block_signals};

use crate::absent::Absent;
use crate::counts::Counts;
use crate::decode::Decoder;
use crate::hub::{Hub, Tally};
use crate::kinds::Kinds;

/// Between looks. The pool as it is by default, 64 MiB, is filled in that time at 6 GB/s, some forty million kernels a second.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Longer than decoding what is left takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a session left: who handed its work over, and what became of it.
pub(crate) struct Collected {
    pub(crate) source: DeviceSource,
    pub(crate) counts: Counts,
}

/// The thread.
#[derive(Debug)]
pub(crate) struct Worker {
    /// It ends when this is dropped.
    until_dropped: Sender<()>,
    collected: Receiver<Collected>,
}

impl Worker {
    /// Starts it.
    ///
    /// # Errors
    /// The system has no thread.
    pub(crate) fn start(hub: &'static Hub, kinds: Arc<Kinds>, decoder: Decoder, flush_every: Duration) -> Result<Self, Absent> {
        let (until_dropped, stopping) = mpsc::channel();
        let (hand_over, collected) = mpsc::channel();
        let before = hub.tally();
        let spawned = thread::Builder::new().name("rankscope-cupti".to_owned()).spawn(move || {
            block_signals();
            // Nobody listens any more if the session did not wait.
            let _ = hand_over.send(work(hub, &kinds, decoder, before, flush_every, &stopping));
        });
        spawned.map_err(|error| Absent::NoRoom { what: "a thread", said: error.to_string() })?;
        Ok(Self { until_dropped, collected })
    }

    /// Has it finish, and returns what it collected; none if it does not.
    pub(crate) fn finish(self) -> Option<Collected> {
        drop(self.until_dropped);
        self.collected.recv_timeout(PATIENCE).ok()
    }
}

fn work(
    hub: &Hub,
    kinds: &Kinds,
    mut decoder: Decoder,
    before: Tally,
    flush_every: Duration,
    stopping: &Receiver<()>,
) -> Collected {
    let source = DeviceSource::new(hub.clock_id());
    let mut flushed = Instant::now();
    loop {
        let is_last = stopping.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout);
        if !is_last && flushed.elapsed() >= flush_every {
            // What it returns says nothing that the buffers do not say.
            let _ = hub.library.flush();
            flushed = Instant::now();
        }
        for filled in hub.filled() {
            decode(hub, &mut decoder, filled.bytes());
            source.hand_over(&decoder.take());
        }
        decoder.counts.dropped_records += hub.library.dropped_records();
        if is_last {
            break;
        }
        kinds.ask_again();
    }
    let mut counts = decoder.finish();
    let now = hub.tally();
    counts.refused_buffers = now.refused - before.refused;
    counts.stranger_buffers = now.strangers - before.strangers;
    counts.outstanding_buffers = hub.outstanding().into();
    Collected { source, counts }
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
