//! What happens on one rank, as torch's profiler would have recorded it: the events, their arguments and the flows.

use std::io::{self, Write};

use crate::Job;
use crate::dialect::Dialect;
use crate::event::{Event, Value};
use crate::file::TraceFile;
use crate::header::{About, ProcessGroup, list};
use crate::job::Metadata;
use crate::schedule::{self, Exchange, Scope};
use crate::timeline::Timeline;
use crate::walk::{COMM_STREAMS, COMPUTE_STREAM, COPY_STREAM};
use crate::walk::{DeviceKind, DeviceWork, GradientEnd, HostSpan, HostWork, Launch, Sink, Thread, Walk};

/// Writes the trace of `rank`; returns how many events it holds.
pub(crate) fn write(job: &Job, timeline: &Timeline, rank: u32, dialect: &Dialect, out: &mut impl Write) -> io::Result<u64> {
    let world = ProcessGroup { name: "0".to_owned(), description: "default_pg", ranks: (0..job.ranks).collect() };
    let (node, gpu) = (job.node(rank), rank % job.gpus_per_node.max(1));
    let about = About { rank, ranks: job.ranks, seed: job.seed, node, gpu, groups: vec![world] };
    let file = TraceFile::open(&about, dialect, out)?;
    let mut recorder = Recorder { job, timeline, rank, file, index: 0, frames: 0, step_on_device: None };
    walk(job, timeline, rank, &mut recorder);
    let streams = [COMPUTE_STREAM, COPY_STREAM, COMM_STREAMS[0], COMM_STREAMS[1]];
    recorder.file.finish(&streams, &[(Thread::Main.number(), "python"), (Thread::Autograd.number(), "pt_autograd_0")])
}

/// Walks one rank with the ends that `timeline` found for all.
pub(crate) fn walk(job: &Job, timeline: &Timeline, rank: u32, sink: &mut impl Sink) {
    let mut walk = Walk::new(job, rank);
    let mut slots = timeline.slots.iter().zip(0_u32..);
    for step in 0..job.steps {
        walk.begin_step(step, sink);
        for phase in schedule::phases(job) {
            walk.run(phase, sink);
            if let Some(exchange) = schedule::exchange(job, phase) {
                let (slot, index) = slots.next().expect("the timeline was made from the same phases");
                walk.leave(&exchange, index, slot.end_ns[rank as usize], sink);
            }
        }
        walk.end_step(sink);
    }
}

struct Recorder<'a, W> {
    job: &'a Job,
    timeline: &'a Timeline,
    rank: u32,
    file: TraceFile<'a, W>,
    /// Index of the next host event, which torch calls `Ev Idx`.
    index: u64,
    /// Python frames so far: their ids.
    frames: u64,
    /// Device work of the current step on the compute stream: what its GPU annotation covers.
    step_on_device: Option<(i64, i64)>,
}

impl<W: Write> Sink for Recorder<'_, W> {
    fn host(&mut self, span: HostSpan) {
        let mut args: Vec<(&str, Value)> = Vec::new();
        if span.external > 0 {
            args.push(("External id", span.external.into()));
        }
        let Some((category, name)) = self.describe(&span, &mut args) else { return };
        args.push(("Ev Idx", self.index.into()));
        self.index += 1;
        let tid = self.file.thread(span.thread.number());
        let (at_ns, duration_ns) = self.shown(span.start_ns, span.end_ns);
        self.file.put(Event::span(category, name, at_ns, duration_ns).on(self.file.pid(), tid).with(args));
        if let HostWork::Step(step) = span.what {
            self.device_step(step);
        }
    }

    fn launch(&mut self, launch: Launch) {
        if launch.slot.is_some_and(|slot| self.job.is_missing(self.rank, slot)) {
            return;
        }
        let tid = self.file.thread(launch.thread.number());
        let (at_ns, duration_ns) = self.shown(launch.start_ns, launch.end_ns);
        let mut args: Vec<(&str, Value)> = Vec::new();
        if launch.external > 0 {
            args.push(("External id", launch.external.into()));
        }
        args.extend([("cbid", 211_u32.into()), ("correlation", launch.correlation.into())]);
        let event = Event::span("cuda_runtime", launch.call, at_ns, duration_ns);
        self.file.put(event.on(self.file.pid(), tid).with(args));
        // Only what reaches the device has an arrow to it.
        if launch.external > 0 {
            self.file.flow("ac2g", launch.correlation, at_ns, tid, false);
        }
    }

    fn device(&mut self, work: DeviceWork) {
        if let DeviceKind::Collective { slot, .. } = work.what
            && self.job.is_missing(self.rank, slot)
        {
            return;
        }
        let (at_ns, duration_ns) = self.shown(work.start_ns, work.end_ns);
        let (category, name) = match work.what {
            DeviceKind::Kernel(name) => ("kernel", name),
            DeviceKind::Copy { to_device: true, .. } => ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)"),
            DeviceKind::Copy { to_device: false, .. } => ("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)"),
            DeviceKind::Fill { .. } => ("gpu_memset", "Memset (Device)"),
            DeviceKind::Collective { exchange, .. } => ("kernel", exchange.kind.kernel()),
        };
        let args = self.device_args(&work);
        let event = Event::span(category, name, at_ns, duration_ns).with(args);
        self.file.device(event, work.stream, work.correlation);
        if let DeviceKind::Collective { exchange, .. } = work.what {
            self.file.device_annotation(exchange.kind.annotation().into(), work.stream, at_ns, at_ns + duration_ns);
        }
        if work.stream == COMPUTE_STREAM {
            let (start, end) = self.step_on_device.unwrap_or((at_ns, at_ns));
            self.step_on_device = Some((start.min(at_ns), end.max(at_ns + duration_ns)));
        }
    }

    fn gradient(&mut self, end: GradientEnd) {
        let at_ns = self.job.shown_ns(self.rank, end.at_ns);
        let tid = self.file.thread(end.thread.number());
        self.file.flow("fwdbwd", end.id, at_ns, tid, end.finishes);
    }
}

impl<W: Write> Recorder<'_, W> {
    /// Category, name and arguments of a host span, or nothing where the file is to lack it.
    fn describe(&mut self, span: &HostSpan, args: &mut Vec<(&'static str, Value)>) -> Option<(&'static str, String)> {
        if let HostWork::CollectiveParams { slot, .. } | HostWork::CollectiveAnnotation { slot, .. } = span.what
            && self.job.is_missing(self.rank, slot)
        {
            return None;
        }
        if let HostWork::Frame { depth, site } = span.what {
            self.frames += 1;
            let parent = if depth > 0 { (self.frames - 1).into() } else { Value::Null };
            args.extend([("Python parent id", parent), ("Python id", self.frames.into())]);
            return Some(("python_function", frame(depth, site)));
        }
        args.push(("Record function id", 0_u32.into()));
        Some(match span.what {
            HostWork::Operator { name, sequence } => {
                if let Some(sequence) = sequence {
                    args.push(("Sequence number", sequence.into()));
                    args.push(("Fwd thread id", u32::from(span.thread == Thread::Autograd).into()));
                }
                args.extend(SHAPES.map(|(key, json)| (key, Value::Raw(json))));
                ("cpu_op", name.into())
            }
            HostWork::CollectiveParams { exchange, slot } => {
                args.extend(self.collective_args(&exchange, slot));
                args.push(("Rank", self.rank.into()));
                ("cpu_op", "record_param_comms".into())
            }
            HostWork::CollectiveAnnotation { exchange, .. } => ("user_annotation", exchange.kind.annotation().into()),
            HostWork::Step(step) => ("user_annotation", format!("ProfilerStep#{step}")),
            HostWork::Annotation(name) => ("user_annotation", name.into()),
            HostWork::Frame { .. } => return None,
        })
    }

    fn device_step(&mut self, step: u32) {
        if let Some((start_ns, end_ns)) = self.step_on_device.take() {
            self.file.device_annotation(format!("ProfilerStep#{step}"), COMPUTE_STREAM, start_ns, end_ns);
        }
    }

    fn device_args(&self, work: &DeviceWork) -> Vec<(&'static str, Value<'static>)> {
        let mut args = vec![("External id", Value::from(work.external))];
        if matches!(work.what, DeviceKind::Kernel(_) | DeviceKind::Collective { .. }) {
            args.push(("queued", 0_u32.into()));
        }
        args.extend([
            ("device", (self.rank % self.job.gpus_per_node.max(1)).into()),
            ("context", 1_u32.into()),
            ("stream", work.stream.into()),
        ]);
        args.push(("correlation", work.correlation.into()));
        match work.what {
            DeviceKind::Kernel(_) => args.extend(SHAPE_OF_KERNEL.map(|(key, json)| (key, Value::Raw(json)))),
            DeviceKind::Copy { bytes, .. } | DeviceKind::Fill { bytes } => args.push(("bytes", bytes.into())),
            DeviceKind::Collective { exchange, slot } => {
                args.extend(SHAPE_OF_KERNEL.map(|(key, json)| (key, Value::Raw(json))));
                args.extend(self.collective_args(&exchange, slot));
            }
        }
        args
    }

    fn collective_args(&self, exchange: &Exchange, slot: u32) -> Vec<(&'static str, Value<'static>)> {
        if self.job.metadata == Metadata::None {
            return Vec::new();
        }
        let members = schedule::members(self.job, self.rank, exchange.scope);
        let (name, description) = match exchange.scope {
            Scope::World => ("0".to_owned(), "default_pg"),
            Scope::TensorGroup => ((1 + members.start / members.len().max(1) as u32).to_string(), "mesh_tp"),
        };
        let mut args = vec![
            ("Collective name", Value::from(exchange.kind.recorded_name())),
            ("In msg nelems", exchange.in_elements.into()),
            ("Out msg nelems", exchange.out_elements.into()),
            ("Group size", (members.len() as u64).into()),
            ("dtype", "BFloat16".into()),
            ("In split size", "[]".into()),
            ("Out split size", "[]".into()),
            ("Process Group Name", name.into()),
            ("Process Group Description", description.into()),
            ("Process Group Ranks", list(members).into()),
        ];
        if self.job.metadata == Metadata::ArgsAndSeq {
            args.push(("Seq", self.timeline.sequence(slot).into()));
        }
        args
    }

    fn shown(&self, start_ns: i64, end_ns: i64) -> (i64, i64) {
        let start = self.job.shown_ns(self.rank, start_ns);
        (start, self.job.shown_ns(self.rank, end_ns) - start)
    }
}

/// Name of a Python frame, the way the profiler writes them.
fn frame(depth: u32, site: u32) -> String {
    match depth {
        0 => format!("train.py({}): train_step", 40 + site % 60),
        1 => format!("nn.Module: Block_{}", site % 16),
        _ => format!("torch/nn/modules/module.py({}): _call_impl", 1_500 + depth),
    }
}

const SHAPES: [(&str, &str); 4] = [
    ("Concrete Inputs", r#"["", "", ""]"#),
    ("Input type", r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]"#),
    ("Input Strides", "[[1024, 1], [1024, 1], []]"),
    ("Input Dims", "[[8, 1024], [1024, 1024], []]"),
];

const SHAPE_OF_KERNEL: [(&str, &str); 7] = [
    ("registers per thread", "168"),
    ("shared memory", "213504"),
    ("blocks per SM", "0.969697"),
    ("warps per SM", "11.636364"),
    ("grid", "[128, 1, 1]"),
    ("block", "[384, 1, 1]"),
    ("est. achieved occupancy %", "19"),
];
