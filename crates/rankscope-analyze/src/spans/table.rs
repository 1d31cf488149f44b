//! Rows of figures by name: the table that `rankscope spans` prints.
//!
//! Everything is exact: sums are integer nanoseconds, and a percentile is one of the lengths, by nearest rank: the smallest
//! that at least so many percent of the lengths do not exceed.

use std::cmp::Reverse;

use rankscope_trace::{SpanId, StrId, Strings, Trace, TrackId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::parts::thread_label;
use super::{Nesting, Selection};

/// One trace with what is known of its spans.
#[derive(Clone, Copy, Debug)]
pub struct SpansOf<'a> {
    /// What the process is called.
    pub process: &'a str,
    /// Its trace.
    pub trace: &'a Trace,
    /// How its spans lie in each other.
    pub nesting: &'a Nesting,
}

/// What has rows, or stacks, of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Each name, over all threads and processes.
    #[default]
    Name,
    /// Each name on each thread.
    Thread,
    /// Each name in each process.
    Process,
}

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Most self time. Asynchronous spans, which have none, by their total.
    #[default]
    Own,
    /// Most time in all.
    Total,
    /// Most spans.
    Count,
    /// The longest single span.
    Max,
    /// The highest 99th percentile.
    P99,
    /// By name.
    Name,
}

/// The figures of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanStats {
    /// The name.
    pub name: String,
    /// The category, as the file has it.
    pub category: String,
    /// The process, where rows are of one.
    pub process: Option<String>,
    /// The thread, where rows are of one; none for asynchronous spans.
    pub thread: Option<String>,
    /// How many there are.
    pub count: u64,
    /// How many of them have no end in their file.
    pub unfinished: u64,
    /// Sum of their lengths, in nanoseconds.
    pub total_ns: i64,
    /// Sum of what no other span took, in nanoseconds; none for asynchronous spans.
    pub self_ns: Option<i64>,
    /// Half of them are no longer than this.
    pub p50_ns: i64,
    /// 99 % of them are no longer than this.
    pub p99_ns: i64,
    /// The longest.
    pub max_ns: i64,
    /// On how many threads they ran; none for asynchronous spans, which run on no one's.
    pub threads: Option<u64>,
}

/// Rows in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanTable {
    /// Spans of threads.
    pub spans: Vec<SpanStats>,
    /// Asynchronous spans.
    pub asynchronous: Vec<SpanStats>,
}

impl SpanTable {
    /// The figures of all of `traces`.
    pub fn of(traces: &[SpansOf<'_>], by: By, order: Order, selection: Selection<'_>) -> Self {
        let mut groups = Groups::default();
        for of in traces {
            groups.add(of, by, selection);
        }
        let mut table = Self::default();
        for (key, group) in groups.keys.iter().zip(groups.list) {
            let rows = if key.is_async { &mut table.asynchronous } else { &mut table.spans };
            rows.push(group.stats(key, &groups.strings));
        }
        table.spans.sort_by(|a, b| order.key(a).cmp(&order.key(b)));
        table.asynchronous.sort_by(|a, b| order.key(a).cmp(&order.key(b)));
        table
    }
}

impl Order {
    /// Ascending in this, rows are in order; equal ones go by name and place.
    fn key(self, row: &SpanStats) -> impl Ord + use<'_> {
        let figure = match self {
            Self::Own => row.self_ns.unwrap_or(row.total_ns),
            Self::Total => row.total_ns,
            Self::Count => i64::try_from(row.count).unwrap_or(i64::MAX),
            Self::Max => row.max_ns,
            Self::P99 => row.p99_ns,
            Self::Name => 0,
        };
        (Reverse(figure), &row.name, &row.category, &row.process, &row.thread)
    }
}

/// What a row is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    name: StrId,
    category: StrId,
    is_async: bool,
    /// Process and thread; empty where rows are not of one.
    place: (StrId, StrId),
}

#[derive(Default)]
struct Groups {
    strings: Strings,
    keys: Vec<Key>,
    list: Vec<Group>,
    found: FxHashMap<Key, usize>,
}

#[derive(Default)]
struct Group {
    lengths_ns: Vec<i64>,
    total_ns: i64,
    self_ns: i64,
    unfinished: u64,
    threads: u64,
}

impl Groups {
    fn add(&mut self, of: &SpansOf<'_>, by: By, selection: Selection<'_>) {
        let unfinished: FxHashSet<SpanId> = of.trace.unfinished.iter().copied().collect();
        for (track, spans) in of.nesting.tracks() {
            let thread = thread_label(of.trace, track);
            let is_async = of.nesting.is_async(track);
            if !(selection.thread)(&thread) {
                continue;
            }
            let place = self.place(of.process, &thread, is_async, by);
            // What a name and category of this trace are here, on this track.
            let mut known: FxHashMap<(StrId, u16), Option<usize>> = FxHashMap::default();
            for span in spans {
                let sort = (of.trace.spans.name[span.0 as usize], of.trace.spans.category[span.0 as usize]);
                let group = *known.entry(sort).or_insert_with(|| {
                    let wanted = (selection.name)(of.trace.strings.text(sort.0));
                    wanted.then(|| self.group(of.trace, sort, is_async, place))
                });
                let Some(group) = group else { continue };
                let group = &mut self.list[group];
                let length_ns = of.trace.spans.dur_ns[span.0 as usize];
                group.lengths_ns.push(length_ns);
                group.total_ns = group.total_ns.saturating_add(length_ns);
                group.self_ns = group.self_ns.saturating_add(of.nesting.self_ns(*span));
                group.unfinished += u64::from(!unfinished.is_empty() && unfinished.contains(span));
            }
            let here: FxHashSet<usize> = known.into_values().flatten().collect();
            here.into_iter().for_each(|group| self.list[group].threads += 1);
        }
    }

    fn place(&mut self, process: &str, thread: &str, is_async: bool, by: By) -> (StrId, StrId) {
        let thread = if is_async { "" } else { thread };
        match by {
            By::Name => (StrId::EMPTY, StrId::EMPTY),
            By::Thread => (self.strings.intern(process), self.strings.intern(thread)),
            By::Process => (self.strings.intern(process), StrId::EMPTY),
        }
    }

    fn group(&mut self, trace: &Trace, (name, category): (StrId, u16), is_async: bool, place: (StrId, StrId)) -> usize {
        let category = trace.strings.text(trace.categories[usize::from(category)].name);
        let [name, category] = [row_name(trace.strings.text(name)), category].map(|text| self.strings.intern(text));
        let key = Key { name, category, is_async, place };
        *self.found.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.list.push(Group::default());
            self.list.len() - 1
        })
    }
}

/// The row of a span of this name: every step of a training loop has a number in its name, and all of them are one row.
fn row_name(name: &str) -> &str {
    const STEP: &str = "ProfilerStep";
    let number = name.strip_prefix(STEP).and_then(|rest| rest.strip_prefix('#'));
    if number.is_some_and(|number| number.trim().parse::<u64>().is_ok()) { STEP } else { name }
}

impl Group {
    fn stats(mut self, key: &Key, strings: &Strings) -> SpanStats {
        let text = |id: StrId| (!id.is_empty()).then(|| strings.text(id).to_owned());
        SpanStats {
            name: strings.text(key.name).to_owned(),
            category: strings.text(key.category).to_owned(),
            process: text(key.place.0),
            thread: text(key.place.1),
            count: self.lengths_ns.len() as u64,
            unfinished: self.unfinished,
            total_ns: self.total_ns,
            self_ns: (!key.is_async).then_some(self.self_ns),
            p50_ns: percentile(&mut self.lengths_ns, 50),
            p99_ns: percentile(&mut self.lengths_ns, 99),
            max_ns: self.lengths_ns.iter().copied().max().unwrap_or(0),
            threads: (!key.is_async).then_some(self.threads),
        }
    }
}

/// The smallest of `lengths` that `percent` of them do not exceed.
fn percentile(lengths: &mut [i64], percent: usize) -> i64 {
    match (lengths.len() * percent).div_ceil(100).checked_sub(1) {
        Some(at) => *lengths.select_nth_unstable(at).1,
        None => 0,
    }
}

/// Threads and asynchronous rows, for headings: how many threads have spans, how many spans those hold, and how many spans are
/// asynchronous.
pub fn counts(nesting: &Nesting) -> (u64, u64, u64) {
    let is_async = |(track, _): &(TrackId, &[SpanId])| nesting.is_async(*track);
    let threads = nesting.tracks().filter(|track| !is_async(track)).count() as u64;
    let asynchronous: usize = nesting.tracks().filter(is_async).map(|(_, spans)| spans.len()).sum();
    let all: usize = nesting.tracks().map(|(_, spans)| spans.len()).sum();
    (threads, (all - asynchronous) as u64, asynchronous as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::nesting::tests::{any_spans, trace_of, with_async};
    use super::*;

    fn table(trace: &Trace, by: By, order: Order) -> SpanTable {
        let nesting = Nesting::of(trace);
        SpanTable::of(&[SpansOf { process: "p", trace, nesting: &nesting }], by, order, Selection::ALL)
    }

    fn names(rows: &[SpanStats]) -> Vec<&str> {
        rows.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        let mut lengths: Vec<i64> = (1..=100).rev().collect();
        assert_eq!([50, 99, 100].map(|percent| percentile(&mut lengths, percent)), [50, 99, 100]);
        assert_eq!([1, 50, 99].map(|percent| percentile(&mut [7], percent)), [7, 7, 7]);
        assert_eq!(percentile(&mut [1, 2, 3], 50), 2);
        assert_eq!(percentile(&mut [1, 2], 50), 1);
    }

    #[test]
    fn rows_are_by_name_and_say_on_how_many_threads() {
        let trace = trace_of(&[(1, 0, 100, "a"), (1, 10, 20, "b"), (2, 0, 30, "b")]);
        let rows = table(&trace, By::Name, Order::Own).spans;
        assert_eq!(names(&rows), ["a", "b"]);
        let b = &rows[1];
        assert_eq!((b.count, b.total_ns, b.self_ns, b.p50_ns, b.max_ns, b.threads), (2, 50, Some(50), 20, 30, Some(2)));
        assert_eq!(rows[0].self_ns, Some(80));
        let rows = table(&trace, By::Thread, Order::Name).spans;
        let places: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.thread.as_deref().unwrap())).collect();
        assert_eq!(places, [("a", "thread 1"), ("b", "thread 1"), ("b", "thread 2")]);
    }

    #[test]
    fn the_steps_of_a_training_loop_are_one_row() {
        let steps = [(1, 0, 10, "ProfilerStep#0"), (1, 10, 30, "ProfilerStep#1"), (2, 0, 5, "ProfilerStep#0")];
        let rows = table(&trace_of(&[&steps[..], &[(2, 9, 1, "ProfilerStep#x")]].concat()), By::Name, Order::Own).spans;
        assert_eq!(names(&rows), ["ProfilerStep", "ProfilerStep#x"]);
        assert_eq!((rows[0].count, rows[0].total_ns, rows[0].threads), (3, 45, Some(2)));
    }

    #[test]
    fn names_that_share_a_text_but_no_category_have_rows_of_their_own() {
        let mut trace = trace_of(&[(1, 0, 10, "a"), (1, 20, 10, "a")]);
        trace.spans.category[1] = trace.category("cpu_op", rankscope_trace::CategoryKind::CpuOp);
        assert_eq!(table(&trace, By::Name, Order::Own).spans.len(), 2);
    }

    #[test]
    fn asynchronous_spans_have_rows_of_their_own_and_no_self_time() {
        let mut trace = with_async(trace_of(&[(1, 0, 10, "poll")]), &[(0, 500, "request"), (5, 700, "request")]);
        trace.unfinished.push(SpanId(2));
        let table = table(&trace, By::Thread, Order::Own);
        assert_eq!(names(&table.spans), ["poll"]);
        let [request] = &table.asynchronous[..] else { panic!("{table:?}") };
        assert_eq!((request.count, request.total_ns, request.self_ns, request.threads), (2, 1200, None, None));
        assert_eq!((request.unfinished, request.thread.as_deref()), (1, None));
    }

    #[test]
    fn what_is_not_selected_leaves_the_self_times_alone() {
        let trace = trace_of(&[(1, 0, 100, "a"), (1, 10, 20, "b"), (2, 0, 30, "a")]);
        let nesting = Nesting::of(&trace);
        let of = [SpansOf { process: "p", trace: &trace, nesting: &nesting }];
        let selection = Selection { thread: &|thread| thread.ends_with('1'), name: &|name| name == "a" };
        let rows = SpanTable::of(&of, By::Name, Order::Own, selection).spans;
        assert_eq!(rows.iter().map(|row| (row.count, row.self_ns)).collect::<Vec<_>>(), [(1, Some(80))]);
    }

    proptest! {
        #[test]
        fn figures_are_those_of_a_slow_count(spans in any_spans(), order in 0..6_usize) {
            let order = [Order::Own, Order::Total, Order::Count, Order::Max, Order::P99, Order::Name][order];
            let trace = trace_of(&spans);
            let rows = table(&trace, By::Name, order).spans;
            for row in &rows {
                let mut own: Vec<_> = spans.iter().filter(|span| span.3 == row.name).map(|span| span.2).collect();
                own.sort_unstable();
                // The smallest length that enough of them do not exceed.
                let rank = |percent: usize| own.iter().copied().find(|most| {
                    own.iter().filter(|length| *length <= most).count() * 100 >= percent * own.len()
                });
                prop_assert_eq!(row.count as usize, own.len());
                prop_assert_eq!(row.total_ns, own.iter().sum::<i64>());
                prop_assert_eq!((Some(row.p50_ns), Some(row.p99_ns)), (rank(50), rank(99)));
                prop_assert_eq!(Some(&row.max_ns), own.last());
            }
            prop_assert_eq!(rows.iter().map(|row| row.count).sum::<u64>() as usize, spans.len());
            prop_assert!(rows.is_sorted_by(|a, b| order.key(a) <= order.key(b)));
        }
    }
}
