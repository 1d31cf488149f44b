//! The file of one rank's trace: its header, the names of its rows, the window recorded, and whatever events are put into it.

use std::io::{self, Write};

use crate::dialect::Dialect;
use crate::event::{Event, Id};
use crate::header::{About, Header, header};
use crate::job::BASE_NS;
use crate::json::Document;

/// A file that is being written. The first error of the writer is kept until [`TraceFile::finish`].
pub(crate) struct TraceFile<'a, W> {
    document: Document<'a, W>,
    rank: u32,
    gpu: u32,
    after: Header,
    window: Option<(i64, i64)>,
    failed: io::Result<()>,
}

impl<'a, W: Write> TraceFile<'a, W> {
    /// Writes what stands before the events.
    pub(crate) fn open(about: &About, dialect: &'a Dialect, out: &'a mut W) -> io::Result<Self> {
        let (before, after) = header(about, dialect);
        let mut document = Document::new(out, dialect);
        document.open(&before)?;
        Ok(Self { document, rank: about.rank, gpu: about.gpu, after, window: None, failed: Ok(()) })
    }

    /// Names the rows, marks the window, closes the file; returns how many events it holds. Threads are numbered from the first.
    pub(crate) fn finish(mut self, streams: &[u32], threads: &[(u32, &str)]) -> io::Result<u64> {
        let (start_ns, end_ns) = self.window.unwrap_or((BASE_NS, BASE_NS));
        let (host, gpu) = (self.pid(), self.gpu());
        self.label(start_ns, host, Id::Number(0), "process_name", "name", "python".into());
        self.label(start_ns, host, Id::Number(0), "process_labels", "labels", "CPU".into());
        self.label(start_ns, gpu, Id::Number(0), "process_name", "name", "python".into());
        self.label(start_ns, gpu, Id::Number(0), "process_labels", "labels", format!("GPU {}", self.gpu));
        for &stream in streams {
            self.label(start_ns, gpu, Id::Stream(stream), "thread_name", "name", format!("stream {stream} "));
        }
        for &(thread, comm) in threads {
            let tid = first_id(self.rank) + thread;
            self.label(start_ns, host, Id::Number(tid), "thread_name", "name", format!("thread {tid} ({comm})"));
        }
        let window = Event::span("Trace", "PyTorch Profiler (0)", start_ns, end_ns - start_ns);
        self.put(window.on(Id::Text("Spans"), Id::Text("PyTorch Profiler")).with(vec![("Op count", 0_u32.into())]));
        for (name, pid, tid, at_ns) in [
            ("Iteration Start: PyTorch Profiler", "Traces", "Trace PyTorch Profiler", start_ns),
            ("Record Window End", "", "", end_ns),
        ] {
            let mark = Event::plain('i', name, at_ns).on(Id::Text(pid), Id::Text(tid));
            self.put(Event { extra: Some(("s", "g")), ..mark });
        }
        self.failed?;
        self.document.close(&self.after)
    }

    pub(crate) fn put(&mut self, event: Event) {
        if self.failed.is_err() {
            return;
        }
        let end_ns = event.at_ns + event.duration_ns.unwrap_or_default();
        let (start, end) = self.window.unwrap_or((event.at_ns, end_ns));
        self.window = Some((start.min(event.at_ns), end.max(end_ns)));
        self.failed = self.document.event(&event);
    }

    /// One end of an arrow that leaves or reaches a thread.
    pub(crate) fn flow(&mut self, name: &'static str, id: u64, at_ns: i64, tid: Id, finishes: bool) {
        let event = Event::plain(if finishes { 'f' } else { 's' }, name, at_ns).on(self.pid(), tid);
        let extra = finishes.then_some(("bp", "e"));
        self.put(Event { category: Some(name), flow: Some(id), extra, ..event });
    }

    /// Work of the device, with the end of the arrow from the call that launched it.
    pub(crate) fn device(&mut self, event: Event, stream: u32, correlation: u64) {
        let (pid, tid) = (self.gpu(), Id::Stream(stream));
        let end = Event::plain('f', "ac2g", event.at_ns).on(pid, tid);
        self.put(event.on(pid, tid));
        self.put(Event { category: Some("ac2g"), flow: Some(correlation), extra: Some(("bp", "e")), ..end });
    }

    /// Kineto widens these by a nanosecond on either side so that viewers nest the kernels inside.
    pub(crate) fn device_annotation(&mut self, name: String, stream: u32, start_ns: i64, end_ns: i64) {
        let event = Event::span("gpu_user_annotation", name, start_ns - 1, end_ns - start_ns + 2);
        self.put(event.on(self.gpu(), Id::Stream(stream)));
    }

    pub(crate) fn pid(&self) -> Id {
        Id::Number(first_id(self.rank))
    }

    /// A thread by its number within the process.
    pub(crate) fn thread(&self, thread: u32) -> Id {
        Id::Number(first_id(self.rank) + thread)
    }

    pub(crate) fn gpu(&self) -> Id {
        Id::Number(self.gpu)
    }

    fn label(&mut self, at_ns: i64, pid: Id, tid: Id, name: &'static str, key: &'static str, value: String) {
        self.put(Event::plain('M', name, at_ns).on(pid, tid).with(vec![(key, value.into())]));
    }
}

/// Process id of a rank; its main thread has the same number.
fn first_id(rank: u32) -> u32 {
    4_000 + 16 * rank
}
