//! [`Captures`]: what one file captured, for the graphs that another file of the same rank launches.
//!
//! Inference engines profile the capture of their graphs by itself and leave a trace of it beside the trace of the run. From such a file
//! come the captured calls and what is around them, and what each call will run as far as that file knows. They are put in front of the
//! run's own events, so that all tables find operators, shapes and modules where they look for those of the run.
//!
//! Of two files with times of day, a capture that ended after a launch is not what it launched. Stamps that count from anything else do not
//! tell, and what is launched is told by the work alone.

use rankscope_analyze::spans::Nesting;
use rankscope_trace::{CategoryKind, SpanId, Trace};
use serde::{Deserialize, Serialize};

use super::capture::{Capture, Roles};
use super::known::{Known, Shape};
use crate::attribution::{self, Attribution};

/// Stamps from here on, in nanoseconds, are times of day: September 2001. What counts from the start of a machine or a program is below.
const TIME_OF_DAY_NS: i64 = 1_000_000_000_000_000_000;

/// The captures of one file.
#[derive(Clone, Debug)]
pub struct Captures {
    file: String,
    /// The captured calls and what is around them.
    excerpt: Trace,
    list: Vec<OneCapture>,
}

#[derive(Clone, Debug)]
struct OneCapture {
    end_ns: i64,
    /// Places in the excerpt.
    calls: Vec<SpanId>,
    /// What they will run, by strings of the excerpt.
    shapes: Vec<Shape>,
}

/// What became of the captures of another file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct CaptureFile {
    /// The file.
    pub file: String,
    /// How many captures it has.
    pub captures: u64,
    /// Graph launches whose work counts for the operators of one of them, and that work.
    pub tied: [u64; 2],
}

impl Captures {
    /// Those of `trace`; none where it captures nothing.
    pub fn of(trace: &Trace) -> Option<Self> {
        let roles = Roles::of(trace);
        if !roles.has_captures() {
            return None;
        }
        let attribution = Attribution::of(trace);
        let (nesting, work) = (&attribution.nesting, &attribution.work);
        let captures = Capture::all(trace, nesting, &roles, work);
        if captures.iter().all(|capture| capture.calls.is_empty()) {
            return None;
        }
        let known = Known::of(trace, nesting, &captures, work, &roles);
        let mut spans: Vec<SpanId> = captures.iter().flat_map(|capture| with_all_around(trace, nesting, capture)).collect();
        spans.sort_unstable();
        spans.dedup();
        let mut excerpt = trace.excerpt(&spans);
        let place = |call: &SpanId| spans.binary_search(call).ok().map(|at| SpanId(at as u32));
        let mut one = |capture: &Capture| OneCapture {
            end_ns: capture.end_ns,
            calls: capture.calls.iter().filter_map(place).collect(),
            shapes: known
                .shapes(trace, nesting, capture, &roles)
                .into_iter()
                .map(|shape| shape.with(|id| excerpt.strings.intern(trace.strings.text(id))))
                .collect(),
        };
        let list = captures.iter().filter(|capture| !capture.calls.is_empty()).map(&mut one).collect();
        Some(Self { file: trace.provenance.file.clone(), excerpt, list })
    }

    /// What is said of them, before anything is tied to them.
    pub(crate) fn about(&self) -> CaptureFile {
        CaptureFile { file: self.file.clone(), captures: self.list.len() as u64, tied: [0, 0] }
    }
}

/// The calls of `capture` with the operators and frames around them. Annotations stay behind: they tell of the host's time.
fn with_all_around<'a>(trace: &'a Trace, nesting: &'a Nesting, capture: &'a Capture) -> impl Iterator<Item = SpanId> + 'a {
    let is_taken = |span: &SpanId| matches!(trace.kind(*span), CategoryKind::CpuOp | CategoryKind::PythonFunction);
    capture
        .calls
        .iter()
        .flat_map(move |call| std::iter::once(*call).chain(attribution::around(nesting, *call).filter(is_taken)))
}

/// A trace with what `others` captured in front of its events, and those captures. Its spans keep their numbers.
pub(crate) fn with_captures(trace: &Trace, others: &[Captures]) -> (Trace, Vec<Capture>) {
    let mut whole = trace.clone();
    while whole.spans.args.rows() < whole.spans.len() {
        whole.spans.args.end_row();
    }
    let bounds_ns = trace.bounds_ns().unwrap_or_default();
    let is_by_day = bounds_ns.0 >= TIME_OF_DAY_NS;
    let (mut first_ns, mut captures) = (bounds_ns.0, Vec::new());
    for (file, other) in others.iter().enumerate() {
        let mut excerpt = other.excerpt.clone();
        let (own_ns, end_ns) = excerpt.bounds_ns().unwrap_or_default();
        let later_ns = first_ns.saturating_sub(1).saturating_sub(end_ns);
        excerpt.spans.start_ns.iter_mut().for_each(|start_ns| *start_ns = start_ns.saturating_add(later_ns));
        first_ns = own_ns.saturating_add(later_ns);
        let remap = whole.append(excerpt);
        captures.extend(other.list.iter().map(|one| {
            let end_ns = if is_by_day && own_ns >= TIME_OF_DAY_NS { one.end_ns } else { i64::MIN };
            let calls = one.calls.iter().map(|call| remap.span(*call)).collect();
            let shapes = one.shapes.iter().map(|shape| shape.with(|id| remap.string(id))).collect();
            Capture::elsewhere(file, end_ns, calls, shapes)
        }));
    }
    (whole, captures)
}
