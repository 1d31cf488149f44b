//! What stands around the events: the header, the names of processes and threads, and for recordings of the Kineto-compatible
//! API what Kineto itself puts there: labels, orders, and marks of the whole recording.

use std::io::Write;

use super::{Writer, text};
use crate::recording::{DEVICE_STREAM, Thread};

/// Kineto places the row of its own spans below all others with this number.
const SPANS_SORT_INDEX: i64 = 0x2000_0000;
/// Keys of the header that are written from what the recording is, not from its metadata.
const OWN_KEYS: [&str; 5] = ["schemaVersion", "displayTimeUnit", "baseTimeNanoseconds", "traceEvents", "traceName"];

impl<W: Write> Writer<'_, '_, W> {
    pub(super) fn header(&mut self) {
        let to = &mut self.output.buffer;
        to.extend_from_slice(b"{\n  \"schemaVersion\": 1,\n");
        let says = |wanted: &str| self.about.metadata.iter().any(|(key, _)| key == wanted);
        if self.about.is_kineto && !says("deviceProperties") {
            to.extend_from_slice(b"  \"deviceProperties\": [],\n");
        }
        for (key, json) in self.about.said_last().filter(|(key, _)| !OWN_KEYS.contains(key)) {
            member(to, key);
            text::json(to, json);
            to.extend_from_slice(b",\n");
        }
        if let Some(host) = self.about.host.as_ref().filter(|_| !says("host_name")) {
            member(to, "host_name");
            text::quoted(to, host);
            to.extend_from_slice(b",\n");
        }
        if let Some(rank) = self.about.rank.filter(|_| !says("distributedInfo")) {
            to.extend_from_slice(b"  \"distributedInfo\": {\"rank\": ");
            text::unsigned(to, rank.into());
            if let Some(world_size) = self.about.world_size {
                to.extend_from_slice(b", \"world_size\": ");
                text::unsigned(to, world_size.into());
            }
            to.extend_from_slice(b"},\n");
        }
        to.extend_from_slice(b"  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": ");
        text::signed(to, self.base_ns);
        to.extend_from_slice(b",\n  \"traceEvents\": [");
    }

    /// What the process is called. These are the first events: all others stand behind a comma.
    pub(super) fn process(&mut self) {
        let mut pid = Vec::new();
        text::unsigned(&mut pid, self.about.pid.into());
        let mut name = Vec::new();
        text::quoted(&mut name, &self.about.process_name);
        self.naming("process_name", &pid, b"0", "name", &name);
        let comma = self.output.buffer.iter().rposition(|byte| *byte == b'[').unwrap_or_default() + 1;
        self.output.buffer.remove(comma);
        if self.about.is_kineto {
            self.naming("process_labels", &pid, b"0", "labels", b"\"CPU\"");
            self.naming("process_sort_index", &pid, b"0", "sort_index", &pid.clone());
        }
    }

    pub(super) fn naming(&mut self, what: &str, pid: &[u8], tid: &[u8], key: &str, value: &[u8]) {
        let (base_ns, start_ns, to) = (self.base_ns, self.start_ns, &mut self.output.buffer);
        for part in [b",\n  {\n    \"ph\": \"M\", \"name\": \"", what.as_bytes(), b"\", \"pid\": ", pid, b", \"tid\": ", tid] {
            to.extend_from_slice(part);
        }
        to.extend_from_slice(b", \"ts\": ");
        text::micros(to, start_ns.saturating_sub(base_ns));
        for part in [b",\n    \"args\": {\n      \"", key.as_bytes(), b"\": ", value, b"\n    }\n  }"] {
            to.extend_from_slice(part);
        }
    }

    /// Names a thread, and goes there; device work is on none.
    pub(super) fn enter(&mut self, thread: &Thread) {
        if thread.stream == DEVICE_STREAM {
            // Work goes to the rows of its devices.
            return;
        }
        let (mut pid, mut tid, mut name) = (Vec::new(), Vec::new(), Vec::new());
        text::unsigned(&mut pid, self.about.pid.into());
        text::unsigned(&mut tid, thread.tid);
        if self.about.is_kineto {
            text::quoted(&mut name, &format!("thread {} ({})", thread.tid, thread.name));
        } else {
            text::quoted(&mut name, &thread.name);
        }
        self.naming("thread_name", &pid, &tid, "name", &name);
        if self.about.is_kineto {
            self.naming("thread_sort_index", &pid, &tid, "sort_index", &tid);
        }
        self.stand_on(thread.tid);
    }

    /// Makes thread `tid` the place of the events to come.
    pub(super) fn stand_on(&mut self, tid: u64) {
        self.stand_in(self.about.pid, tid);
    }

    /// Makes row `tid` of the process or device `pid` the place of the events to come.
    pub(super) fn stand_in(&mut self, pid: u32, tid: u64) {
        let place = &mut self.place;
        place.clear();
        place.extend_from_slice(b", \"pid\": ");
        text::unsigned(place, pid.into());
        place.extend_from_slice(b", \"tid\": ");
        text::unsigned(place, tid);
        place.extend_from_slice(b",\n    \"ts\": ");
    }

    /// The end of the file.
    pub(super) fn trailer(&mut self) {
        if self.about.is_kineto {
            self.marks();
        }
        let to = &mut self.output.buffer;
        to.extend_from_slice(b"\n  ]");
        if let Some(name) = &self.about.trace_name {
            to.extend_from_slice(b",\n  \"traceName\": ");
            text::quoted(to, name);
        }
        to.extend_from_slice(b"\n}\n");
    }

    /// The marks that Kineto sets around the whole recording.
    fn marks(&mut self) {
        let (base_ns, start_ns, last_ns) = (self.base_ns, self.start_ns, self.last_ns);
        let to = &mut self.output.buffer;
        to.extend_from_slice(
            b",\n  {\n    \"ph\": \"X\", \"cat\": \"Trace\", \"name\": \"PyTorch Profiler (0)\", \"pid\": \"Spans\", \
              \"tid\": \"PyTorch Profiler\",\n    \"ts\": ",
        );
        text::micros(to, start_ns.saturating_sub(base_ns));
        to.extend_from_slice(b", \"dur\": ");
        text::micros(to, last_ns.saturating_sub(start_ns));
        to.extend_from_slice(b",\n    \"args\": {\n      \"Op count\": 0\n    }\n  }");
        let mut index = Vec::new();
        text::signed(&mut index, SPANS_SORT_INDEX);
        self.naming("process_sort_index", b"\"Spans\"", b"0", "sort_index", &index);
        self.mark("Iteration Start: PyTorch Profiler", "Traces", "Trace PyTorch Profiler", start_ns);
        self.mark("Record Window End", "", "", last_ns);
    }

    /// An instant of the whole file.
    fn mark(&mut self, name: &str, pid: &str, tid: &str, ns: i64) {
        let (base_ns, to) = (self.base_ns, &mut self.output.buffer);
        let parts =
            ["i\", \"s\": \"g\", \"name\": \"", name, "\", \"pid\": \"", pid, "\", \"tid\": \"", tid, "\",\n    \"ts\": "];
        to.extend_from_slice(b",\n  {\n    \"ph\": \"");
        parts.iter().for_each(|part| to.extend_from_slice(part.as_bytes()));
        text::micros(to, ns.saturating_sub(base_ns));
        to.extend_from_slice(b"\n  }");
    }
}

/// The start of a member of the header.
fn member(to: &mut Vec<u8>, key: &str) {
    to.extend_from_slice(b"  ");
    text::quoted(to, key);
    to.extend_from_slice(b": ");
}
