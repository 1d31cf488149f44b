//! A column that only some spans have a value in.

use crate::{Awaited, GpuTimes, SpanId};

/// Values by span, in ascending order of the span.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse<T> {
    pub(crate) spans: Vec<SpanId>,
    pub(crate) values: Vec<T>,
}

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Self { spans: Vec::new(), values: Vec::new() }
    }
}

impl<T: Copy> Sparse<T> {
    /// Gives `span` a value. Spans come in ascending order; a second value for the last one replaces the first.
    pub fn push(&mut self, span: SpanId, value: T) {
        match self.spans.last() {
            Some(last) if *last == span => *self.values.last_mut().expect("as long as spans") = value,
            last => {
                debug_assert!(last.is_none_or(|last| *last < span), "spans of a sparse column ascend");
                self.spans.push(span);
                self.values.push(value);
            }
        }
    }

    /// The value of `span`.
    pub fn get(&self, span: SpanId) -> Option<T> {
        self.spans.binary_search(&span).ok().map(|at| self.values[at])
    }

    /// Every span with a value.
    pub fn iter(&self) -> impl Iterator<Item = (SpanId, T)> + '_ {
        self.spans.iter().copied().zip(self.values.iter().copied())
    }

    /// How many spans have a value.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether no span has a value.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Appends `other`, whose spans start at `base` here.
    pub fn append(&mut self, other: &Self, base: u32) {
        self.spans.extend(other.spans.iter().map(|span| SpanId(span.0 + base)));
        self.values.extend_from_slice(&other.values);
    }
}

impl Sparse<u64> {
    /// Replaces every value by what `new` makes of it.
    pub(crate) fn renumber(&mut self, new: impl Fn(u64) -> u64) {
        self.values.iter_mut().for_each(|value| *value = new(*value));
    }

    /// Every value, in the order of its span.
    pub(crate) fn values(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        self.values.iter().copied()
    }
}

impl Sparse<GpuTimes> {
    /// Replaces every stamp of the trace's clock by what `moved` makes of it.
    pub fn move_host_stamps(&mut self, mut moved: impl FnMut(i64) -> i64) {
        for times in &mut self.values {
            times.launched_ns = times.launched_ns.map(&mut moved);
            times.seen_ns = moved(times.seen_ns);
        }
    }
}

impl Sparse<Awaited> {
    /// Replaces the number of every call by what `new` makes of it.
    pub(crate) fn renumber_calls(&mut self, new: impl Fn(u64) -> u64) {
        self.values.iter_mut().for_each(|awaited| awaited.recorded_by = awaited.recorded_by.map(&new));
    }
}
