//! Where the time of each step goes, of programs whose trace XLA's profiler wrote: on devices, in communication, waiting for input, on
//! the host.
//!
//! Every nanosecond of a step is of one cause: of those that apply at it, the first in the order of [`Cause`]. So the causes of a step
//! add up to it. Work of devices comes first, as in the account of the step, of which the first three and the copies are parts; what
//! the host did counts only while no device worked. Host events are told by their names, as XLA, JAX and its runtimes give them; a wait is
//! no cause, as it ends when something else does.

use rankscope_analyze::{Class, Direction, Intervals, Side, StepSource, Work, step_windows};
use rankscope_trace::{ArgValue, CategoryKind, SourceFormat, SpanId, StrId, Trace, TrackKind};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Why a step took a stretch of its time, in the order in which they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    DeviceCompute,
    Collectives,
    DeviceToDevice,
    Infeed,
    Outfeed,
    Compile,
    Launch,
    HostCompute,
}

/// One step. Times are in nanoseconds; all but the first add up to the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JaxStepRow {
    /// Its number.
    pub step: i64,
    /// What told when it began and ended.
    #[serde(with = "crate::stored::StoredStepSource")]
    pub source: StepSource,
    /// How long it took.
    pub step_ns: i64,
    /// Devices computed.
    pub device_compute_ns: i64,
    /// They communicated, and computed nothing.
    pub collectives_ns: i64,
    /// They copied within and between themselves or filled memory, and did neither.
    pub device_to_device_ns: i64,
    /// They copied from the host or waited for its input, or, while they did nothing, the host prepared or sent it.
    pub infeed_ns: i64,
    /// The same of output.
    pub outfeed_ns: i64,
    /// The host compiled while devices did nothing.
    pub compile_ns: i64,
    /// It launched work.
    pub launch_ns: i64,
    /// It did something else.
    pub host_compute_ns: i64,
    /// Nothing that is recorded.
    pub other_ns: i64,
}

impl JaxStepRow {
    /// Which part of the step was input, 0 to 1.
    pub fn input_bound_share(&self) -> f64 {
        if self.step_ns == 0 { 0.0 } else { self.infeed_ns as f64 / self.step_ns as f64 }
    }
}

/// The steps of `trace`, in order of time; none where XLA's profiler did not write it. `work` is what ran, on `side`.
pub fn jax_steps(trace: &Trace, side: Side, work: &[Work]) -> Vec<JaxStepRow> {
    if trace.provenance.format != SourceFormat::XSpace {
        return Vec::new();
    }
    let (source, windows) = step_windows(trace, side, work);
    if windows.is_empty() {
        return Vec::new();
    }
    let layers = layers(trace, side, work);
    let row = |window: rankscope_analyze::StepWindow| {
        let mut row = JaxStepRow {
            step: window.number,
            source,
            step_ns: window.end_ns.saturating_sub(window.start_ns),
            device_compute_ns: 0,
            collectives_ns: 0,
            device_to_device_ns: 0,
            infeed_ns: 0,
            outfeed_ns: 0,
            compile_ns: 0,
            launch_ns: 0,
            host_compute_ns: 0,
            other_ns: 0,
        };
        row.other_ns = row.step_ns;
        for (cause, intervals) in &layers {
            let ns = intervals.within(window.start_ns, window.end_ns).length_ns();
            *row.time(*cause) += ns;
            row.other_ns -= ns;
        }
        row
    };
    windows.into_iter().map(row).collect()
}

/// Adds the steps of a later export. A number that both have is two steps.
pub(crate) fn join(rows: &mut Vec<JaxStepRow>, later: Vec<JaxStepRow>) {
    rows.extend(later);
}

impl JaxStepRow {
    fn time(&mut self, cause: Cause) -> &mut i64 {
        match cause {
            Cause::DeviceCompute => &mut self.device_compute_ns,
            Cause::Collectives => &mut self.collectives_ns,
            Cause::DeviceToDevice => &mut self.device_to_device_ns,
            Cause::Infeed => &mut self.infeed_ns,
            Cause::Outfeed => &mut self.outfeed_ns,
            Cause::Compile => &mut self.compile_ns,
            Cause::Launch => &mut self.launch_ns,
            Cause::HostCompute => &mut self.host_compute_ns,
        }
    }
}

/// When each cause counts: no two of them at one time. First those of the accounted work, then those of the host.
fn layers(trace: &Trace, side: Side, work: &[Work]) -> Vec<(Cause, Intervals)> {
    let feeds = Feeds::of(trace);
    let mut spans: Vec<(bool, Cause, i64, i64)> = Vec::new();
    for piece in work {
        let cause = match (piece.class, side) {
            (Class::Compute, Side::Host) => Cause::HostCompute,
            (Class::Compute, Side::Device) => feeds.cause(piece.span).unwrap_or(Cause::DeviceCompute),
            (Class::Comm, _) => Cause::Collectives,
            (Class::Memcpy(Direction::HostToDevice), _) => Cause::Infeed,
            (Class::Memcpy(Direction::DeviceToHost), _) => Cause::Outfeed,
            (Class::Memcpy(_) | Class::Memset, _) => Cause::DeviceToDevice,
        };
        spans.push((false, cause, piece.start_ns, piece.end_ns));
    }
    let mut names: FxHashMap<(StrId, u16), Option<Cause>> = FxHashMap::default();
    for span in trace.spans.ids().filter(|_| side == Side::Device) {
        let at = span.0 as usize;
        if trace.tracks.get(trace.spans.track[at]).kind == TrackKind::Thread {
            let key = (trace.spans.name[at], trace.spans.category[at]);
            let cause = *names.entry(key).or_insert_with(|| of_host(trace.kind(span), trace.strings.text(key.0)));
            spans.extend(cause.map(|cause| (true, cause, trace.spans.start_ns(span), trace.spans.end_ns(span))));
        }
    }
    // What devices did is computed before it communicates, and on a host alone likewise.
    spans.sort_unstable_by_key(|(of_host, cause, ..)| (*of_host, rank(*cause, side)));
    let mut taken = Intervals::default();
    let mut layers = Vec::new();
    for own in spans.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let all = Intervals::union_of(own.iter().map(|(.., start, end)| (*start, *end)));
        layers.push((own[0].1, all.minus(&taken)));
        taken = taken.union(&all);
    }
    layers
}

/// The place of `cause` among those of one kind of event: on a host alone, its operators come before its collectives.
fn rank(cause: Cause, side: Side) -> (bool, Cause) {
    (side == Side::Host && cause != Cause::HostCompute, cause)
}

/// What a host event of this name is the cause of.
fn of_host(kind: CategoryKind, name: &str) -> Option<Cause> {
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match kind {
        _ if has(&WAITS) => None,
        _ if has(&INPUT) => Some(Cause::Infeed),
        _ if has(&OUTPUT) => Some(Cause::Outfeed),
        _ if has(&COMPILES) => Some(Cause::Compile),
        _ if kind.is_launch() => Some(Cause::Launch),
        CategoryKind::CpuOp | CategoryKind::Other => Some(Cause::HostCompute),
        _ => None,
    }
}

const WAITS: [&str; 5] = ["Wait", "Await", "Block", "Synchronize", "block_until_ready"];
/// Of tf.data, of JAX's Python and of its runtimes.
const INPUT: [&str; 9] = [
    "IteratorGetNext",
    "Iterator::",
    "InfeedEnqueue",
    "LiteralToInfeed",
    "ToDevice",
    "BufferFromHost",
    "device_put",
    "H2D",
    "HtoD",
];
const OUTPUT: [&str; 8] = ["OutfeedDequeue", "FromOutfeed", "FromDevice", "ToLiteral", "ToHost", "device_get", "D2H", "DtoH"];
const COMPILES: [&str; 3] = ["::Compile", "XlaCompile", "backend_compile"];

/// The device's own instructions that wait for the host.
struct Feeds<'a> {
    trace: &'a Trace,
    category: Option<StrId>,
}

impl<'a> Feeds<'a> {
    fn of(trace: &'a Trace) -> Self {
        Self { trace, category: trace.strings.find("hlo_category") }
    }

    fn cause(&self, work: SpanId) -> Option<Cause> {
        let at = work.0 as usize;
        let recorded = self.category.and_then(|key| self.recorded(at, key));
        let told = recorded.unwrap_or(self.trace.spans.name[at]);
        let told = self.trace.strings.text(told).trim_start_matches('%');
        let is = |word: &str| told.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', ' ']));
        if is("infeed") { Some(Cause::Infeed) } else { is("outfeed").then_some(Cause::Outfeed) }
    }

    fn recorded(&self, at: usize, key: StrId) -> Option<StrId> {
        let own = self.trace.spans.args.value(at, key);
        let description = || self.trace.spans.description.get(at).map(|description| *description as usize);
        match own.or_else(|| self.trace.description_args.value(description()?, key))? {
            ArgValue::Text(text) | ArgValue::Ref(text) => Some(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rankscope_analyze::Classes;
    use rankscope_trace::StepMark;

    use super::*;
    use crate::made::Made;

    fn rows(made: &mut Made) -> Vec<JaxStepRow> {
        made.trace.provenance.format = SourceFormat::XSpace;
        let (side, work) = Classes::default().work(&made.trace);
        jax_steps(&made.trace, side, &work)
    }

    fn mark(made: &mut Made, number: i64, span: SpanId) {
        made.trace.steps.push(StepMark { number, span });
    }

    #[test]
    fn every_nanosecond_of_a_step_is_of_one_cause() {
        let mut made = Made::default();
        let steps = [
            made.on_device("gpu_user_annotation", "0", 1, 0, 100, 0),
            made.on_device("gpu_user_annotation", "1", 1, 100, 50, 0),
        ];
        (0..).zip(steps).for_each(|(number, span)| mark(&mut made, number, span));
        made.kernel("loop_fusion", 7, 0, 20, 0);
        made.kernel("ncclDevKernel_AllReduce", 8, 10, 20, 0);
        made.on_device("gpu_memcpy", "Memcpy HtoD", 9, 25, 10, 0);
        made.on_device("gpu_memcpy", "Memcpy DtoD", 9, 35, 5, 0);
        made.kernel("infeed.3", 7, 40, 5, 0);
        // The host, from the last moment of the device on: it is in Python all along.
        made.frame("$main.py:1 train", 0, 150);
        made.operator("TfrtGpuClient::BufferFromHostBuffer", 43, 7);
        made.operator("PjRtClient::Compile", 48, 12);
        made.launch("cuLaunchKernel", 58, 7, 0);
        made.operator("Execute", 60, 10);
        made.operator("BlockHostUntilReady", 70, 20);
        made.operator("CopyToHostAsync", 80, 4);
        made.kernel("loop_fusion", 7, 100, 50, 0);
        let row = JaxStepRow {
            step: 0,
            source: StepSource::DeviceAnnotations,
            step_ns: 100_000,
            device_compute_ns: 20_000,
            collectives_ns: 10_000,
            device_to_device_ns: 5_000,
            infeed_ns: 5_000 + 5_000 + 5_000,
            outfeed_ns: 4_000,
            compile_ns: 10_000,
            launch_ns: 5_000,
            host_compute_ns: 5_000,
            other_ns: 26_000,
        };
        let second = JaxStepRow { step: 1, step_ns: 50_000, device_compute_ns: 50_000, ..zero(&row) };
        assert_eq!(rows(&mut made), [row, second]);
    }

    fn zero(row: &JaxStepRow) -> JaxStepRow {
        let mut row = row.clone();
        for cause in [Cause::Collectives, Cause::DeviceToDevice, Cause::Infeed, Cause::Outfeed, Cause::Compile, Cause::Launch] {
            *row.time(cause) = 0;
        }
        (row.host_compute_ns, row.other_ns) = (0, 0);
        row
    }

    #[test]
    fn on_a_host_alone_its_operators_compute() {
        let mut made = Made::default();
        let step = made.annotation("train", 0, 20);
        mark(&mut made, 7, step);
        made.operator("fusion", 2, 9);
        let found = rows(&mut made);
        assert_eq!((found[0].step, found[0].source, found[0].step_ns), (7, StepSource::HostAnnotations, 20_000));
        assert_eq!((found[0].host_compute_ns, found[0].other_ns, found[0].input_bound_share()), (9_000, 11_000, 0.0));
    }

    #[test]
    fn traces_of_other_profilers_have_none() {
        let mut made = Made::default();
        let step = made.annotation("ProfilerStep#1", 0, 20);
        mark(&mut made, 1, step);
        let (side, work) = Classes::default().work(&made.trace);
        assert_eq!(jax_steps(&made.trace, side, &work), []);
    }

    #[test]
    fn names_tell_what_the_host_does() {
        for (name, cause) in [
            ("$pxla.py:243 batched_device_put", Some(Cause::Infeed)),
            ("PjRtStreamExecutorBuffer::CopyToDeviceHelper::async_copy_to_device", Some(Cause::Infeed)),
            ("PjRtStreamExecutorBuffer::ToLiteral", Some(Cause::Outfeed)),
            ("$compiler.py:301 backend_compile", Some(Cause::Compile)),
            ("BufferSequencingEvent::Execute", Some(Cause::HostCompute)),
            ("CompiledFunction::Call", Some(Cause::HostCompute)),
            ("WaitForInput", None),
        ] {
            assert_eq!(of_host(CategoryKind::Other, name), cause, "{name}");
        }
        assert_eq!(of_host(CategoryKind::PythonFunction, "$main.py:3 step"), None);
    }
}
