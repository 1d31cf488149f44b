//! A made-up recording with one of everything, and what is in it.

use std::borrow::Cow;
use std::io::Cursor;

use rankscope_formats::recording::{
    ArgView, Category, ClockId, CounterValue, FlowStage, LiveAuthor, LiveFile, NameId, Recording,
};

/// When tick zero was, in nanoseconds since the Unix epoch. A tick is a nanosecond.
pub(crate) const EPOCH_NS: i64 = 1_790_860_000_123_456_789;
/// Steps of the main thread.
pub(crate) const STEPS: i64 = 20;
/// Spans: a step, an operator, its backward twin, a launch, a kernel and an asynchronous one in each; an odd one and two that
/// stay open.
pub(crate) const SPANS: u64 = STEPS as u64 * 6 + 3;
/// Instants, memory included.
pub(crate) const INSTANTS: u64 = STEPS as u64 * 2 + 1;
/// Arrows: of autograd, from launch to kernel, and one to the open span.
pub(crate) const ARROWS: u64 = STEPS as u64 * 2 + 1;

/// The recording, opened.
pub(crate) fn recording() -> Recording<LiveFile<Cursor<Vec<u8>>>> {
    open(author().finish())
}

/// Opens the bytes of a live file.
pub(crate) fn open(bytes: Vec<u8>) -> Recording<LiveFile<Cursor<Vec<u8>>>> {
    Recording::open(LiveFile::open(Cursor::new(bytes)).unwrap()).unwrap()
}

/// An empty recording of the Kineto-compatible API that knows its clocks and its process.
pub(crate) fn process() -> LiveAuthor {
    let mut author = plain_process();
    author.meta("api", "\"kineto\"");
    author
}

/// The same, of a program that uses the recorder's own API.
pub(crate) fn plain_process() -> LiveAuthor {
    let mut author = LiveAuthor::new();
    for tick in [0, 1_000_000_000] {
        author.anchor(ClockId::MONOTONIC_RAW, tick, 77 + tick as i64, 3);
        author.anchor(ClockId::REALTIME, tick, EPOCH_NS + tick as i64, 3);
    }
    for (key, json) in [("process_name", "\"python3\""), ("pid", "4711"), ("host_name", "\"node-a\""), ("rank", "1")] {
        author.meta(key, json);
    }
    author.meta("world_size", "4");
    author.meta("user.learning rate", "{\"base\": 0.1}");
    author
}

/// The recording, as its author leaves it.
pub(crate) fn author() -> LiveAuthor {
    let mut author = process();
    let mut scene = Scene::new(&mut author);
    for step in 0..STEPS {
        scene.step(step);
    }
    scene.odd();
    author
}

const MAIN: u32 = 1;
const BACKWARD: u32 = 2;
const STREAM: u32 = 3;

struct Scene<'a> {
    author: &'a mut LiveAuthor,
}

impl<'a> Scene<'a> {
    fn new(author: &'a mut LiveAuthor) -> Self {
        author.thread(MAIN, 4711, "main");
        author.thread(BACKWARD, 4712, "pt_autograd_0");
        author.thread(STREAM, 7, "stream 7");
        Self { author }
    }

    fn name(&mut self, text: &str, category: Category) -> NameId {
        self.author.name(text, category.number(), 0)
    }

    fn step(&mut self, step: i64) {
        let (id, at) = (step as u64, step as u64 * 1_000_000 + 1_000);
        let step_name = self.name("ProfilerStep", Category::USER_ANNOTATION);
        let forward = self.name("aten::mm", Category::CPU_OP);
        let backward = self.name("MmBackward0", Category::CPU_OP);
        let launch = self.name("cudaLaunchKernel", Category::CUDA_RUNTIME);
        let kernel = self.name("sgemm", Category::KERNEL);
        let copy = self.name("copy to host", Category::USER_ANNOTATION);
        let allocated = self.name("allocated", Category::CPU_INSTANT_EVENT);
        let mark = self.name("mark", Category::CPU_INSTANT_EVENT);
        let [fwdbwd, ac2g] = ["fwdbwd", "ac2g"].map(|arrow| self.name(arrow, Category::CPU_OP));
        let keys = ["Sequence number", "Fwd thread id", "Input Dims", "stream", "device", "correlation", "External id"];
        let [sequence, fwd, dims, stream, device, correlation, external] = keys.map(|key| self.name(key, Category::CPU_OP));
        let author = &mut *self.author;

        author.begin_numbered(MAIN, at, step_name, step);
        let op = author.begin(MAIN, at + 100, forward);
        author.args(MAIN, &[(sequence, ArgView::I64(step)), (fwd, ArgView::I64(0)), (dims, json("[[2, 3], []]"))]);
        author.flow(MAIN, at + 101, fwdbwd, id, FlowStage::Start);
        author.memory(MAIN, at + 150, 0x7000_0000_0000 + id, 512, (1, 0));
        author.begin(MAIN, at + 200, launch);
        author.args(MAIN, &[(correlation, ArgView::U64(id + 1)), (external, ArgView::U64(op))]);
        author.flow(MAIN, at + 201, ac2g, id, FlowStage::Start);
        author.end(MAIN, at + 300);
        author.end(MAIN, at + 50_000);
        author.counter(MAIN, at + 50_001, allocated, CounterValue::I64(512 * (step + 1)));
        author.async_begin(MAIN, at + 50_002, copy, 1 << 60 | id);
        author.instant(MAIN, at + 60_000, mark);
        author.end(MAIN, at + 900_000);

        author.begin(STREAM, at + 400, kernel);
        let on = [(stream, ArgView::I64(7)), (device, ArgView::I64(0)), (correlation, ArgView::U64(id + 1))];
        author.args(STREAM, &on);
        author.args(STREAM, &[(external, ArgView::U64(op))]);
        author.flow(STREAM, at + 401, ac2g, id, FlowStage::End);
        author.end(STREAM, at + 40_400);

        author.begin(BACKWARD, at + 500_000, backward);
        author.args(BACKWARD, &[(sequence, ArgView::I64(step)), (fwd, ArgView::I64(4711))]);
        author.flow(BACKWARD, at + 500_001, fwdbwd, id, FlowStage::End);
        author.end(BACKWARD, at + 600_000);
        author.async_end(BACKWARD, at + 700_000, copy, 1 << 60 | id);
    }

    /// Arguments of every type, memory that is not there, spans that never end.
    fn odd(&mut self) {
        let at = STEPS as u64 * 1_000_000 + 1_000;
        let outer = self.name("outer", Category::USER_ANNOTATION);
        let odd = self.name("odd \u{e4} \"quoted\"\n\\", Category::CPU_OP);
        let arrow = self.name("late", Category::USER_ANNOTATION);
        let known = self.name("a known text", Category::CPU_OP);
        let keys = ["i64", "u64", "f64", "nan", "bool", "name", "text", "bytes", "list", "json", "no json", "said twice"];
        let keys = keys.map(|key| self.name(key, Category::CPU_OP));
        let author = &mut *self.author;
        author.begin(MAIN, at, outer);
        author.begin(MAIN, at + 10, odd);
        let values = [
            ArgView::I64(i64::MIN),
            ArgView::U64(u64::MAX),
            ArgView::F64(0.25),
            ArgView::F64(f64::NAN),
            ArgView::Bool(true),
            ArgView::Name(known),
            ArgView::Text(Cow::Borrowed("tab\t")),
            ArgView::Bytes(Cow::Borrowed(&[0, 255])),
        ];
        for (key, value) in keys.iter().zip(values) {
            author.args(MAIN, &[(*key, value)]);
        }
        author.args(MAIN, &[(keys[9], json("{\"a\": null}")), (keys[10], json("{"))]);
        author.args(MAIN, &[(keys[11], ArgView::I64(1))]);
        author.out_of_memory(MAIN, at + 20, 1 << 40, (1, 0));
        author.flow(MAIN, at + 30, arrow, 5, FlowStage::Start);
        author.end(MAIN, at + 40);
        author.args(MAIN, &[(keys[11], ArgView::I64(2))]);
        author.begin(BACKWARD, at + 100, outer);
        author.flow(BACKWARD, at + 110, arrow, 5, FlowStage::End);
    }
}

fn json(text: &str) -> ArgView<'_> {
    ArgView::Json(Cow::Borrowed(text))
}
