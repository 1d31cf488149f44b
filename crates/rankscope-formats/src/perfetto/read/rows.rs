//! Begins and ends to spans, row by row.
//!
//! A file of ours keeps each row in order of time, so an end closes the innermost open span at once. Other files owe nobody an
//! order: packets of several sequences may meet on one row. Their rows are kept as a log and matched at the end: as they stand
//! if they turn out to be in order; pairwise, if a writer put the begins of a batch before their ends (torch does); else by
//! time.

use rankscope_trace::{SpanId, Spans, StrId};
use rustc_hash::FxHashMap;

/// What events lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RowId {
    /// A track with a descriptor.
    Track(u64),
    /// A thread of an old-style sequence.
    Thread { pid: i64, tid: i64 },
    /// A hardware queue of a GPU, by name.
    Queue { gpu: i64, queue: StrId },
    /// A counter of a GPU.
    GpuCounter { gpu: i64, name: StrId },
}

/// All rows that events lie on, each of one trace.
#[derive(Debug, Default)]
pub(super) struct Rows {
    list: Vec<Row>,
    index: FxHashMap<(usize, RowId), u32>,
    /// The one asked for last: a sequence is mostly one row.
    last: Option<((usize, RowId), u32)>,
}

/// One row.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) id: RowId,
    pub(super) builder: usize,
    /// Whether we wrote it.
    pub(super) ours: bool,
    open: Vec<Begun>,
    log: Vec<(i64, Mark)>,
    /// The running value of an incremental counter.
    pub(super) total: f64,
}

/// A span that has begun; `None` for one that is not kept.
type Begun = Option<SpanId>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Begin(Begun),
    End,
}

/// Begins and ends that lack their other half.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unmatched {
    pub(super) begins: u64,
    pub(super) ends: u64,
    /// The spans of those begins, but for what is not kept.
    pub(super) unfinished: Vec<SpanId>,
}

impl Rows {
    /// The row `id` of trace `builder`.
    pub(super) fn row(&mut self, builder: usize, id: RowId, ours: impl FnOnce() -> bool) -> (u32, &mut Row) {
        let key = (builder, id);
        if let Some((last, at)) = self.last
            && last == key
        {
            return (at, &mut self.list[at as usize]);
        }
        let next = self.list.len() as u32;
        let at = *self.index.entry(key).or_insert(next);
        self.last = Some((key, at));
        if at == next {
            self.list.push(Row { id, builder, ours: ours(), open: Vec::new(), log: Vec::new(), total: 0.0 });
        }
        (at, &mut self.list[at as usize])
    }

    /// Row number `at`.
    pub(super) fn at(&mut self, at: u32) -> &mut Row {
        &mut self.list[at as usize]
    }

    /// All rows, by number.
    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Row> {
        self.list.iter_mut()
    }
}

impl Row {
    /// A span begins.
    pub(super) fn begin(&mut self, time_ns: i64, span: Begun) {
        if self.ours {
            self.open.push(span);
        } else {
            self.log.push((time_ns, Mark::Begin(span)));
        }
    }

    /// A span ends. `false` if there is none that could.
    pub(super) fn end(&mut self, time_ns: i64, spans: &mut Spans) -> bool {
        if !self.ours {
            self.log.push((time_ns, Mark::End));
            return true;
        }
        let begun = self.open.pop();
        if let Some(span) = begun {
            finish(span, time_ns, spans);
        }
        begun.is_some()
    }

    /// Matches what is left. Spans without an end last until `last_ns`, the end of the trace.
    pub(super) fn close(&mut self, last_ns: i64, spans: &mut Spans) -> Unmatched {
        let mut log = std::mem::take(&mut self.log);
        let mut unmatched = Unmatched::default();
        let in_order = log.is_sorted_by_key(|(time_ns, _)| *time_ns);
        if in_order || !match_batches(&log, spans) {
            if !in_order {
                log.sort_by_key(|(time_ns, _)| *time_ns);
            }
            for (time_ns, mark) in log {
                match mark {
                    Mark::Begin(span) => self.open.push(span),
                    Mark::End => match self.open.pop() {
                        Some(span) => finish(span, time_ns, spans),
                        None => unmatched.ends += 1,
                    },
                }
            }
        }
        for span in self.open.drain(..) {
            finish(span, last_ns, spans);
            unmatched.begins += 1;
            unmatched.unfinished.extend(span);
        }
        unmatched
    }
}

/// Pairs the begins of each batch with the ends that follow it, first with first. `false`, and nothing done, if they are not
/// such batches.
fn match_batches(log: &[(i64, Mark)], spans: &mut Spans) -> bool {
    let batches = || {
        let mut rest = log;
        std::iter::from_fn(move || {
            let begins = rest.iter().take_while(|(_, mark)| *mark != Mark::End).count();
            let ends = rest[begins..].iter().take_while(|(_, mark)| *mark == Mark::End).count();
            let batch = rest.split_at(begins);
            rest = &rest[begins + ends..];
            (begins + ends > 0).then_some((batch.0, &batch.1[..ends]))
        })
    };
    let sound = batches()
        .all(|(begins, ends)| begins.len() == ends.len() && begins.iter().zip(ends).all(|((start, _), (end, _))| start <= end));
    if sound {
        for (begins, ends) in batches() {
            for ((_, begin), (end_ns, _)) in begins.iter().zip(ends) {
                if let Mark::Begin(span) = begin {
                    finish(*span, *end_ns, spans);
                }
            }
        }
    }
    sound
}

fn finish(span: Begun, end_ns: i64, spans: &mut Spans) {
    if let Some(span) = span {
        let at = span.0 as usize;
        spans.dur_ns[at] = end_ns.saturating_sub(spans.start_ns[at]).max(0);
    }
}

#[cfg(test)]
mod tests {
    use rankscope_trace::{SpanRow, TrackId};

    use super::*;

    fn durations(events: &[(i64, bool)]) -> (Vec<i64>, Unmatched) {
        let mut spans = Spans::default();
        let mut rows = Rows::default();
        let (_, row) = rows.row(0, RowId::Track(1), || false);
        for (time_ns, begins) in events {
            if *begins {
                let (name, track) = (StrId::EMPTY, TrackId(0));
                let span = SpanRow { start_ns: *time_ns, dur_ns: 0, name, track, category: 0, offset: 0 };
                row.begin(*time_ns, Some(spans.push(span)));
            } else {
                row.end(*time_ns, &mut spans);
            }
        }
        let unmatched = row.close(100, &mut spans);
        (spans.dur_ns, unmatched)
    }

    #[test]
    fn nested_spans_in_order_close_inside_out() {
        let (lengths, unmatched) = durations(&[(0, true), (5, true), (8, false), (20, false), (20, true), (20, false)]);
        assert_eq!((lengths, unmatched), (vec![20, 3, 0], Unmatched::default()));
    }

    #[test]
    fn batches_of_begins_and_ends_are_paired() {
        let (lengths, unmatched) = durations(&[(0, true), (10, true), (10, true), (10, false), (20, false), (10, false)]);
        assert_eq!((lengths, unmatched), (vec![10, 10, 0], Unmatched::default()));
    }

    #[test]
    fn shuffled_events_are_matched_by_time() {
        let (lengths, unmatched) = durations(&[(8, false), (5, true), (0, true), (30, false), (40, false), (50, true)]);
        assert_eq!((lengths, unmatched), (vec![3, 30, 50], Unmatched { begins: 1, ends: 1, unfinished: vec![SpanId(2)] }));
    }
}
