//! Activities, put into a trace: the kernels, copies, calls and ranges that profilers of devices record one row at a time.
//!
//! ROCm's and NVIDIA's profilers keep the same things in different files. What they mean to analysis, and what becomes of a row that
//! cannot be right, is decided here once; their readers only take rows out of their files. Categories and arguments get the names
//! that Kineto gives them, so that a trace converted to another format is understood there.

use rankscope_trace::{
    ArgValue, CategoryKind, CopyDirection, InstantMark, InstantScope, ProblemKind, SourceFormat, SpanId, SpanRow, StrId, Trace,
    Track, TrackId, TrackKey, TrackKind,
};

use crate::kineto::{DECADES_NS, Wanted, kept_in_device_scope};
use crate::{ArgsPolicy, ReadOptions, Scope};

/// What an activity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sort {
    /// A kernel on a device.
    Kernel,
    /// A copy by a device.
    Copy(CopyDirection),
    /// A fill by a device.
    Fill,
    /// Waiting for a device, a stream or an event.
    Sync,
    /// A call into CUDA's or HIP's runtime.
    RuntimeCall,
    /// A call into the driver, or into HSA.
    DriverCall,
    /// A call into a library above the runtime, as RCCL: the calls and kernels inside it are its own.
    LibraryCall,
    /// A collective or a message, as its library tells of it.
    Collective,
    /// A call into a library that is not known any better.
    Call,
    /// A range that somebody named.
    Range,
    /// Anything else on the host.
    Other,
}

impl Sort {
    /// Kineto's name for it.
    fn category(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Copy(_) => "gpu_memcpy",
            Self::Fill => "gpu_memset",
            Self::Sync => "cuda_sync",
            Self::RuntimeCall => "cuda_runtime",
            Self::DriverCall => "cuda_driver",
            Self::LibraryCall | Self::Call => "cpu_op",
            Self::Collective => "collective_comm",
            Self::Range => "user_annotation",
            Self::Other => "trace",
        }
    }
}

/// One row of a profiler's file. What it does not say is `None`.
#[derive(Clone, Copy, Debug)]
pub struct Activity {
    /// What it is.
    pub sort: Sort,
    /// Its name.
    pub name: StrId,
    /// Where it ran.
    pub track: TrackId,
    /// When it started, in nanoseconds of the file's clock.
    pub start_ns: Option<i64>,
    /// When it ended, in nanoseconds of the file's clock.
    pub end_ns: Option<i64>,
    /// Ties work to the call that started it; 0 is none.
    pub correlation: Option<u64>,
    /// An id that the program itself gave; 0 is none.
    pub external_id: Option<u64>,
    /// Bytes that a copy or fill moved.
    pub bytes: Option<u64>,
    /// Where it stands in the file: a byte, or the number of its row.
    pub offset: u64,
}

/// A trace under construction.
#[derive(Debug)]
pub struct Activities {
    trace: Trace,
    scope: Scope,
    keeps_args: bool,
    /// What part of the file is being read, for problems.
    part: String,
    /// Rows that were left out or passed over, so that a file of nothing but such rows is no empty one.
    passed_over: u64,
}

impl Activities {
    /// An empty trace of a file of `format` that `options` name.
    pub fn new(format: SourceFormat, options: &ReadOptions) -> Self {
        let mut trace = Trace::default();
        trace.provenance.format = format;
        trace.provenance.file.clone_from(&options.label);
        Self { trace, scope: options.scope, keeps_args: options.args == ArgsPolicy::All, part: String::new(), passed_over: 0 }
    }

    /// The trace so far: its names, tracks and what the file says about itself.
    pub fn trace(&mut self) -> &mut Trace {
        &mut self.trace
    }

    /// Whether arguments are kept; where they are not, none need be made.
    pub fn keeps_args(&self) -> bool {
        self.keeps_args
    }

    /// From here on, activities come from the part of the file that is called `part`.
    pub fn set_part(&mut self, part: &str) {
        part.clone_into(&mut self.part);
    }

    /// The track of thread `tid` of process `pid`.
    pub fn thread(&mut self, pid: i64, tid: i64) -> TrackId {
        let tracks = &mut self.trace.tracks;
        let process = tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(pid));
        tracks.find_or_add(TrackKind::Thread, Some(process), TrackKey::Number(tid))
    }

    /// The track of ranges of process `pid` that need not nest in those of a thread.
    pub fn async_ranges(&mut self, pid: i64) -> TrackId {
        let trace = &mut self.trace;
        let process = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(pid));
        let key = TrackKey::Text(trace.strings.intern(Track::ASYNC));
        trace.tracks.find_or_add(TrackKind::Thread, Some(process), key)
    }

    /// The track of stream `stream` of the device with this number.
    pub fn stream(&mut self, device: i64, stream: i64) -> TrackId {
        let tracks = &mut self.trace.tracks;
        let device = tracks.find_or_add(TrackKind::Device, None, TrackKey::Number(device));
        let known = tracks.find(TrackKind::Stream, Some(device), TrackKey::Number(stream));
        known.unwrap_or_else(|| {
            let name = self.trace.strings.intern(&format!("stream {stream}"));
            let track = self.trace.tracks.find_or_add(TrackKind::Stream, Some(device), TrackKey::Number(stream));
            self.trace.tracks.get_mut(track).name = name;
            track
        })
    }

    /// Adds `activity`, with `args` beside what its own fields say. None where it is not asked for or has no time.
    pub fn push(&mut self, activity: &Activity, args: &[(StrId, ArgValue)]) -> Option<SpanId> {
        let category = activity.sort.category();
        let kind = CategoryKind::of_kineto(category);
        let (start_ns, dur_ns) = self.times(activity)?;
        if self.scope == Scope::Device && !kept_in_device_scope(kind, Wanted::Nothing) {
            self.passed_over += 1;
            return None;
        }
        let category = self.trace.category(category, kind);
        let Activity { name, track, offset, .. } = *activity;
        let span = self.trace.spans.push(SpanRow { start_ns, dur_ns, name, track, category, offset });
        if activity.end_ns.is_none() {
            self.trace.unfinished.push(span);
        }
        self.tie(span, activity);
        if self.keeps_args {
            self.file_args(activity, args);
        }
        Some(span)
    }

    /// Adds what happened at one moment.
    pub fn mark(&mut self, name: StrId, track: TrackId, time_ns: Option<i64>, offset: u64) {
        let Some(time_ns) = time_ns else { return self.problem(ProblemKind::MissingTimestamp, offset) };
        let category = Sort::Range.category();
        let category = self.trace.category(category, CategoryKind::of_kineto(category));
        self.trace.instants.push(InstantMark { time_ns, name, track, category, scope: InstantScope::Thread });
        if self.keeps_args {
            self.trace.instant_args.end_row();
        }
    }

    /// Notes that a row at `offset` was wrong or was left out.
    pub fn problem(&mut self, kind: ProblemKind, offset: u64) {
        self.trace.provenance.problems.add_detailed(kind, offset, 1, self.part.clone());
        self.passed_over += 1;
    }

    /// Whether neither an activity nor anything that was left out has come up.
    pub fn is_empty(&self) -> bool {
        self.trace.events() == 0 && self.passed_over == 0
    }

    /// The finished trace.
    pub fn finish(mut self) -> Trace {
        let last_ns = self.trace.bounds_ns().map_or(0, |(_, last)| last);
        for span in std::mem::take(&mut self.trace.unfinished) {
            let at = span.0 as usize;
            self.trace.spans.dur_ns[at] = last_ns.saturating_sub(self.trace.spans.start_ns[at]).max(0);
            self.trace.unfinished.push(span);
        }
        self.trace.mark_profiler_steps();
        self.trace
    }

    /// Start and length. Only a range may lack its end: it lasts to where the trace ends.
    fn times(&mut self, activity: &Activity) -> Option<(i64, i64)> {
        let times = match (activity.start_ns, activity.end_ns) {
            (Some(start_ns), Some(end_ns)) => (start_ns, end_ns.checked_sub(start_ns)),
            (Some(start_ns), None) if activity.sort == Sort::Range => {
                self.problem(ProblemKind::UnbalancedSpan, activity.offset);
                (start_ns, Some(0))
            }
            _ => {
                self.problem(ProblemKind::MissingTimestamp, activity.offset);
                return None;
            }
        };
        let problem = match times {
            (start_ns, Some(dur_ns @ 0..DECADES_NS)) => return Some((start_ns, dur_ns)),
            (_, Some(..0)) => ProblemKind::NegativeDuration,
            _ => ProblemKind::OverflowedDuration,
        };
        self.problem(problem, activity.offset);
        Some((times.0, 0))
    }

    fn tie(&mut self, span: SpanId, activity: &Activity) {
        let trace = &mut self.trace;
        if let Some(id) = activity.correlation.filter(|id| *id != 0) {
            trace.correlations.push(span, id);
        }
        if let Some(id) = activity.external_id.filter(|id| *id != 0) {
            trace.external_ids.push(span, id);
        }
        if let Some(bytes) = activity.bytes {
            trace.bytes.push(span, bytes);
        }
        if let Sort::Copy(direction) = activity.sort {
            trace.directions.push(span, direction);
        }
    }

    fn file_args(&mut self, activity: &Activity, args: &[(StrId, ArgValue)]) {
        let own = [
            ("correlation", activity.correlation.filter(|id| *id != 0)),
            ("External id", activity.external_id.filter(|id| *id != 0)),
            ("bytes", activity.bytes),
        ];
        let device = self.place(activity.track);
        let place = device.into_iter().flat_map(|(device, stream)| [("device", device), ("stream", stream)]);
        for (key, value) in place {
            let key = self.trace.strings.intern(key);
            self.trace.spans.args.push(key, ArgValue::I64(value));
        }
        for (key, value) in own {
            if let Some(value) = value {
                let key = self.trace.strings.intern(key);
                self.trace.spans.args.push(key, i64::try_from(value).map_or(ArgValue::U64(value), ArgValue::I64));
            }
        }
        args.iter().for_each(|(key, value)| self.trace.spans.args.push(*key, *value));
        self.trace.spans.args.end_row();
    }

    /// The numbers of the device and the stream that `track` is.
    fn place(&self, track: TrackId) -> Option<(i64, i64)> {
        let stream = self.trace.tracks.get(track);
        let device = self.trace.tracks.get(stream.parent?);
        match (device.kind, device.key, stream.key) {
            (TrackKind::Device, TrackKey::Number(device), TrackKey::Number(stream)) => Some((device, stream)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activities() -> Activities {
        Activities::new(SourceFormat::Rocprof, &ReadOptions::default().with_args(ArgsPolicy::All))
    }

    fn kernel(of: &mut Activities, start_ns: Option<i64>, end_ns: Option<i64>) -> Activity {
        let (name, track) = (of.trace().strings.intern("k"), of.stream(0, 7));
        let sort = Sort::Kernel;
        Activity { sort, name, track, start_ns, end_ns, correlation: Some(3), external_id: Some(0), bytes: None, offset: 9 }
    }

    #[test]
    fn times_that_cannot_be_right_are_none_or_no_length() {
        let mut of = activities();
        for (start_ns, end_ns) in [
            (Some(10), Some(30)),
            (Some(30), Some(10)),
            (Some(0), Some(i64::MAX)),
            (Some(i64::MIN), Some(i64::MAX)),
            (Some(5), None),
            (None, Some(5)),
        ] {
            let kernel = kernel(&mut of, start_ns, end_ns);
            of.push(&kernel, &[]);
        }
        let trace = of.finish();
        assert_eq!(trace.spans.start_ns, [10, 30, 0, i64::MIN]);
        assert_eq!(trace.spans.dur_ns, [20, 0, 0, 0]);
        let count = |kind| trace.provenance.problems.count(kind);
        assert_eq!(count(ProblemKind::NegativeDuration), 1);
        assert_eq!(count(ProblemKind::OverflowedDuration), 2);
        assert_eq!(count(ProblemKind::MissingTimestamp), 2);
        assert_eq!((trace.correlations.len(), trace.external_ids.len()), (4, 0));
    }

    #[test]
    fn a_range_without_an_end_lasts_to_the_end_of_the_trace() {
        let mut of = activities();
        let (name, track) = (of.trace().strings.intern("epoch"), of.thread(1, 2));
        let range = Activity { sort: Sort::Range, name, track, ..kernel(&mut of, Some(100), None) };
        of.push(&range, &[]);
        let kernel = kernel(&mut of, Some(150), Some(400));
        of.push(&kernel, &[]);
        let trace = of.finish();
        assert_eq!((trace.spans.dur_ns[0], trace.unfinished.len()), (300, 1));
        assert_eq!(trace.provenance.problems.count(ProblemKind::UnbalancedSpan), 1);
    }

    #[test]
    fn in_the_scope_of_devices_other_calls_of_the_host_are_passed_over() {
        let mut of = Activities::new(SourceFormat::Nsys, &ReadOptions::default().with_scope(Scope::Device));
        assert!(of.is_empty());
        let track = of.thread(1, 2);
        for sort in [Sort::Other, Sort::LibraryCall, Sort::RuntimeCall, Sort::Kernel, Sort::Range] {
            let activity = Activity { sort, track, ..kernel(&mut of, Some(1), Some(2)) };
            of.push(&activity, &[]);
        }
        assert_eq!(of.finish().spans.len(), 3);
    }
}
