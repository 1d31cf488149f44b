//! The gaps in which no device of the rank worked: long ones one by one, short ones by their cause, and what the host did meanwhile.
//!
//! The gaps and causes are those of [`crate::idle`], so all rows add up to it. The host's thread is the one that launched the work
//! which ends the gap; what it did is what it spent most of the gap in itself, calls and frames within not counted. A gap whose launch
//! is not recorded has no such thread, and nothing is said.

use rankscope_trace::{CategoryKind, SpanId, StrId, Trace, TrackId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::idle::{Gap, gaps, pieces};
use crate::inside::Inside;
use crate::{Attribution, IdleCause};

/// Gaps longer than this are macro gaps, in nanoseconds.
pub const MICRO_GAP_NS_MAX: i64 = 100_000;

/// So many macro gaps are rows of their own, the longest; of the others there is a row for each cause.
pub const MACRO_GAPS: usize = 1_000;

/// A gap, or all gaps of one class and cause that are no rows of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleGapRow {
    /// Whether it is longer than [`MICRO_GAP_NS_MAX`].
    pub is_macro: bool,
    /// Why.
    pub cause: IdleCause,
    /// How many.
    pub count: u64,
    /// Their length in all, in nanoseconds.
    pub sum_ns: i64,
    /// The longest.
    pub max_ns: i64,
    /// Of one gap: where it lies.
    pub gap: Option<OneGap>,
    /// What the host's thread did for most of the time.
    pub host: Option<HostDoing>,
}

/// Where one gap lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneGap {
    /// Its start, in nanoseconds since the start of the trace.
    pub at_ns: i64,
    /// The work that ended before it.
    pub before: String,
    /// The work that ends it.
    pub after: String,
    /// The annotation, but for steps, that the host's thread was in for most of it; the innermost of those.
    pub annotation: Option<String>,
}

/// What a thread did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDoing {
    /// The operator, call, frame or annotation; none where it was in nothing that is recorded.
    pub name: Option<String>,
    /// How much of the gaps it took, in nanoseconds.
    pub ns: i64,
}

/// The gaps of `trace`: macro gaps by length, then sums.
pub fn idle_gaps(trace: &Trace, attribution: &Attribution) -> Vec<IdleGapRow> {
    let work = pieces(trace, attribution);
    let mut macros: Vec<Gap> = Vec::new();
    let mut sums = Sums { host: Host::of(trace, attribution), rows: FxHashMap::default() };
    for gap in gaps(&work) {
        if gap.length_ns() > MICRO_GAP_NS_MAX {
            macros.push(gap);
        } else {
            sums.add(&gap);
        }
    }
    macros.sort_by_key(|gap| (std::cmp::Reverse(gap.length_ns()), gap.start_ns));
    let others = macros.split_off(macros.len().min(MACRO_GAPS));
    others.iter().for_each(|gap| sums.add(gap));
    let start_ns = trace.bounds_ns().map_or(0, |(start_ns, _)| start_ns);
    let mut rows: Vec<IdleGapRow> = macros.iter().map(|gap| sums.host.row(start_ns, gap)).collect();
    rows.extend(sums.rows());
    rows
}

/// Time by what a thread did; what is recorded of none is there, too.
type Doings = FxHashMap<Option<StrId>, i64>;

/// Gaps that are no rows of their own.
struct Sums<'a> {
    host: Host<'a>,
    rows: FxHashMap<(bool, IdleCause), (IdleGapRow, Doings)>,
}

impl Sums<'_> {
    fn add(&mut self, gap: &Gap) {
        let (is_macro, length_ns) = (gap.length_ns() > MICRO_GAP_NS_MAX, gap.length_ns());
        let empty = || {
            let row = IdleGapRow { is_macro, cause: gap.cause, count: 0, sum_ns: 0, max_ns: 0, gap: None, host: None };
            (row, Doings::default())
        };
        let (row, doings) = self.rows.entry((is_macro, gap.cause)).or_insert_with(empty);
        row.count += 1;
        row.sum_ns = row.sum_ns.saturating_add(length_ns);
        row.max_ns = row.max_ns.max(length_ns);
        self.host.doings(gap, doings);
    }

    fn rows(&self) -> Vec<IdleGapRow> {
        let mut rows: Vec<IdleGapRow> = Vec::new();
        for (row, doings) in self.rows.values() {
            rows.push(IdleGapRow { host: self.host.most(doings), ..row.clone() });
        }
        rows.sort_by_key(|row| (std::cmp::Reverse((row.is_macro, row.sum_ns)), row.cause));
        rows
    }
}

/// The threads that launch.
struct Host<'a> {
    trace: &'a Trace,
    attribution: &'a Attribution,
    inside: Inside<'a>,
}

impl<'a> Host<'a> {
    fn of(trace: &'a Trace, attribution: &'a Attribution) -> Self {
        Self { trace, attribution, inside: Inside::of(trace, &attribution.nesting) }
    }

    fn name(&self, span: SpanId) -> StrId {
        self.trace.spans.name[span.0 as usize]
    }

    fn row(&self, start_ns: i64, gap: &Gap) -> IdleGapRow {
        let mut doings = Doings::default();
        let annotation = self.doings(gap, &mut doings).and_then(|track| self.annotation(track, gap));
        let text = |at: usize| self.trace.name(self.attribution.work[at].work).to_owned();
        IdleGapRow {
            is_macro: true,
            cause: gap.cause,
            count: 1,
            sum_ns: gap.length_ns(),
            max_ns: gap.length_ns(),
            gap: Some(OneGap {
                at_ns: gap.start_ns.saturating_sub(start_ns),
                before: text(gap.before.at),
                after: text(gap.after.at),
                annotation,
            }),
            host: self.most(&doings),
        }
    }

    /// Adds to `doings` what the thread that launched the work after `gap` did in it, and returns that thread.
    fn doings(&self, gap: &Gap, doings: &mut Doings) -> Option<TrackId> {
        let launch = self.attribution.work[gap.after.at].launch?;
        let track = self.trace.spans.row(launch).track;
        // Spans that have begun, the innermost on top.
        let mut open: Vec<SpanId> = self.inside.innermost(track, gap.start_ns).into_iter().collect();
        open = open.first().map_or(open.clone(), |top| self.inside.outwards(*top).collect());
        open.reverse();
        let mut now_ns = gap.start_ns;
        for span in self.inside.beginning_in(track, gap.start_ns, gap.end_ns) {
            self.spend(doings, &mut open, &mut now_ns, self.trace.spans.start_ns(*span));
            open.push(*span);
        }
        self.spend(doings, &mut open, &mut now_ns, gap.end_ns);
        Some(track)
    }

    /// Gives the time from `now_ns` to `to_ns` to the spans on top.
    fn spend(&self, doings: &mut Doings, open: &mut Vec<SpanId>, now_ns: &mut i64, to_ns: i64) {
        while *now_ns < to_ns {
            let top = open.last().copied();
            let until_ns = top.map_or(to_ns, |top| self.trace.spans.end_ns(top).min(to_ns));
            if until_ns > *now_ns {
                let sum = doings.entry(top.map(|top| self.name(top))).or_default();
                *sum = sum.saturating_add(until_ns.saturating_sub(*now_ns));
                *now_ns = until_ns;
            }
            if *now_ns < to_ns {
                open.pop();
            }
        }
    }

    fn most(&self, doings: &Doings) -> Option<HostDoing> {
        let name = |id: &Option<StrId>| id.map(|id| self.trace.strings.text(id));
        let (id, ns) = doings.iter().max_by(|a, b| (a.1, name(b.0)).cmp(&(b.1, name(a.0))))?;
        Some(HostDoing { name: name(id).map(str::to_owned), ns: *ns })
    }

    /// The innermost annotation of `track` that covers more than half of `gap`.
    fn annotation(&self, track: TrackId, gap: &Gap) -> Option<String> {
        let covers = |span: &SpanId| {
            let spans = &self.trace.spans;
            let shared_ns = spans.end_ns(*span).min(gap.end_ns).saturating_sub(spans.start_ns(*span).max(gap.start_ns));
            let is_annotation = self.trace.kind(*span) == CategoryKind::UserAnnotation;
            is_annotation && shared_ns > gap.length_ns() / 2 && !self.trace.name(*span).starts_with("ProfilerStep#")
        };
        let begun = self.inside.beginning_in(track, gap.start_ns, gap.end_ns).iter().rev().copied();
        let before = self.inside.innermost(track, gap.start_ns).into_iter().flat_map(|span| self.inside.outwards(span));
        begun.chain(before).find(covers).map(|span| self.trace.name(span).to_owned())
    }
}

/// Adds the rows of a later export of the same rank. Single gaps stay; times since the start of the trace are those of each export.
pub(crate) fn join(rows: &mut Vec<IdleGapRow>, later: Vec<IdleGapRow>) {
    for more in later {
        let same = rows.iter_mut().find(|row| row.gap.is_none() && more.gap.is_none() && row.is_sum_of(&more));
        match same {
            Some(row) => {
                row.count += more.count;
                row.sum_ns = row.sum_ns.saturating_add(more.sum_ns);
                row.max_ns = row.max_ns.max(more.max_ns);
                // What took most of each need not have taken most of both.
                row.host = row
                    .host
                    .take()
                    .zip(more.host)
                    .filter(|(own, more)| own.name == more.name)
                    .map(|(own, more)| HostDoing { name: own.name, ns: own.ns.saturating_add(more.ns) });
            }
            None => rows.push(more),
        }
    }
    rows.sort_by_key(|row| {
        let place = row.gap.as_ref().map(|gap| gap.at_ns);
        (row.gap.is_none(), std::cmp::Reverse((row.is_macro, row.sum_ns)), row.cause, place)
    });
}

impl IdleGapRow {
    fn is_sum_of(&self, other: &Self) -> bool {
        (self.is_macro, self.cause) == (other.is_macro, other.cause)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::made::Made;

    #[test]
    fn a_macro_gap_says_what_the_thread_that_launched_did_itself() {
        let mut made = Made::default();
        made.launch("cudaLaunchKernel", 0, 2, 1);
        made.annotation("ProfilerStep#1", 0, 1_000);
        made.annotation("enumerate(DataLoader)", 20, 500);
        made.operator("aten::stack", 30, 400);
        made.operator("aten::copy_", 40, 100);
        made.launch("cudaLaunchKernel", 600, 2, 2);
        made.kernel("a", 7, 5, 15, 1);
        made.kernel("b", 7, 620, 10, 2);
        made.kernel("c", 7, 640, 10, 0);
        let rows = idle_gaps(&made.trace, &Attribution::of(&made.trace));
        let gap = OneGap {
            at_ns: 20_000,
            before: "a".to_owned(),
            after: "b".to_owned(),
            annotation: Some("enumerate(DataLoader)".to_owned()),
        };
        // 400 us of the operator, less 100 us of the one that it calls.
        let host = Some(HostDoing { name: Some("aten::stack".to_owned()), ns: 300_000 });
        let whole = IdleGapRow {
            is_macro: true,
            cause: IdleCause::HostWait,
            count: 1,
            sum_ns: 600_000,
            max_ns: 600_000,
            gap: Some(gap),
            host,
        };
        let micro = IdleGapRow {
            is_macro: false,
            cause: IdleCause::Other,
            count: 1,
            sum_ns: 10_000,
            max_ns: 10_000,
            gap: None,
            host: None,
        };
        assert_eq!(rows, [whole, micro]);
    }

    proptest! {
        #[test]
        fn rows_add_up_to_the_idle_time(
            work in prop::collection::vec((0i64..3_000, 1i64..200, 0i64..3_000), 1..40),
            operators in prop::collection::vec((0i64..3_000, 1i64..400), 0..30),
        ) {
            let mut made = Made::default();
            for (at, (start_us, dur_us, launch_us)) in (1..).zip(&work) {
                made.kernel("kernel", at % 3, *start_us, *dur_us, at as u64);
                made.launch("launch", *launch_us, 1, at as u64);
            }
            for (start_us, dur_us) in operators {
                made.operator("operator", start_us, dur_us);
            }
            let attribution = Attribution::of(&made.trace);
            let (rows, whole) = (idle_gaps(&made.trace, &attribution), crate::idle(&made.trace, &attribution).whole);
            let sum = |cause: IdleCause| rows.iter().filter(|row| row.cause == cause).map(|row| row.sum_ns).sum::<i64>();
            let causes = [IdleCause::HostWait, IdleCause::KernelWait, IdleCause::Other];
            prop_assert_eq!(causes.map(sum), [whole.host_wait_ns, whole.kernel_wait_ns, whole.other_ns]);
            for row in rows {
                prop_assert_eq!(row.is_macro, row.max_ns > MICRO_GAP_NS_MAX);
                prop_assert!(row.host.is_none_or(|host| host.ns > 0 && host.ns <= row.sum_ns));
            }
        }
    }
}
