//! Spans as call stacks, added up: what flame graphs and pprof draw.
//!
//! A span is a frame below the span it began in. Its self time is of its stack, so that all stacks of a thread add up to what
//! its spans cover. Asynchronous spans have no self time and are in no stack.

use rankscope_trace::{StrId, Strings};
use rustc_hash::FxHashMap;

use super::parts::thread_label;
use super::{By, Selection, SpansOf};

/// Frames of a stack at most; deeper spans count as time of the last one. A recursion that nothing bounds would otherwise make a
/// file that grows with the square of its depth.
const FRAMES_MAX: u32 = 1_024;

/// One stack, by its last frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The stack without its last frame; none for the outermost.
    pub below: Option<usize>,
    /// The last frame.
    pub frame: StrId,
    /// Frames in all.
    depth: u32,
    /// Spans that are its last frame.
    pub count: u64,
    /// Their time that is no other span's, in nanoseconds.
    pub self_ns: i64,
}

/// Every stack that occurs, each after the one it stands on.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// Texts of the frames.
    pub frames: Strings,
    /// The stacks; `below` is an index into these.
    pub list: Vec<Stack>,
    /// Spans that lie deeper than a stack goes, and count as time of its last frame.
    pub deeper: u64,
    found: FxHashMap<(Option<usize>, StrId), usize>,
}

impl Stacks {
    /// Adds up the stacks of `traces`. By thread or process, that one is the outermost frame.
    pub fn of(traces: &[SpansOf<'_>], by: By, selection: Selection<'_>) -> Self {
        let mut stacks = Self::default();
        for of in traces {
            stacks.add(of, by, selection);
        }
        stacks
    }

    fn add(&mut self, of: &SpansOf<'_>, by: By, selection: Selection<'_>) {
        // The stack of each span; a span comes after the one it began in.
        let mut stack_of = vec![0_usize; of.trace.spans.len()];
        for (track, spans) in of.nesting.tracks().filter(|(track, _)| !of.nesting.is_async(*track)) {
            let thread = thread_label(of.trace, track);
            if !(selection.thread)(&thread) {
                continue;
            }
            let root = match by {
                By::Name => None,
                By::Process => Some(self.push(None, of.process)),
                By::Thread => Some(self.push(None, &format!("{}: {thread}", of.process))),
            };
            let mut known: FxHashMap<StrId, StrId> = FxHashMap::default();
            for span in spans {
                let name = of.trace.spans.name[span.0 as usize];
                let frame = *known.entry(name).or_insert_with(|| self.frames.intern(of.trace.strings.text(name)));
                let below = of.nesting.parent(*span).map(|parent| stack_of[parent.0 as usize]).or(root);
                let stack = self.find_or_add(below, frame);
                stack_of[span.0 as usize] = stack;
                self.list[stack].count += 1;
                self.list[stack].self_ns = self.list[stack].self_ns.saturating_add(of.nesting.self_ns(*span));
            }
        }
    }

    fn push(&mut self, below: Option<usize>, text: &str) -> usize {
        let frame = self.frames.intern(text);
        self.find_or_add(below, frame)
    }

    fn find_or_add(&mut self, below: Option<usize>, frame: StrId) -> usize {
        let depth = below.map_or(0, |below| self.list[below].depth) + 1;
        if let Some(below) = below.filter(|_| depth > FRAMES_MAX) {
            self.deeper += 1;
            return below;
        }
        *self.found.entry((below, frame)).or_insert_with(|| {
            self.list.push(Stack { below, frame, depth, count: 0, self_ns: 0 });
            self.list.len() - 1
        })
    }

    /// The frames of the stack at `at`, the outermost first.
    pub fn path(&self, at: usize) -> Vec<&str> {
        let mut path: Vec<&str> = std::iter::successors(Some(at), |at| self.list[*at].below)
            .map(|at| self.frames.text(self.list[at].frame))
            .collect();
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Nesting;
    use super::super::nesting::tests::{any_spans, trace_of, with_async};
    use super::*;

    fn stacks(trace: &rankscope_trace::Trace, by: By) -> Stacks {
        let nesting = Nesting::of(trace);
        Stacks::of(&[SpansOf { process: "p", trace, nesting: &nesting }], by, Selection::ALL)
    }

    fn drawn(stacks: &Stacks) -> Vec<(String, u64, i64)> {
        (0..stacks.list.len()).map(|at| (stacks.path(at).join(";"), stacks.list[at].count, stacks.list[at].self_ns)).collect()
    }

    #[test]
    fn equal_stacks_are_added_up() {
        let trace = trace_of(&[(1, 0, 100, "a"), (1, 10, 20, "b"), (1, 40, 10, "b"), (2, 0, 7, "a")]);
        let trace = with_async(trace, &[(0, 500, "request")]);
        assert_eq!(drawn(&stacks(&trace, By::Name)), [("a".to_owned(), 2, 77), ("a;b".to_owned(), 2, 30)]);
        let by_thread = drawn(&stacks(&trace, By::Thread));
        assert_eq!(by_thread[2], ("p: thread 1;a;b".to_owned(), 2, 30));
        assert_eq!(by_thread[4], ("p: thread 2;a".to_owned(), 1, 7));
    }

    #[test]
    fn a_recursion_without_end_is_cut_and_counted() {
        let deep: Vec<_> = (0..2_000).map(|depth| (1, depth * 5_000, (2_000 - depth) * 10_000, "f")).collect();
        let stacks = stacks(&trace_of(&deep), By::Name);
        assert_eq!(stacks.list.len(), FRAMES_MAX as usize);
        assert_eq!(stacks.deeper, 2_000 - u64::from(FRAMES_MAX));
        assert_eq!(stacks.list.iter().map(|stack| stack.self_ns).sum::<i64>(), 20_000_000);
        assert_eq!(stacks.list.iter().map(|stack| stack.count).sum::<u64>(), 2_000);
    }

    proptest! {
        #[test]
        fn stacks_add_up_to_the_self_times(spans in any_spans()) {
            let trace = trace_of(&spans);
            let nesting = Nesting::of(&trace);
            let stacks = Stacks::of(&[SpansOf { process: "p", trace: &trace, nesting: &nesting }], By::Process, Selection::ALL);
            let all: i64 = trace.spans.ids().map(|span| nesting.self_ns(span)).sum();
            prop_assert_eq!(stacks.list.iter().map(|stack| stack.self_ns).sum::<i64>(), all);
            prop_assert_eq!(stacks.list.iter().map(|stack| stack.count).sum::<u64>() as usize, spans.len());
        }
    }
}
