//! In which order steps, modules and operators launch what is directly in them: operators, modules and kernels.
//!
//! A sequence is one call's: what was launched in it, each child once for as long as nothing else comes between. Calls of one parent that
//! launch the same are one row. Of a long sequence only the beginning is kept by name; two digests say whether two sequences are
//! the same, and whether they are at least of the same things. Where nothing is around a launch, its thread's part of a step is the parent.

use rankscope_trace::{CategoryKind, SpanId, StrId, Trace, TrackId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::Attribution;
use crate::modules::MODULE;
use crate::rows::join_rows;

/// Children that are kept by name.
pub const ORDER_NAMES: usize = 64;

/// Rows that are kept.
pub const ORDER_ROWS: usize = 4_000;

/// All calls of one parent that launched the same in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OrderRow {
    /// The operator, or the module's path with slashes; none of a step's launches that are in neither.
    pub parent: Option<String>,
    /// The first [`ORDER_NAMES`] children in order.
    pub names: Vec<String>,
    /// How many children there are.
    pub length: u64,
    /// A number for the whole order.
    pub order: u64,
    /// A number for what is in it, in whatever order.
    pub set: u64,
    /// How many calls.
    pub count: u64,
}

/// What children are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Parent {
    Span(SpanId),
    /// A thread in the step of this place, where it is in one.
    Thread(TrackId, Option<usize>),
}

/// One call's sequence so far.
#[derive(Default)]
struct Sequence {
    names: Vec<StrId>,
    length: u64,
    order: u64,
    set: u64,
    last: Option<SpanId>,
}

/// The sequences of `trace`: those of most calls first, then the longest; at most [`ORDER_ROWS`].
pub(crate) fn launch_order(trace: &Trace, attribution: &Attribution) -> Vec<OrderRow> {
    let mut calls = Calls::of(trace, attribution);
    let mut launched: Vec<(SpanId, SpanId)> =
        attribution.work.iter().filter_map(|one| Some((one.origin()?, one.work))).collect();
    let begin = |span: SpanId| (trace.spans.start_ns(span), span);
    launched.sort_unstable_by_key(|(origin, work)| (begin(*origin), begin(*work)));
    for (origin, work) in launched {
        calls.add(origin, work);
    }
    calls.rows()
}

struct Calls<'a> {
    trace: &'a Trace,
    attribution: &'a Attribution,
    /// Begin, end of the marks of steps on the host, in order.
    steps: Vec<(i64, i64)>,
    sequences: FxHashMap<Parent, Sequence>,
    /// The innermost operator or module around a span.
    around: FxHashMap<SpanId, Option<SpanId>>,
    digests: FxHashMap<StrId, u64>,
}

impl<'a> Calls<'a> {
    fn of(trace: &'a Trace, attribution: &'a Attribution) -> Self {
        let host = trace.steps.iter().filter(|mark| trace.kind(mark.span) != CategoryKind::GpuUserAnnotation);
        let mut steps: Vec<_> = host.map(|mark| (trace.spans.start_ns(mark.span), trace.spans.end_ns(mark.span))).collect();
        steps.sort_unstable();
        Self {
            trace,
            attribution,
            steps,
            sequences: FxHashMap::default(),
            around: FxHashMap::default(),
            digests: FxHashMap::default(),
        }
    }

    /// Work that was launched at `origin`, and all around it that is new with it.
    fn add(&mut self, origin: SpanId, work: SpanId) {
        let mut child = work;
        let mut inside = if self.is_parent(origin) { Some(origin) } else { self.parent(origin) };
        loop {
            let parent = inside.map_or_else(|| self.thread(origin), Parent::Span);
            let name = self.trace.spans.name[child.0 as usize];
            let digest = self.digest(name);
            let sequence = self.sequences.entry(parent).or_default();
            // What is around it is known, too, as long as nothing else came between.
            if sequence.last == Some(child) {
                return;
            }
            sequence.push(child, name, digest);
            let Some(around) = inside else { return };
            (child, inside) = (around, self.parent(around));
        }
    }

    fn thread(&self, origin: SpanId) -> Parent {
        let at_ns = self.trace.spans.start_ns(origin);
        let before = self.steps.partition_point(|(start, _)| *start <= at_ns);
        let step = before.checked_sub(1).filter(|at| at_ns < self.steps[*at].1);
        Parent::Thread(self.trace.spans.track[origin.0 as usize], step)
    }

    fn is_parent(&self, span: SpanId) -> bool {
        match self.trace.kind(span) {
            CategoryKind::CpuOp => true,
            CategoryKind::PythonFunction => self.name(span).starts_with(MODULE),
            _ => false,
        }
    }

    fn name(&self, span: SpanId) -> &'a str {
        self.trace.strings.text(self.trace.spans.name[span.0 as usize])
    }

    /// The innermost operator or module around `span`; every span is looked at once.
    fn parent(&mut self, span: SpanId) -> Option<SpanId> {
        let (mut way, mut at, mut found) = (Vec::new(), span, None);
        loop {
            if let Some(known) = self.around.get(&at) {
                found = *known;
                break;
            }
            way.push(at);
            let Some(up) = self.attribution.nesting.parent(at) else { break };
            if self.is_parent(up) {
                found = Some(up);
                break;
            }
            at = up;
        }
        way.into_iter().for_each(|below| {
            self.around.insert(below, found);
        });
        found
    }

    fn digest(&mut self, name: StrId) -> u64 {
        let trace = self.trace;
        *self.digests.entry(name).or_insert_with(|| digest(trace.strings.text(name).as_bytes()))
    }

    /// What a parent is called: modules by their path.
    fn called(&mut self, parent: Parent) -> Option<String> {
        let Parent::Span(span) = parent else { return None };
        if self.trace.kind(span) == CategoryKind::CpuOp {
            return Some(self.name(span).to_owned());
        }
        let (mut way, mut at) = (Vec::new(), Some(span));
        while let Some(here) = at {
            if self.trace.kind(here) == CategoryKind::PythonFunction {
                way.push(self.name(here).trim_start_matches(MODULE));
            }
            at = self.parent(here);
        }
        way.reverse();
        Some(way.join("/"))
    }

    fn rows(mut self) -> Vec<OrderRow> {
        let mut rows: FxHashMap<(Option<String>, u64), OrderRow> = FxHashMap::default();
        // One child has one order.
        let sequences: Vec<_> = std::mem::take(&mut self.sequences).into_iter().filter(|(_, own)| own.length > 1).collect();
        for (parent, own) in sequences {
            let parent = self.called(parent);
            let row = rows.entry((parent.clone(), own.order)).or_insert_with(|| OrderRow {
                parent,
                names: own
                    .names
                    .iter()
                    .map(|name| self.trace.strings.text(*name).trim_start_matches(MODULE).to_owned())
                    .collect(),
                length: own.length,
                order: own.order,
                set: own.set,
                count: 0,
            });
            row.count += 1;
        }
        let mut rows: Vec<OrderRow> = rows.into_values().collect();
        sort(&mut rows);
        rows
    }
}

impl Sequence {
    fn push(&mut self, child: SpanId, name: StrId, digest: u64) {
        if self.names.len() < ORDER_NAMES {
            self.names.push(name);
        }
        self.length += 1;
        self.order = (self.order.rotate_left(5) ^ digest).wrapping_mul(PRIME);
        self.set = self.set.wrapping_add(digest);
        self.last = Some(child);
    }
}

/// The prime of FNV-1a, of 64 bits.
const PRIME: u64 = 0x0100_0000_01b3;

/// FNV-1a: the same number in every process and version, as reports are compared by it.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

/// Adds the rows of another stretch of time.
pub(crate) fn join(rows: &mut Vec<OrderRow>, later: Vec<OrderRow>) {
    join_rows(rows, later, |row| (row.parent.clone(), row.order), |row, more| row.count += more.count);
    sort(rows);
}

fn sort(rows: &mut Vec<OrderRow>) {
    let key = |row: &OrderRow| std::cmp::Reverse((row.count, row.length));
    rows.sort_by(|a, b| (key(a), &a.parent, a.order).cmp(&(key(b), &b.parent, b.order)));
    rows.truncate(ORDER_ROWS);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    fn told(made: &Made) -> Vec<(Option<String>, Vec<String>, u64)> {
        let mut rows = launch_order(&made.trace, &Attribution::of(&made.trace));
        rows.sort_by(|a, b| a.parent.cmp(&b.parent));
        rows.into_iter().map(|row| (row.parent, row.names, row.count)).collect()
    }

    /// Calls of `names`, one after the other, each of which launches a kernel of its own.
    fn called(made: &mut Made, names: &[&str], from_us: i64) {
        for (at, name) in (0..).zip(names) {
            let (start_us, id) = (from_us + 10 * at, (from_us + 10 * at) as u64);
            made.operator(name, start_us, 8);
            made.launch("cudaLaunchKernel", start_us + 1, 2, id);
            made.kernel(&format!("k_{name}"), 7, start_us + 5, 3, id);
        }
    }

    fn texts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn operators_and_modules_have_the_order_of_what_is_directly_in_them() {
        let mut made = Made::default();
        made.frame("nn.Module: Net_0", 0, 100);
        made.operator("outer", 10, 30);
        called(&mut made, &["a", "b"], 11);
        called(&mut made, &["c"], 50);
        let net = Some("Net_0".to_owned());
        assert_eq!(told(&made), [(net, texts(&["outer", "c"]), 1), (Some("outer".to_owned()), texts(&["a", "b"]), 1)]);
    }

    #[test]
    fn another_order_of_the_same_has_the_same_set() {
        let mut made = Made::default();
        for (from_us, names) in [(0, ["a", "b", "c"]), (100, ["a", "b", "c"]), (200, ["a", "c", "b"])] {
            made.operator("outer", from_us, 90);
            called(&mut made, &names, from_us + 1);
        }
        let rows = launch_order(&made.trace, &Attribution::of(&made.trace));
        let outer: Vec<&OrderRow> = rows.iter().filter(|row| row.parent.is_some()).collect();
        assert_eq!(outer.iter().map(|row| (row.count, row.length)).collect::<Vec<_>>(), [(2, 3), (1, 3)]);
        assert!(outer[0].set == outer[1].set && outer[0].order != outer[1].order);
    }

    #[test]
    fn a_long_sequence_is_cut_by_name_and_counted_whole() {
        let mut made = Made::default();
        made.operator("outer", 0, 2_000);
        called(&mut made, &["a"; 100], 1);
        let rows = launch_order(&made.trace, &Attribution::of(&made.trace));
        assert_eq!((rows.len(), rows[0].names.len(), rows[0].length), (1, ORDER_NAMES, 100));
    }
}
