//! The spans of each thread in order, whose time each took, and in which span each began.

use std::cmp::Reverse;

use rankscope_trace::{SpanId, Trace, TrackId, TrackKey, TrackKind};

/// Profilers round starts and lengths, the older ones to microseconds: a span that seems to outlast the one it began in by less
/// than this is inside it.
const ROUNDING_NS: i64 = 1_000;

/// How the spans of one trace lie in each other.
#[derive(Clone, Debug, Default)]
pub struct Nesting {
    /// Spans by track; on each track by start, longer ones first, else in the order of the file.
    order: Vec<SpanId>,
    /// Where each track's spans end in `order`.
    ends: Vec<usize>,
    is_async: Vec<bool>,
    /// By span; empty where nobody asked for it.
    self_ns: Vec<i64>,
    /// By span; the span itself where it is the outermost.
    parent: Vec<SpanId>,
    overruns: u64,
}

impl Nesting {
    /// Looks at every span of `trace`.
    pub fn of(trace: &Trace) -> Self {
        Self::with(trace, vec![0; trace.spans.len()])
    }

    /// The same without the spans' own times, which take as much room as all the rest: they are 0.
    pub fn untimed(trace: &Trace) -> Self {
        Self::with(trace, Vec::new())
    }

    fn with(trace: &Trace, self_ns: Vec<i64>) -> Self {
        let (order, ends) = by_track(trace);
        let is_async = trace.tracks.iter().map(|(track, _)| holds_async_spans(trace, track)).collect();
        let parent = trace.spans.ids().collect();
        let mut nesting = Self { order, ends, is_async, self_ns, parent, overruns: 0 };
        let mut begin = 0;
        for track in 0..nesting.ends.len() {
            let end = nesting.ends[track];
            nesting.order[begin..end].sort_by_key(|span| (trace.spans.start_ns(*span), Reverse(trace.spans.end_ns(*span))));
            if !nesting.is_async[track] {
                let Self { order, self_ns, parent, .. } = &mut nesting;
                let sweep = Sweep { trace, self_ns, parent, open: Vec::new(), now: i64::MIN, overruns: 0 };
                let overruns = sweep.run(&order[begin..end]);
                // Work of a stream may overlap; calls of a thread do not.
                let is_thread = trace.tracks.get(TrackId(track as u32)).kind == TrackKind::Thread;
                nesting.overruns += if is_thread { overruns } else { 0 };
            }
            begin = end;
        }
        nesting
    }

    /// Every track that has spans, with those by start, longer ones first.
    pub fn tracks(&self) -> impl Iterator<Item = (TrackId, &[SpanId])> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let tracks =
            (0..).map(TrackId).zip(begins.zip(&self.ends)).map(|(track, (begin, end))| (track, &self.order[begin..*end]));
        tracks.filter(|(_, spans)| !spans.is_empty())
    }

    /// Whether the spans of `track` are asynchronous: they belong to no thread and need not nest.
    pub fn is_async(&self, track: TrackId) -> bool {
        self.is_async[track.0 as usize]
    }

    /// Time of `span` that is no other's, in nanoseconds; zero for an asynchronous one, which has none.
    pub fn self_ns(&self, span: SpanId) -> i64 {
        self.self_ns.get(span.0 as usize).copied().unwrap_or(0)
    }

    /// How many spans of threads outlast one that they began in. Each keeps its time, is in the next one around that lasts as long,
    /// and takes from the one it outlasts what both have.
    pub fn overruns(&self) -> u64 {
        self.overruns
    }

    /// The span of the same thread that `span` began in and ended in; none for an outermost one.
    pub fn parent(&self, span: SpanId) -> Option<SpanId> {
        Some(self.parent[span.0 as usize]).filter(|parent| *parent != span)
    }
}

/// Those that say so, and rows of other programs' Perfetto files that are of no thread, whose name is their key.
fn holds_async_spans(trace: &Trace, track: TrackId) -> bool {
    let track = trace.tracks.get(track);
    let named_by_name = matches!(track.key, TrackKey::Text(key) if key == track.name && !key.is_empty());
    track.is_async(&trace.strings) || (track.kind == TrackKind::Thread && named_by_name)
}

/// The category of the one span that Kineto draws around everything it recorded, on a thread of its own. It is no work.
const AROUND_ALL: &str = "Trace";

/// A counting sort: spans by track, each track's in the order of the file.
fn by_track(trace: &Trace) -> (Vec<SpanId>, Vec<usize>) {
    let is_work: Vec<bool> = trace.categories.iter().map(|category| trace.strings.text(category.name) != AROUND_ALL).collect();
    let spans = || trace.spans.ids().zip(&trace.spans.track);
    let work = || spans().filter(|(span, _)| is_work[usize::from(trace.spans.category[span.0 as usize])]);
    let mut next = vec![0_usize; trace.tracks.len()];
    work().for_each(|(_, track)| next[track.0 as usize] += 1);
    let mut sum = 0;
    for count in &mut next {
        sum += std::mem::replace(count, sum);
    }
    let mut order = vec![SpanId(0); sum];
    for (span, track) in work() {
        let place = &mut next[track.0 as usize];
        order[*place] = span;
        *place += 1;
    }
    // What was the next place of each track is where it ends now.
    (order, next)
}

/// Goes through one thread in time.
struct Sweep<'a> {
    trace: &'a Trace,
    self_ns: &'a mut [i64],
    parent: &'a mut [SpanId],
    /// Spans that began, the last on top; those below the top may have ended.
    open: Vec<SpanId>,
    now: i64,
    /// How many spans outlast one that they began in.
    overruns: u64,
}

impl Sweep<'_> {
    /// Returns how many spans outlast one that they began in.
    fn run(mut self, spans: &[SpanId]) -> u64 {
        for span in spans {
            self.advance(self.trace.spans.start_ns(*span));
            let parent = self.parent_of(*span);
            self.parent[span.0 as usize] = parent;
            self.overruns += u64::from(self.open.last().is_some_and(|last| *last != parent));
            self.open.push(*span);
        }
        self.advance(i64::MAX);
        self.overruns
    }

    /// Gives the time up to `to` to the spans on top.
    fn advance(&mut self, to: i64) {
        while let Some(top) = self.open.last() {
            let end = self.trace.spans.end_ns(*top);
            let until = end.min(to);
            if until > self.now {
                if let Some(own_ns) = self.self_ns.get_mut(top.0 as usize) {
                    *own_ns += until.saturating_sub(self.now);
                }
                self.now = until;
            }
            if end > to {
                return;
            }
            self.open.pop();
        }
        self.now = self.now.max(to);
    }

    /// The innermost open span that lasts as long. A span that does not is passed over together with all that it began in: those
    /// end before `span` does, and whatever begins until then begins in `span`. So each is passed over once.
    fn parent_of(&self, span: SpanId) -> SpanId {
        let end = self.trace.spans.end_ns(span);
        let Some(mut at) = self.open.last().copied() else { return span };
        while self.trace.spans.end_ns(at).saturating_add(ROUNDING_NS) <= end {
            match self.parent[at.0 as usize] {
                outermost if outermost == at => return span,
                around => at = around,
            }
        }
        at
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use rankscope_trace::{CategoryKind, SpanRow, Track};

    use super::*;

    /// A trace of spans `(thread, start, length, name)`.
    pub(in crate::spans) fn trace_of(spans: &[(i64, i64, i64, &str)]) -> Trace {
        let mut trace = Trace::default();
        let category = trace.category("user_annotation", CategoryKind::UserAnnotation);
        let process = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(1));
        for (thread, start_ns, dur_ns, name) in spans.iter().copied() {
            let track = trace.tracks.find_or_add(TrackKind::Thread, Some(process), TrackKey::Number(thread));
            let name = trace.strings.intern(name);
            trace.spans.push(SpanRow { start_ns, dur_ns, name, track, category, offset: 0 });
        }
        trace
    }

    /// A trace of one asynchronous span beside those of [`trace_of`].
    pub(in crate::spans) fn with_async(mut trace: Trace, spans: &[(i64, i64, &str)]) -> Trace {
        let process = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(1));
        for (start_ns, dur_ns, name) in spans.iter().copied() {
            let name = trace.strings.intern(name);
            let key = TrackKey::Text(trace.strings.intern(&Track::async_of(trace.strings.text(name))));
            let track = trace.tracks.find_or_add(TrackKind::Thread, Some(process), key);
            trace.tracks.get_mut(track).name = name;
            trace.spans.push(SpanRow { start_ns, dur_ns, name, track, category: 0, offset: 0 });
        }
        trace
    }

    fn selves(trace: &Trace) -> Vec<i64> {
        let nesting = Nesting::of(trace);
        trace.spans.ids().map(|span| nesting.self_ns(span)).collect()
    }

    #[test]
    fn a_span_keeps_what_its_children_do_not_take() {
        let trace = trace_of(&[(1, 0, 100, "a"), (1, 10, 20, "b"), (1, 15, 5, "c"), (1, 40, 10, "b"), (2, 0, 7, "d")]);
        assert_eq!(selves(&trace), [70, 15, 5, 10, 7]);
        let nesting = Nesting::of(&trace);
        let parents: Vec<_> = trace.spans.ids().map(|span| nesting.parent(span).map(|parent| parent.0)).collect();
        assert_eq!(parents, [None, Some(0), Some(1), Some(0), None]);
    }

    #[test]
    fn spans_that_overlap_without_nesting_share_no_time() {
        let trace = trace_of(&[(1, 0, 10_000, "a"), (1, 5_000, 15_000, "b"), (1, 18_000, 10_000, "c")]);
        assert_eq!(selves(&trace), [5_000, 13_000, 10_000]);
        let nesting = Nesting::of(&trace);
        assert!(trace.spans.ids().all(|span| nesting.parent(span).is_none()));
        assert_eq!(nesting.overruns(), 2);
    }

    #[test]
    fn an_end_that_was_rounded_up_does_not_leave_its_parent() {
        let trace = trace_of(&[(1, 0, 10_000, "a"), (1, 4_000, 6_400, "b")]);
        assert_eq!(Nesting::of(&trace).parent(SpanId(1)), Some(SpanId(0)));
        assert_eq!(Nesting::of(&trace).overruns(), 0);
        assert_eq!(selves(&trace), [4_000, 6_400]);
    }

    #[test]
    fn asynchronous_spans_belong_to_no_thread() {
        let trace = with_async(trace_of(&[(1, 0, 10, "a")]), &[(0, 500, "request"), (5, 500, "request")]);
        assert_eq!(selves(&trace), [10, 0, 0]);
        let nesting = Nesting::of(&trace);
        assert_eq!(nesting.tracks().filter(|(track, _)| nesting.is_async(*track)).count(), 1);
        assert_eq!(nesting.parent(SpanId(2)), None);
    }

    #[test]
    fn a_row_of_no_thread_holds_asynchronous_spans() {
        let mut trace = trace_of(&[(1, 0, 10, "a")]);
        let name = trace.strings.intern("row");
        let track = trace.tracks.add(Track { key: TrackKey::Text(name), name, ..blank() });
        trace.spans.push(SpanRow { start_ns: 0, dur_ns: 3, name, track, category: 0, offset: 0 });
        assert_eq!(selves(&trace), [10, 0]);
    }

    #[test]
    fn the_span_around_a_whole_recording_is_no_work() {
        let mut trace = trace_of(&[(1, 0, 100, "PyTorch Profiler (0)"), (2, 10, 20, "a")]);
        trace.spans.category[0] = trace.category(AROUND_ALL, CategoryKind::Other);
        let nesting = Nesting::of(&trace);
        assert_eq!(nesting.tracks().map(|(_, spans)| spans.to_vec()).collect::<Vec<_>>(), [[SpanId(1)]]);
    }

    #[test]
    fn a_thread_without_a_number_is_a_thread() {
        let mut trace = trace_of(&[]);
        let key = TrackKey::Text(trace.strings.intern("main"));
        let track = trace.tracks.add(Track { key, name: trace.strings.intern("main thread"), ..blank() });
        let name = trace.strings.intern("a");
        trace.spans.push(SpanRow { start_ns: 0, dur_ns: 3, name, track, category: 0, offset: 0 });
        assert_eq!(selves(&trace), [3]);
    }

    fn blank() -> Track {
        let (key, name) = (TrackKey::Number(0), rankscope_trace::StrId::EMPTY);
        Track { kind: TrackKind::Thread, parent: None, key, name, label: name, sort_index: None, origin_ns: 0 }
    }

    /// Spans on three threads, as they fall: nested, overlapping, equal, empty.
    pub(in crate::spans) fn any_spans() -> impl Strategy<Value = Vec<(i64, i64, i64, &'static str)>> {
        let name = prop::sample::select(vec!["a", "b", "c", "d"]);
        prop::collection::vec((0..3_i64, 0..60_i64, 0..40_i64, name), 0..40)
    }

    /// Microseconds apart, so that nothing passes for rounding.
    fn apart(spans: Vec<(i64, i64, i64, &'static str)>) -> Vec<(i64, i64, i64, &'static str)> {
        spans.into_iter().map(|(thread, start, dur, name)| (thread, start * 2_000, dur * 2_000, name)).collect()
    }

    proptest! {
        #[test]
        fn self_times_of_a_thread_add_up_to_what_its_spans_cover(spans in any_spans()) {
            let trace = trace_of(&spans);
            let selves = selves(&trace);
            for thread in 0..3 {
                let own = || spans.iter().zip(&selves).filter(|(span, _)| span.0 == thread);
                let covered = (0..100).filter(|at| own().any(|((_, start, dur, _), _)| (*start..start + dur).contains(at))).count();
                prop_assert_eq!(own().map(|(_, own)| *own).sum::<i64>(), covered as i64);
            }
        }

        #[test]
        fn own_times_are_all_that_an_untimed_nesting_lacks(spans in any_spans()) {
            let trace = trace_of(&spans);
            let (timed, untimed) = (Nesting::of(&trace), Nesting::untimed(&trace));
            prop_assert!(trace.spans.ids().all(|span| untimed.self_ns(span) == 0));
            prop_assert_eq!(format!("{untimed:?}"), format!("{:?}", Nesting { self_ns: Vec::new(), ..timed }));
        }

        #[test]
        fn each_instant_is_of_the_span_that_began_last(spans in any_spans()) {
            let trace = trace_of(&spans);
            let mut expected = vec![0; spans.len()];
            for (thread, at) in (0..3).flat_map(|thread| (0..100).map(move |at| (thread, at))) {
                let open = |(_, (own, start, dur, _)): &(usize, &(i64, i64, i64, &str))| *own == thread && (*start..start + dur).contains(&at);
                // Of those that begin together the shortest is the innermost, and of equal ones the later in the file.
                let last = spans.iter().enumerate().filter(open).max_by_key(|(place, (_, start, dur, _))| (*start, Reverse(*dur), *place));
                if let Some((place, _)) = last {
                    expected[place] += 1;
                }
            }
            prop_assert_eq!(selves(&trace), expected);
        }

        #[test]
        fn a_parent_is_the_innermost_span_around(spans in any_spans()) {
            let spans = apart(spans);
            let trace = trace_of(&spans);
            let nesting = Nesting::of(&trace);
            for (place, (thread, start, dur, _)) in spans.iter().enumerate() {
                let before = |other: usize| (spans[other].1, Reverse(spans[other].2), other) < (*start, Reverse(*dur), place);
                // One that ended when this one began is not open any more, however short both are.
                let around = (0..spans.len()).filter(|&other| {
                    let (own, from, long, _) = spans[other];
                    own == *thread && before(other) && from + long > *start && from + long >= start + dur
                });
                let expected = around.max_by_key(|&other| (spans[other].1, Reverse(spans[other].2), other));
                let parent = nesting.parent(SpanId(place as u32)).map(|parent| parent.0 as usize);
                prop_assert_eq!(parent, expected, "span {}", place);
            }
        }
    }
}
