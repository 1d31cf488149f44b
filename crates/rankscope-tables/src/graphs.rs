//! [`Replays`]: which captured call each piece of work is of that a graph launch (CUDA, HIP) ran again.
//!
//! While a stream is captured, operators and their launches are recorded and nothing runs. Later one graph launch runs all of it, and
//! the trace ties the work to that launch alone. Where a capture lies in the same trace, or in [another file](Captures) of the same rank,
//! its calls stand in the order of the graph's nodes, so the first piece of work is of the first call, and so on. A replay is tied to a capture only if both have the same kernels,
//! copies and fills in the same order and no other capture that differs in operators or arguments has. Whatever is not certain stays
//! with the graph launch, and [`GraphRemarks`] says why.
//!
//! The order of a replay is that of its node ids where the profiler records them, and else that of its starts on its one stream. What a
//! captured call will run is known from the call where it names the kernel (ROCm), and else from what the same operator with the same
//! arguments ran outside of captures, as it does when a program warms up.

mod capture;
mod elsewhere;
mod known;
mod remarks;

use rankscope_analyze::spans::Nesting;
use rankscope_trace::{ArgValue, SpanId, StrId, Trace};
use rustc_hash::FxHashMap;

pub(crate) use self::capture::Capture;
pub use self::capture::GraphCalls;
use self::capture::Roles;
pub(crate) use self::elsewhere::with_captures;
pub use self::elsewhere::{CaptureFile, Captures};
use self::known::{Known, Shape};
pub use self::remarks::GraphRemarks;
use crate::Attributed;

/// The captured call that each piece of replayed work is of.
#[derive(Debug, Default)]
pub(crate) struct Replays {
    pub(crate) captured: FxHashMap<SpanId, SpanId>,
    /// Calls within captures: they launched nothing yet.
    pub(crate) calls: Vec<SpanId>,
    pub(crate) remarks: GraphRemarks,
    /// For each other file with captures, the launches that are tied to one of them, and their work.
    pub(crate) elsewhere: Vec<[u64; 2]>,
}

/// Why a replay is not tied to a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Untied {
    NoCapture,
    SeveralStreams,
    Unequal,
    Unnamed,
    Several,
}

impl Replays {
    /// Those of `trace`, whose `work` is attributed as if there were no graphs; `elsewhere` are the captures of other files.
    pub(crate) fn of(trace: &Trace, nesting: &Nesting, work: &[Attributed], elsewhere: &[Capture]) -> Self {
        let roles = Roles::of(trace);
        if !roles.has_graphs() {
            return Self::default();
        }
        let mut captures = Capture::all(trace, nesting, &roles, work);
        captures.extend_from_slice(elsewhere);
        let mut replays: FxHashMap<SpanId, Vec<SpanId>> = FxHashMap::default();
        for one in work {
            if let Some(launch) = one.launch.filter(|launch| roles.is_graph_launch(trace, *launch)) {
                replays.entry(launch).or_default().push(one.work);
            }
        }
        let matcher = Matcher::of(trace, nesting, &captures, work, &roles);
        let mut known: FxHashMap<Vec<Shape>, Result<Vec<usize>, Untied>> = FxHashMap::default();
        let mut found = Self::default();
        for (launch, mut work) in replays {
            let tied = matcher.order(&mut work).and_then(|()| {
                let shapes: Vec<Shape> = work.iter().map(|one| Shape::of_work(trace, *one)).collect();
                let fitting = known.entry(shapes).or_insert_with_key(|shapes| matcher.fitting(shapes)).clone();
                matcher.choose(fitting, launch)
            });
            found.remarks.add(tied.err(), work.len() as u64);
            if let Ok(capture) = tied {
                found.count_elsewhere(&captures[capture], work.len() as u64);
                found.captured.extend(work.into_iter().zip(captures[capture].calls.iter().copied()));
            }
        }
        found.calls = captures.into_iter().flat_map(|capture| capture.calls).collect();
        found
    }

    fn count_elsewhere(&mut self, capture: &Capture, work: u64) {
        if let Some((file, _)) = capture.elsewhere {
            self.elsewhere.resize(self.elsewhere.len().max(file + 1), [0, 0]);
            let sums = &mut self.elsewhere[file];
            *sums = [sums[0] + 1, sums[1] + work];
        }
    }
}

/// Compares replays with captures.
struct Matcher<'a> {
    trace: &'a Trace,
    nesting: &'a Nesting,
    captures: &'a [Capture],
    /// What the calls of each capture will run.
    expected: Vec<Vec<Shape>>,
    node_id: Option<StrId>,
}

impl<'a> Matcher<'a> {
    fn of(trace: &'a Trace, nesting: &'a Nesting, captures: &'a [Capture], work: &[Attributed], roles: &Roles) -> Self {
        let known = Known::of(trace, nesting, captures, work, roles);
        let expected = captures.iter().map(|capture| known.shapes(trace, nesting, capture, roles)).collect();
        Self { trace, nesting, captures, expected, node_id: trace.strings.find("graph node id") }
    }

    /// Puts the work of one replay in the order of the graph's nodes.
    fn order(&self, work: &mut [SpanId]) -> Result<(), Untied> {
        let node = |span: SpanId| match self.trace.spans.args.value(span.0 as usize, self.node_id?)? {
            ArgValue::U64(node) => Some(node),
            ArgValue::I64(node) => u64::try_from(node).ok(),
            _ => None,
        };
        let node = |span: SpanId| node(span).filter(|node| *node > 0);
        let spans = &self.trace.spans;
        if work.iter().all(|span| node(*span).is_some()) {
            work.sort_by_key(|span| (node(*span), spans.start_ns(*span), *span));
            return Ok(());
        }
        work.sort_by_key(|span| (spans.start_ns(*span), *span));
        let stream = |span: &SpanId| spans.track[span.0 as usize];
        let is_one_stream = work.windows(2).all(|pair| stream(&pair[0]) == stream(&pair[1]));
        if is_one_stream { Ok(()) } else { Err(Untied::SeveralStreams) }
    }

    /// The captures that may have made a graph which runs `shapes`.
    fn fitting(&self, shapes: &[Shape]) -> Result<Vec<usize>, Untied> {
        let is_named = |at: &usize| self.expected[*at].iter().all(Shape::is_known);
        let fits = |at: &usize| {
            let expected = &self.expected[*at];
            expected.len() == shapes.len() && expected.iter().zip(shapes).all(|(expected, shape)| expected.may_be(shape))
        };
        let fitting: Vec<usize> = (0..self.captures.len()).filter(fits).collect();
        match (fitting.is_empty(), fitting.iter().all(is_named)) {
            (true, _) if self.captures.is_empty() => Err(Untied::NoCapture),
            (true, _) => Err(Untied::Unequal),
            (false, false) => Err(Untied::Unnamed),
            (false, true) => Ok(fitting),
        }
    }

    /// The one of them that `launch` launches: the last before it, if all say the same.
    fn choose(&self, fitting: Result<Vec<usize>, Untied>, launch: SpanId) -> Result<usize, Untied> {
        let launched_ns = self.trace.spans.start_ns(launch);
        let mut before = fitting?;
        before.retain(|at| self.captures[*at].end_ns <= launched_ns);
        let last = *before.iter().max_by_key(|at| self.captures[**at].end_ns).ok_or(Untied::NoCapture)?;
        let is_alike =
            |other: &usize| *other == last || self.captures[*other].is_like(&self.captures[last], self.trace, self.nesting);
        if before.iter().all(is_alike) { Ok(last) } else { Err(Untied::Several) }
    }
}
