//! [`Held`]: the spans that a replay knows of and has not told yet.

use super::super::event::Event;
use super::DEPTH_MAX;
use super::meaning::id_of;

/// Spans that began before the cut and are still open, with their arguments.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The begin, whether its category was on, and where its arguments end.
    pub(super) begins: Vec<(Event, bool, usize)>,
    pub(super) args: Vec<u64>,
}

impl Held {
    pub(super) fn args(&self, at: usize) -> std::ops::Range<usize> {
        let start = if at == 0 { 0 } else { self.begins[at - 1].2 };
        start..self.begins[at].2
    }

    pub(super) fn push(&mut self, event: Event, counts: bool, args: &[u64]) {
        self.args.extend_from_slice(args);
        self.begins.push((event, counts, self.args.len()));
    }

    pub(super) fn pop(&mut self) {
        self.begins.pop();
        self.args.truncate(self.begins.last().map_or(0, |begin| begin.2));
    }

    /// The place of the span with this correlation id.
    pub(super) fn find(&self, id: u64) -> Option<usize> {
        let innermost = self.begins.len().saturating_sub(DEPTH_MAX);
        self.begins[innermost..].iter().rposition(|begin| id_of(&begin.0) == id).map(|at| innermost + at)
    }

    pub(super) fn remove(&mut self, at: usize) {
        let args = self.args(at);
        self.begins.remove(at);
        for begin in &mut self.begins[at..] {
            begin.2 -= args.len();
        }
        self.args.drain(args);
    }

    pub(super) fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        let all = std::mem::take(self);
        for (at, (event, counts, _)) in all.begins.iter().enumerate() {
            if keep(id_of(event)) {
                self.push(*event, *counts, &all.args[all.args(at)]);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.begins.clear();
        self.args.clear();
    }
}
