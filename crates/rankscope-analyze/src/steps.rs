//! The windows of a rank's steps.
//!
//! A step's marker on the host says when it was asked for, not when the device did it. So a step's window on the device runs
//! from its first work to the first work of the next step (the last one's to its last end), and the windows of a rank tile the
//! time between them. Its work is found by the profiler's device-side annotation or by the launches that lie within the host's
//! marker, whichever accounts for more of the work; without either, the host's markers stand as they are. Of what lies between two
//! exports of the profiler nothing is known, so no step lasts across.

use std::collections::BTreeMap;

use rankscope_collectives::Step;
use rankscope_trace::{CategoryKind, SpanId, Trace};
use rustc_hash::FxHashMap;

use crate::{Side, Work};

/// What told the windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepSource {
    /// Annotations on the device.
    DeviceAnnotations,
    /// Launches within the host's markers.
    Launches,
    /// The host's markers themselves.
    HostAnnotations,
    /// There are no steps.
    #[default]
    None,
}

impl StepSource {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::DeviceAnnotations => "device_annotations",
            Self::Launches => "launches",
            Self::HostAnnotations => "host_annotations",
            Self::None => "none",
        }
    }
}

/// One step's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepWindow {
    /// Its number.
    pub number: i64,
    /// Start, in nanoseconds since the epoch.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
}

impl StepWindow {
    /// The same as one of the steps that a rank's collectives lie in.
    pub fn as_step(&self) -> Step {
        Step { number: self.number, start_ns: self.start_ns, end_ns: self.end_ns }
    }
}

/// First start and last end by step, and how many pieces of work they hold.
#[derive(Default)]
struct Extents {
    steps: BTreeMap<i64, (i64, i64)>,
    pieces: usize,
}

impl Extents {
    fn add(&mut self, number: i64, start_ns: i64, end_ns: i64) {
        let extent = self.steps.entry(number).or_insert((start_ns, end_ns));
        *extent = (extent.0.min(start_ns), extent.1.max(end_ns));
    }

    /// How many of `work` begin within any of them.
    fn holds(&self, work: &[Work]) -> usize {
        let mut extents: Vec<(i64, i64)> = self.steps.values().copied().collect();
        extents.sort_unstable();
        // Whatever began by then is open where the last end of all that did lies behind.
        let mut last_ns = i64::MIN;
        for (_, end_ns) in &mut extents {
            last_ns = last_ns.max(*end_ns);
            *end_ns = last_ns;
        }
        let holds = |piece: &&Work| {
            let begun = extents.partition_point(|(start_ns, _)| *start_ns <= piece.start_ns);
            begun.checked_sub(1).is_some_and(|last| extents[last].1 > piece.start_ns)
        };
        work.iter().filter(holds).count()
    }
}

/// The windows of the steps of `trace`, in order, and what told them. `work` is what ran, on `side`.
pub fn windows(trace: &Trace, side: Side, work: &[Work]) -> (StepSource, Vec<StepWindow>) {
    let marks = |on_device: bool| {
        trace
            .steps
            .iter()
            .filter(move |mark| (trace.kind(mark.span) == CategoryKind::GpuUserAnnotation) == on_device)
            .map(move |mark| (mark.number, trace.spans.start_ns(mark.span), trace.spans.end_ns(mark.span)))
    };
    let host: Vec<_> = marks(false).collect();
    let as_marked = |marks: &[(i64, i64, i64)]| {
        let mut extents = Extents::default();
        marks.iter().for_each(|(number, start, end)| extents.add(*number, *start, *end));
        extents
    };
    if side == Side::Host {
        let windows: Vec<_> =
            as_marked(&host).steps.into_iter().map(|(number, (start, end))| window(number, start, end)).collect();
        let source = if windows.is_empty() { StepSource::None } else { StepSource::HostAnnotations };
        return (source, windows);
    }
    let mut annotated = as_marked(&marks(true).collect::<Vec<_>>());
    annotated.pieces = annotated.holds(work);
    let launched = launched(trace, &host, work);
    let (source, extents) = if annotated.pieces > 0 && annotated.pieces * 2 >= launched.pieces {
        (StepSource::DeviceAnnotations, annotated)
    } else if launched.pieces > 0 {
        (StepSource::Launches, launched)
    } else if host.is_empty() {
        (StepSource::None, Extents::default())
    } else {
        (StepSource::HostAnnotations, as_marked(&host))
    };
    (source, tile(extents))
}

/// The extents of the work whose launches lie within the host's markers.
fn launched(trace: &Trace, host: &[(i64, i64, i64)], work: &[Work]) -> Extents {
    let mut extents = Extents::default();
    if host.is_empty() {
        return extents;
    }
    let mut markers = host.to_vec();
    markers.sort_unstable_by_key(|(_, start, _)| *start);
    let launches: FxHashMap<u64, SpanId> =
        trace.correlations.iter().filter(|(span, _)| trace.kind(*span).is_launch()).map(|(span, id)| (id, span)).collect();
    for piece in work {
        let launch = trace.correlations.get(piece.span).and_then(|id| launches.get(&id));
        let Some(asked_ns) = launch.map(|launch| trace.spans.start_ns(*launch)) else { continue };
        let before = markers.partition_point(|(_, start, _)| *start <= asked_ns);
        let Some((number, _, end)) = before.checked_sub(1).map(|at| markers[at]) else { continue };
        if asked_ns < end {
            extents.add(number, piece.start_ns, piece.end_ns);
            extents.pieces += 1;
        }
    }
    extents
}

/// Every step but the last runs until the next one begins.
fn tile(extents: Extents) -> Vec<StepWindow> {
    let mut steps: Vec<_> = extents.steps.into_iter().map(|(number, (start, end))| window(number, start, end)).collect();
    steps.sort_by_key(|step| (step.start_ns, step.number));
    for at in 1..steps.len() {
        steps[at - 1].end_ns = steps[at].start_ns;
    }
    steps
}

/// Adds the steps of a later export. A number that both have is one step.
pub(crate) fn join(steps: &mut Vec<StepWindow>, later: Vec<StepWindow>) {
    let places: FxHashMap<i64, usize> = steps.iter().enumerate().map(|(at, known)| (known.number, at)).collect();
    for step in later {
        match places.get(&step.number).map(|at| &mut steps[*at]) {
            Some(known) => {
                known.start_ns = known.start_ns.min(step.start_ns);
                known.end_ns = known.end_ns.max(step.end_ns);
            }
            None => steps.push(step),
        }
    }
    steps.sort_by_key(|step| (step.start_ns, step.number));
}

fn window(number: i64, start_ns: i64, end_ns: i64) -> StepWindow {
    StepWindow { number, start_ns, end_ns }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rankscope_trace::SpanId;

    use super::*;
    use crate::Class;

    proptest! {
        #[test]
        fn work_is_held_by_whichever_step_is_open_when_it_begins(
            steps in prop::collection::vec((0..60_i64, 0..30_i64), 0..8), starts in prop::collection::vec(-5..100_i64, 0..30)
        ) {
            let mut extents = Extents::default();
            (0..).zip(&steps).for_each(|(number, (start, dur))| extents.add(number, *start, start + dur));
            let piece = |start_ns: &i64| Work { span: SpanId(0), start_ns: *start_ns, end_ns: start_ns + 1, class: Class::Compute };
            let work: Vec<Work> = starts.iter().map(piece).collect();
            let is_held = |at: &&i64| steps.iter().any(|(start, dur)| (*start..start + dur).contains(*at));
            prop_assert_eq!(extents.holds(&work), starts.iter().filter(is_held).count());
        }
    }
}
