//! [`Trace`]: everything one file says, in one place.

use crate::{
    ArgColumn, Awaited, Category, CategoryKind, CollectiveArgs, CopyDirection, CounterSample, Description, FlowPoint, GpuTimes,
    InstantMark, Provenance, SpanId, Spans, Sparse, Strings, Tracks,
};

/// The events of one file and what the file says about itself.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Where it came from.
    pub provenance: Provenance,
    /// Every string of the trace.
    pub strings: Strings,
    /// Where events lie.
    pub tracks: Tracks,
    /// Categories; spans and marks refer to them by index.
    pub categories: Vec<Category>,
    /// What took time.
    pub spans: Spans,
    /// Spans whose end is not recorded, in no order: they last to where their file, or what is there of their thread, ends.
    pub unfinished: Vec<SpanId>,
    /// What happened at one moment.
    pub instants: Vec<InstantMark>,
    /// Arguments of the instants; no rows unless the reader was asked to keep them.
    pub instant_args: ArgColumn,
    /// Values over time.
    pub counters: Vec<CounterSample>,
    /// Arrows between spans.
    pub flows: Vec<FlowPoint>,
    /// Parameters of collectives, in ascending order of their span.
    pub collectives: Vec<CollectiveArgs>,
    /// Ties device work to the host call that launched it: equal on both.
    pub correlations: Sparse<u64>,
    /// Ties spans to the operator they belong to: equal on both.
    pub external_ids: Sparse<u64>,
    /// Bytes moved by a copy or fill.
    pub bytes: Sparse<u64>,
    /// Which way a copy went, where something else than its name says so.
    pub directions: Sparse<CopyDirection>,
    /// What a synchronisation waits for, where its profiler says so.
    pub awaited: Sparse<Awaited>,
    /// When a GPU worked on spans by its own clock, beside the host's, where a recorder was told both.
    pub gpu_times: Sparse<GpuTimes>,
    /// Steps of the training loop.
    pub steps: Vec<StepMark>,
    /// What is said once about all spans of a sort; empty unless the reader was asked to keep all arguments.
    pub descriptions: Vec<Description>,
    /// Arguments of the descriptions, one row each.
    pub description_args: ArgColumn,
    /// Byte strings that arguments refer to.
    pub blobs: Vec<Box<[u8]>>,
}

/// A span that marks one step of the training loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepMark {
    /// The step's number in the file.
    pub number: i64,
    /// The span that covers it, on the host or on a device.
    pub span: SpanId,
}

impl Trace {
    /// The index of the category called `name`, new or known. After 65 thousand categories all others share the last.
    pub fn category(&mut self, name: &str, kind: CategoryKind) -> u16 {
        let name = self.strings.intern(name);
        if let Some(at) = self.categories.iter().position(|known| known.name == name && known.kind == kind) {
            return at as u16;
        }
        if self.categories.len() < usize::from(u16::MAX) {
            self.categories.push(Category { name, kind });
        }
        (self.categories.len() - 1) as u16
    }

    /// What `span` is, by its category.
    pub fn kind(&self, span: SpanId) -> CategoryKind {
        self.categories[usize::from(self.spans.category[span.0 as usize])].kind
    }

    /// The name of `span`.
    pub fn name(&self, span: SpanId) -> &str {
        self.strings.text(self.spans.name[span.0 as usize])
    }

    /// How many events of any sort the trace holds.
    pub fn events(&self) -> usize {
        self.spans.len() + self.instants.len() + self.counters.len() + self.flows.len()
    }

    /// First start and last end of all spans.
    pub fn bounds_ns(&self) -> Option<(i64, i64)> {
        let first = self.spans.start_ns.iter().copied().min()?;
        let last = self.spans.ids().map(|span| self.spans.end_ns(span)).max()?;
        Some((first, last))
    }

    /// Marks the steps that spans named `ProfilerStep#N` stand for. Readers call it once, when all spans are in.
    pub fn mark_profiler_steps(&mut self) {
        let numbers: Vec<Option<i64>> =
            self.strings.iter().map(|(_, text)| text.strip_prefix("ProfilerStep#")?.trim().parse().ok()).collect();
        if numbers.iter().all(Option::is_none) {
            return;
        }
        let marked = self.spans.ids().zip(&self.spans.name).filter_map(|(span, name)| {
            let number = numbers[name.0 as usize]?;
            Some(StepMark { number, span })
        });
        self.steps.extend(marked);
    }
}
