//! One event of a recording as one event of the file.

use std::io::Write;

use super::spans::{Ended, argument};
use super::{Writer, text};
use crate::recording::export::names::{category_name, needs_link};
use crate::recording::{Args, CounterValue, Event, FlowStage, NameId, What};

/// What an event is called.
pub(super) struct Title {
    pub(super) category: u8,
    pub(super) name: NameId,
    /// What follows the name, behind a `#`.
    pub(super) number: Option<i64>,
}

impl Title {
    fn of(ended: &Ended, category: u8) -> Self {
        Self { category, name: ended.open.name, number: ended.open.number }
    }
}

impl<W: Write> Writer<'_, '_, W> {
    pub(super) fn event(&mut self, event: &Event, ns: i64, args: Args<'_>) {
        match event.what {
            What::Begin { id, number } => {
                self.open.begin(ns, event.name, id, number);
                if !args.is_empty() {
                    self.open.began_with(args, &self.names, &mut self.seen);
                }
            }
            What::End { unfinished, above } => {
                if let Some(ended) = self.open.end(above) {
                    if above == 0 {
                        self.span(&ended, ns, args, unfinished);
                    } else {
                        self.overlapping(&ended, ns, args, unfinished);
                    }
                    self.open.drop_args(&ended);
                }
            }
            What::Instant if self.device_work(event, args) => {}
            What::Instant => {
                let name = Title { category: self.names.category(event.name), name: event.name, number: None };
                self.begin("i\", \"s\": \"t", name, ns);
                self.args(args, |_| {});
                self.close();
            }
            What::Counter(value) => self.counter(event.name, value, ns),
            What::Flow { id, stage } => self.flow(event.name, id, stage, ns),
            What::AsyncBegin { id } => self.half("b", event.name, id, ns, args),
            What::AsyncEnd { id } => self.half("e", event.name, id, ns, args),
            What::Memory { .. } => self.memory_in_place(&event.what, ns, args),
        }
    }

    fn span(&mut self, ended: &Ended, end_ns: i64, args: Args<'_>, unfinished: bool) {
        let open = &ended.open;
        self.begin("X", Title::of(ended, self.names.category(open.name)), open.start_ns);
        let to = &mut self.output.buffer;
        to.extend_from_slice(b", \"dur\": ");
        text::micros(to, end_ns.saturating_sub(open.start_ns).max(0));
        self.span_args(ended, args, &[("finished", false)][..usize::from(unfinished)]);
        self.close();
    }

    /// A span that overlaps others of its thread: readers stack what is on one thread, so it is an asynchronous one.
    fn overlapping(&mut self, ended: &Ended, end_ns: i64, args: Args<'_>, unfinished: bool) {
        let category = self.names.category(ended.open.name);
        self.begin("b", Title::of(ended, category), ended.open.start_ns);
        self.overlapping_id(ended);
        self.span_args(ended, args, &[("misnested", true), ("finished", false)][..1 + usize::from(unfinished)]);
        self.close();
        self.begin("e", Title::of(ended, category), end_ns.max(ended.open.start_ns));
        self.overlapping_id(ended);
        self.close();
    }

    /// Words, so that no asynchronous span of the recording has the same.
    fn overlapping_id(&mut self, ended: &Ended) {
        let to = &mut self.output.buffer;
        to.extend_from_slice(b", \"id\": \"span ");
        text::unsigned(to, ended.open.id);
        to.push(b'"');
    }

    fn span_args(&mut self, ended: &Ended, args: Args<'_>, marks: &[(&str, bool)]) {
        let open = &ended.open;
        let category = self.names.category(open.name);
        let Self { about, output, names, seen, open: spans, external_id, .. } = self;
        let to = &mut output.buffer;
        let before = open_args(to);
        seen.next_event();
        for (key, value) in args.iter() {
            argument(to, names, seen, key, &value);
        }
        spans.args(ended, to, seen);
        let linked = external_id.is_some_and(|key| !seen.is_new(key));
        // Elsewhere nothing refers to a span's number.
        let is_numbered = about.is_kineto || external_id.is_some();
        if is_numbered && !linked && open.id != 0 && !needs_link(category) {
            to.extend_from_slice(b"\"External id\": ");
            text::unsigned(to, open.id);
            to.extend_from_slice(b", ");
        }
        for (key, value) in marks {
            let value: &[u8] = if *value { b"true" } else { b"false" };
            for part in [b"\"", key.as_bytes(), b"\": ", value, b", "] {
                to.extend_from_slice(part);
            }
        }
        close_args(to, before);
    }

    fn counter(&mut self, name: NameId, value: CounterValue, ns: i64) {
        if matches!(value, CounterValue::F64(value) if !value.is_finite()) {
            return;
        }
        self.begin("C", Title { category: self.names.category(name), name, number: None }, ns);
        let to = &mut self.output.buffer;
        let before = open_args(to);
        to.extend_from_slice(b"\"value\": ");
        match value {
            CounterValue::I64(value) => text::signed(to, value),
            CounterValue::F64(value) => text::real(to, value),
        }
        to.extend_from_slice(b", ");
        close_args(to, before);
        self.close();
    }

    pub(super) fn flow(&mut self, name: NameId, id: u64, stage: FlowStage, ns: i64) {
        let Self { output, names, place, base_ns, .. } = self;
        arrow(&mut output.buffer, names.quoted(name), id, stage, place, ns.saturating_sub(*base_ns));
    }

    /// An arrow between two spans, each given by its thread and its start.
    pub(super) fn link(&mut self, id: u64, ends: [(u64, i64); 2]) {
        for (stage, (tid, ns)) in [FlowStage::Start, FlowStage::End].into_iter().zip(ends) {
            self.stand_on(tid);
            let Self { output, place, base_ns, .. } = self;
            arrow(&mut output.buffer, LINK, id, stage, place, ns.saturating_sub(*base_ns));
        }
    }

    /// One end of a span whose other end may be on another thread.
    fn half(&mut self, phase: &str, name: NameId, id: u64, ns: i64, args: Args<'_>) {
        self.begin(phase, Title { category: self.names.category(name), name, number: None }, ns);
        let to = &mut self.output.buffer;
        to.extend_from_slice(b", \"id\": \"");
        // Texts, because those who read JSON numbers as doubles would take two ids for one.
        text::unsigned(to, id);
        to.push(b'"');
        self.args(args, |_| {});
        self.close();
    }

    pub(super) fn memory(&mut self, what: &What, ns: i64, args: Args<'_>) {
        let What::Memory { address, bytes, device_type, device_index, out_of_memory } = *what else { return };
        let name = if out_of_memory { "[OutOfMemory]" } else { "[memory]" };
        self.phase("i\", \"s\": \"t\", \"cat\": \"cpu_instant_event");
        for part in [", \"name\": \"", name, "\""] {
            self.output.buffer.extend_from_slice(part.as_bytes());
        }
        self.moment(ns);
        self.args(args, |to| {
            to.extend_from_slice(b"\"Addr\": ");
            text::unsigned(to, address);
            to.extend_from_slice(b", \"Bytes\": ");
            text::signed(to, bytes);
            to.extend_from_slice(b", \"Device Type\": ");
            text::unsigned(to, device_type.into());
            to.extend_from_slice(b", \"Device Id\": ");
            text::signed(to, device_index.into());
            to.extend_from_slice(b", ");
        });
        self.close();
    }

    /// Starts an event of this phase.
    fn phase(&mut self, phase: &str) {
        let to = &mut self.output.buffer;
        to.extend_from_slice(b",\n  {\n    \"ph\": \"");
        to.extend_from_slice(phase.as_bytes());
        to.push(b'"');
    }

    /// Starts an event: phase, title, place and time.
    pub(super) fn begin(&mut self, phase: &str, title: Title, ns: i64) {
        self.phase(phase);
        let (to, name) = (&mut self.output.buffer, self.names.quoted(title.name));
        for part in [b", \"cat\": \"", category_name(title.category).as_bytes(), b"\", \"name\": "] {
            to.extend_from_slice(part);
        }
        match title.number {
            None => to.extend_from_slice(name),
            Some(number) => {
                to.extend_from_slice(&name[..name.len() - 1]);
                to.push(b'#');
                text::signed(to, number);
                to.push(b'"');
            }
        }
        self.moment(ns);
    }

    /// Place and time.
    fn moment(&mut self, ns: i64) {
        let to = &mut self.output.buffer;
        to.extend_from_slice(&self.place);
        text::micros(to, ns.saturating_sub(self.base_ns));
    }

    /// The arguments of an event that is no span; `own` writes those it has by nature.
    pub(super) fn args(&mut self, args: Args<'_>, own: impl FnOnce(&mut Vec<u8>)) {
        let Self { output, names, seen, resumed, device_work, memory_place, .. } = self;
        let to = &mut output.buffer;
        let before = open_args(to);
        own(to);
        seen.next_event();
        let hidden = [*resumed, *device_work, *memory_place];
        for (key, value) in args.iter().filter(|(key, _)| hidden == [None; 3] || !hidden.contains(&Some(names.same(*key)))) {
            argument(to, names, seen, key, &value);
        }
        close_args(to, before);
    }

    pub(super) fn close(&mut self) {
        self.output.buffer.extend_from_slice(b"\n  }");
    }
}

/// The name of arrows to gradients, in quotes.
const LINK: &[u8] = b"\"fwdbwd\"";

/// A point of an arrow. Kineto has one word for its name and its category.
pub(super) fn arrow(to: &mut Vec<u8>, name: &[u8], id: u64, stage: FlowStage, place: &[u8], ns: i64) {
    let phase: &[u8] = match stage {
        FlowStage::Start => b"s",
        FlowStage::Step => b"t",
        FlowStage::End => b"f\", \"bp\": \"e",
    };
    for part in [b",\n  {\n    \"ph\": \"", phase, b"\", \"id\": "] {
        to.extend_from_slice(part);
    }
    text::unsigned(to, id);
    for part in [b", \"cat\": ", name, b", \"name\": ", name, place] {
        to.extend_from_slice(part);
    }
    text::micros(to, ns);
    to.extend_from_slice(b"\n  }");
}

const ARGS: &[u8] = b",\n    \"args\": {\n      ";

/// Opens the arguments. Each of them ends in `, `.
fn open_args(to: &mut Vec<u8>) -> usize {
    let before = to.len();
    to.extend_from_slice(ARGS);
    before
}

/// Closes the arguments opened at `before`, or takes the opening back if there are none.
fn close_args(to: &mut Vec<u8>, before: usize) {
    if to.len() == before + ARGS.len() {
        to.truncate(before);
    } else {
        to.truncate(to.len() - 2);
        to.extend_from_slice(b"\n    }");
    }
}
