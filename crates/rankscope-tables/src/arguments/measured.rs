//! What is counted of the operators of a row. All their times are held while they are counted, because a median needs them.

use rankscope_trace::{SpanId, StrId, Trace, TrackId};
use rustc_hash::FxHashMap;

use super::{ArgumentRow, Called, LaunchedKernel, Thread, sort_kernels, times_ns};
use crate::attribution::dur_ns;
use crate::kernels::stream;
use crate::{Distribution, Spread};

/// The operators of a row so far.
#[derive(Default)]
pub(super) struct Measured {
    time: Vec<i64>,
    subtree: Vec<i64>,
    host: Vec<i64>,
    track: Option<Track>,
    first: Option<SpanId>,
    kernels: FxHashMap<(StrId, TrackId), Spread>,
}

/// Where operators ran.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Track {
    One(TrackId),
    Several,
}

impl Measured {
    pub(super) fn add(&mut self, trace: &Trace, one: &Called<'_>) {
        let (time_ns, subtree_ns) = times_ns(trace, one);
        self.time.push(time_ns);
        self.subtree.extend(subtree_ns);
        // Instructions that no call is recorded of stand for themselves, on the device.
        if !trace.kind(one.span).is_device_work() {
            self.host.push(dur_ns(trace, one.span));
        }
        let track = Track::One(trace.spans.track[one.span.0 as usize]);
        self.track = Some(if self.track.is_none_or(|known| known == track) { track } else { Track::Several });
        self.first = Some(self.first.map_or(one.span, |first| first.min(one.span)));
        for work in one.work {
            let at = work.0 as usize;
            self.kernels.entry((trace.spans.name[at], trace.spans.track[at])).or_default().add(dur_ns(trace, *work));
        }
    }

    /// `row` with all that was counted.
    pub(super) fn row(mut self, trace: &Trace, row: ArgumentRow) -> ArgumentRow {
        let kernel = |((name, track), time): (_, Spread)| LaunchedKernel {
            name: trace.strings.text(name).to_owned(),
            stream: stream(trace, track),
            time,
        };
        let mut kernels: Vec<LaunchedKernel> = self.kernels.into_iter().map(kernel).collect();
        sort_kernels(&mut kernels);
        ArgumentRow {
            time: Distribution::of(&mut self.time),
            subtree: Distribution::of(&mut self.subtree),
            host: Distribution::of(&mut self.host),
            thread: if let Some(Track::One(track)) = self.track { thread(trace, track) } else { None },
            example: self.first.and_then(|first| trace.spans.place(first)),
            kernels,
            ..row
        }
    }
}

/// What the file calls `track`, if it is a thread that has a name of its own or of its process.
fn thread(trace: &Trace, track: TrackId) -> Option<Thread> {
    let name = |id: StrId| (!id.is_empty()).then(|| trace.strings.text(id).to_owned());
    let thread = trace.tracks.get(track);
    let process = thread.parent.map(|parent| trace.tracks.get(parent));
    let named = Thread {
        name: name(thread.name),
        process: process.and_then(|process| name(process.name)),
        label: process.and_then(|process| name(process.label)),
    };
    (named != Thread::default()).then_some(named)
}
