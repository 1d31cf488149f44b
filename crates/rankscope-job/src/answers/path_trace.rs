//! The critical paths as a trace on the job's clock, to be drawn as one row.
//!
//! A step of the job begins on one rank while another one still ends the step before. The row has every moment once, and gives that
//! one to the step that was first: each step is drawn from the end of the one before it, or from its own start where that is later.

use std::borrow::Cow;

use rankscope_execution::{JobExecution, Path, PathClass, PathWindow, Segment, critical_paths};
use rankscope_trace::{ArgValue, CategoryKind, SpanRow, Trace, TrackId, TrackKey, TrackKind};

use super::step_windows::StepWindows;
use crate::Job;

/// What the track is called.
const TRACK: &str = "critical path";

impl Job {
    /// The critical path of each step: a span for the step, and within it one for each part of its path, whose arguments say the rank
    /// and what sort of time it is. No two steps overlap. Times are the job's. None where the job has no execution graph.
    pub fn critical_path_trace(&self) -> Option<Trace> {
        let graph = self.execution()?;
        let steps = StepWindows::of(self, &graph);
        let windows: Vec<_> = steps.iter().map(|step| step.whole).collect();
        let paths = critical_paths(&graph, &windows);
        let mut drawn = Drawn::new(self, &graph);
        for (at, from_ns) in once(&windows) {
            drawn.path(steps[at].step, &paths[at], from_ns);
        }
        Some(drawn.trace).filter(|trace| !trace.spans.is_empty())
    }
}

/// The windows by their ends, each with where it begins if every moment is that of one: those of which something is left.
fn once(windows: &[PathWindow]) -> impl Iterator<Item = (usize, i64)> {
    let mut order: Vec<usize> = (0..windows.len()).collect();
    order.sort_by_key(|at| (windows[*at].end_ns, windows[*at].start_ns));
    let mut before_ns = i64::MIN;
    let begin = move |at: usize| {
        let from_ns = windows[at].start_ns.max(before_ns);
        before_ns = windows[at].end_ns;
        (from_ns < windows[at].end_ns).then_some((at, from_ns))
    };
    order.into_iter().filter_map(begin)
}

/// What a part of `class` is called that is about `name`: in its delays that did not run yet.
fn said(class: PathClass, name: &str) -> Cow<'_, str> {
    match class {
        PathClass::Launch => format!("launch of {name}").into(),
        PathClass::DeviceGap => format!("gap before {name}").into(),
        _ => name.into(),
    }
}

struct Drawn<'j, 'a> {
    job: &'j Job,
    graph: &'j JobExecution<'a>,
    trace: Trace,
    track: TrackId,
}

impl<'j, 'a> Drawn<'j, 'a> {
    fn new(job: &'j Job, graph: &'j JobExecution<'a>) -> Self {
        let mut trace = Trace::default();
        let name = trace.strings.intern(TRACK);
        let track = trace.tracks.find_or_add(TrackKind::Thread, None, TrackKey::Text(name));
        trace.tracks.get_mut(track).name = name;
        Self { job, graph, trace, track }
    }

    /// A step from `from_ns` on, and the parts of its path within it. Parts of one name that follow each other are one.
    fn path(&mut self, step: Option<i64>, path: &Path, from_ns: i64) {
        let graph = self.graph;
        let name = step.map_or_else(|| "recording".to_owned(), |step| format!("step {step}"));
        let window = path.window;
        self.rank(window.rank as u32);
        self.span(&name, "step", (from_ns, window.end_ns));
        let same = |a: &Segment, b: &Segment| (a.rank, a.class) == (b.rank, b.class) && a.name(graph) == b.name(graph);
        let within = path.segments.partition_point(|segment| segment.end_ns <= from_ns);
        for parts in path.segments[within..].chunk_by(same) {
            let (Some(first), Some(last)) = (parts.first(), parts.last()) else { continue };
            self.rank(first.rank);
            if let Some(kernel) = first.kernel(graph) {
                self.text("kernel", kernel);
            }
            let name = said(first.class, first.name(graph));
            self.span(&name, first.class.name(), (first.start_ns.max(from_ns), last.end_ns));
        }
    }

    fn rank(&mut self, index: u32) {
        let key = self.trace.strings.intern("rank");
        let rank = self.job.ranks[index as usize].rank.0;
        self.trace.spans.args.push(key, ArgValue::I64(rank.into()));
    }

    fn text(&mut self, key: &str, text: &str) {
        let (key, text) = (self.trace.strings.intern(key), self.trace.strings.intern(text));
        self.trace.spans.args.push(key, ArgValue::Text(text));
    }

    /// A span with the arguments so far, whose category is its class.
    fn span(&mut self, name: &str, class: &str, (start_ns, end_ns): (i64, i64)) {
        self.text("class", class);
        self.trace.spans.args.end_row();
        let (name, category) = (self.trace.strings.intern(name), self.trace.category(class, CategoryKind::Other));
        let dur_ns = end_ns.saturating_sub(start_ns);
        self.trace.spans.push(SpanRow { start_ns, dur_ns, name, track: self.track, category, offset: 0 });
    }
}
