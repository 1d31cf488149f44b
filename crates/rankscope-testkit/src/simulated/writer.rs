//! What happened on one rank, as torch's profiler would have recorded it: names, categories, arguments and arrows.

use std::io::{self, Write};

use crate::dialect::Dialect;
use crate::event::{Event, Id, Value};
use crate::file::TraceFile;
use crate::header::{About, list};

use super::Job;
use super::program::{Exchange, Label, Operation, Stream, Thread, Work};
use super::recording::{Call, HostSpan, Piece, Recording, StreamWait};

/// Writes the trace of `rank`; returns how many events it holds.
pub(super) fn write(job: &Job, rank: u32, recording: &Recording, dialect: &Dialect, out: &mut impl Write) -> io::Result<u64> {
    let layout = &job.layout;
    let gpu = rank % layout.gpus_per_node.max(1);
    let (ranks, node, groups) = (layout.ranks, layout.node(rank), layout.groups(rank));
    let about = About { rank, ranks, seed: job.seed, node, gpu, groups };
    let file = TraceFile::open(&about, dialect, out)?;
    Writer { job, rank, gpu, file, index: 0 }.all(recording)
}

struct Writer<'a, W> {
    job: &'a Job,
    rank: u32,
    gpu: u32,
    file: TraceFile<'a, W>,
    /// Index of the next host event, which torch calls `Ev Idx`.
    index: u64,
}

type Args = Vec<(&'static str, Value<'static>)>;

impl<W: Write> Writer<'_, W> {
    fn all(mut self, recording: &Recording) -> io::Result<u64> {
        recording.spans.iter().for_each(|span| self.host(span));
        recording.calls.iter().for_each(|call| self.call(call));
        for end in &recording.gradients {
            let tid = self.file.thread(end.thread.number());
            self.file.flow("fwdbwd", end.id, self.shown(end.at_ns), tid, end.finishes);
        }
        recording.pieces.iter().for_each(|piece| self.device(piece));
        if self.job.sync_events {
            recording.waits.iter().for_each(|wait| self.wait(wait));
        }
        self.steps_on_device(recording);
        let used = |stream: &Stream| recording.pieces.iter().any(|piece| piece.launch.stream == *stream);
        let streams: Vec<u32> = Stream::ALL.into_iter().filter(used).map(Stream::number).collect();
        let threads = Thread::ALL.map(|thread| (thread.number(), thread.name()));
        self.file.finish(&streams, &threads)
    }

    fn host(&mut self, span: &HostSpan) {
        let mut args = Args::new();
        if span.external > 0 {
            args.push(("External id", span.external.into()));
        }
        let (category, name) = self.describe(span, &mut args);
        args.push(("Ev Idx", self.index.into()));
        self.index += 1;
        let (start_ns, end_ns) = (self.shown(span.start_ns), self.shown(span.end_ns));
        let tid = self.file.thread(span.thread.number());
        self.file.put(Event::span(category, name, start_ns, end_ns - start_ns).on(self.file.pid(), tid).with(args));
    }

    /// Category and name of a host span; adds its arguments.
    fn describe(&self, span: &HostSpan, args: &mut Args) -> (&'static str, String) {
        if let Some((id, parent)) = span.python {
            args.extend([("Python parent id", parent.map_or(Value::Null, Value::from)), ("Python id", id.into())]);
        } else {
            args.push(("Record function id", 0_u32.into()));
        }
        match span.label {
            Label::Frame(name, number) => {
                let number = number.map_or_else(String::new, |number| number.to_string());
                ("python_function", format!("{name}{number}"))
            }
            Label::Operator { name, dims, sequence } => {
                if let Some(sequence) = sequence {
                    args.extend([("Sequence number", sequence.into()), ("Fwd thread id", 0_u32.into())]);
                }
                args.extend([("Input Dims", Value::Raw(dims)), ("Input type", Value::Raw(r#"["c10::BFloat16"]"#))]);
                ("cpu_op", name.into())
            }
            Label::Node { name, sequence } => {
                args.extend([("Sequence number", sequence.into()), ("Fwd thread id", 1_u32.into())]);
                ("cpu_op", format!("autograd::engine::evaluate_function: {name}"))
            }
            Label::Annotation(name) => ("user_annotation", name.into()),
            Label::Step(step) => ("user_annotation", format!("ProfilerStep#{step}")),
            Label::Communication(exchange) => ("user_annotation", self.annotation(&exchange)),
            Label::Params(exchange) => {
                args.extend(self.exchange_args(&exchange));
                args.push(("Rank", self.rank.into()));
                ("cpu_op", "record_param_comms".into())
            }
        }
    }

    fn call(&mut self, call: &Call) {
        let tid = self.file.thread(call.thread.number());
        let (start_ns, end_ns) = (self.shown(call.start_ns), self.shown(call.end_ns));
        let args = vec![
            ("External id", call.external.into()),
            ("cbid", cbid(call.name).into()),
            ("correlation", call.correlation.into()),
        ];
        let event = Event::span("cuda_runtime", call.name, start_ns, end_ns - start_ns);
        self.file.put(event.on(self.file.pid(), tid).with(args));
        if call.launches {
            self.file.flow("ac2g", call.correlation, start_ns, tid, false);
        }
    }

    fn device(&mut self, piece: &Piece) {
        let (start_ns, end_ns) = piece.times_ns();
        let (start_ns, end_ns) = (self.shown(start_ns), self.shown(end_ns));
        let (category, name) = match piece.launch.work {
            Work::Kernel(name) => ("kernel", name),
            Work::Copy { to_device: true, pageable: true, .. } => ("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)"),
            Work::Copy { to_device: true, .. } => ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)"),
            Work::Copy { .. } => ("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)"),
            Work::Exchange(exchange) => ("kernel", exchange.operation.kernel()),
        };
        let event = Event::span(category, name, start_ns, end_ns - start_ns).with(self.device_args(piece));
        let stream = piece.launch.stream.number();
        self.file.device(event, stream, piece.correlation);
        if let Work::Exchange(exchange) = piece.launch.work {
            self.file.device_annotation(self.annotation(&exchange), stream, start_ns, end_ns);
        }
    }

    fn device_args(&self, piece: &Piece) -> Args {
        let mut args: Args = vec![("External id", piece.external.into()), ("device", self.gpu.into())];
        args.extend([("context", 1_u32.into()), ("stream", piece.launch.stream.number().into())]);
        args.push(("correlation", piece.correlation.into()));
        match piece.launch.work {
            Work::Kernel(_) => args.extend([("grid", Value::Raw("[128, 1, 1]")), ("block", Value::Raw("[384, 1, 1]"))]),
            Work::Copy { bytes, .. } => args.push(("bytes", bytes.into())),
            Work::Exchange(exchange) => {
                args.extend([("grid", Value::Raw("[24, 1, 1]")), ("block", Value::Raw("[512, 1, 1]"))]);
                args.extend(self.exchange_args(&exchange));
            }
        }
        args
    }

    /// What newer profilers say about a stream that waits for an event of another one.
    fn wait(&mut self, wait: &StreamWait) {
        let args = vec![
            ("cuda_sync_kind", "Stream Wait Event".into()),
            ("wait_on_stream", wait.awaited.number().into()),
            ("wait_on_cuda_event_record_corr_id", wait.recorded_by.into()),
            ("wait_on_cuda_event_id", wait.recorded_by.into()),
            ("stream", wait.waiting.number().into()),
            ("correlation", wait.correlation.into()),
            ("device", self.gpu.into()),
            ("context", 1_u32.into()),
        ];
        let event = Event::span("cuda_sync", "Stream Wait Event", self.shown(wait.at_ns) + 300, 700);
        self.file.put(event.on(self.file.gpu(), Id::Stream(wait.waiting.number())).with(args));
    }

    /// What each step computes, as an annotation of the device.
    fn steps_on_device(&mut self, recording: &Recording) {
        for (step, (start_ns, end_ns)) in recording.steps().enumerate() {
            let within =
                |piece: &&Piece| piece.launch.stream == Stream::Compute && (start_ns..end_ns).contains(&piece.launched_ns);
            let times = recording.pieces.iter().filter(within).map(Piece::times_ns);
            let whole = times.reduce(|(start, end), (other_start, other_end)| (start.min(other_start), end.max(other_end)));
            if let Some((start_ns, end_ns)) = whole {
                let (start_ns, end_ns) = (self.shown(start_ns), self.shown(end_ns));
                self.file.device_annotation(format!("ProfilerStep#{step}"), Stream::Compute.number(), start_ns, end_ns);
            }
        }
    }

    /// The annotation around an exchange, with the ends of a message.
    fn annotation(&self, exchange: &Exchange) -> String {
        match (exchange.operation, exchange.peer) {
            (Operation::AllReduce, _) => "nccl:all_reduce".to_owned(),
            (Operation::AllToAll, _) => "nccl:all_to_all".to_owned(),
            (Operation::Send, peer) => format!("nccl:send {}->{}", self.rank, peer.unwrap_or_default()),
            (Operation::Recv, peer) => format!("nccl:recv {}<-{}", self.rank, peer.unwrap_or_default()),
        }
    }

    fn exchange_args(&self, exchange: &Exchange) -> Args {
        let members = self.job.layout.group(self.rank, exchange.dimension);
        let name = self.job.layout.group_name(self.rank, exchange.dimension);
        let mut args: Args = vec![
            ("Collective name", exchange.operation.recorded_name().into()),
            ("In msg nelems", exchange.elements.into()),
            ("Out msg nelems", exchange.elements.into()),
            ("Group size", (members.len() as u64).into()),
            ("dtype", "BFloat16".into()),
            ("In split size", "[]".into()),
            ("Out split size", "[]".into()),
            ("Process Group Name", name.into()),
            ("Process Group Description", exchange.dimension.description().into()),
            ("Process Group Ranks", list(members).into()),
        ];
        match (exchange.operation, exchange.peer) {
            (Operation::Send, Some(peer)) => args.push(("Dst Rank", peer.into())),
            (Operation::Recv, Some(peer)) => args.push(("Src Rank", peer.into())),
            _ => args.push(("Seq", exchange.ordinal.into())),
        }
        args
    }

    fn shown(&self, true_ns: i64) -> i64 {
        self.job.clock(self.rank).shown_ns(true_ns)
    }
}

/// CUPTI's number of a call.
fn cbid(call: &str) -> u32 {
    match call {
        "cudaLaunchKernel" => 211,
        "cudaLaunchKernelExC" => 430,
        "cudaMemcpyAsync" => 41,
        "cudaStreamSynchronize" => 131,
        "cudaEventRecord" => 135,
        _ => 147,
    }
}
