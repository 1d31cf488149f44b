//! Programs whose truth is known: whatever they call and launch, in whatever order the file has it, each kernel is its operator's.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rankscope_tables::{Attribution, RankTables};
use rankscope_trace::{CategoryKind, SpanId, SpanRow, Trace, TrackId, TrackKey, TrackKind};

#[path = "truth/graphs.rs"]
mod graphs;

/// An operator: what it launches itself, and what it calls afterwards.
#[derive(Clone, Debug)]
struct Operator {
    name: u8,
    /// Lengths of kernels; none of their launches is recorded where the second is false.
    launches: Vec<(i64, bool)>,
    calls: Vec<Operator>,
}

fn operators() -> impl Strategy<Value = Vec<Operator>> {
    let launches = || prop::collection::vec((1i64..500, prop::bool::weighted(0.9)), 0..4);
    let leaf = (0u8..5, launches()).prop_map(|(name, launches)| Operator { name, launches, calls: Vec::new() });
    let operator = leaf.prop_recursive(4, 40, 4, move |inner| {
        (0u8..5, launches(), prop::collection::vec(inner, 0..4)).prop_map(|(name, launches, calls)| Operator {
            name,
            launches,
            calls,
        })
    });
    prop::collection::vec(operator, 1..5)
}

/// A span on its way into a trace, and its correlation id.
type Event = (&'static str, CategoryKind, String, i64, i64, Option<u64>);

/// What a program leaves, and what is true of it.
#[derive(Default)]
struct Program {
    events: Vec<Event>,
    host_ns: i64,
    device_ns: i64,
    ids: u64,
    /// By name: how many launched, and the sums of what they launched, and of what was launched in them.
    truth: BTreeMap<String, (u64, i64, i64)>,
    unattributed_ns: i64,
}

impl Program {
    /// Runs `operator` and returns what was launched in it.
    fn run(&mut self, operator: &Operator) -> i64 {
        let (from_ns, name) = (self.host_ns, format!("op{}", operator.name));
        self.host_ns += 1;
        let mut direct_ns = 0;
        for (length_ns, is_recorded) in &operator.launches {
            self.ids += 1;
            let id = is_recorded.then_some(self.ids);
            self.device_ns = self.device_ns.max(self.host_ns) + 3;
            self.events.push(("stream", CategoryKind::Kernel, "kernel".into(), self.device_ns, *length_ns, Some(self.ids)));
            self.device_ns += length_ns;
            match id {
                Some(id) => {
                    self.events.push(("thread", CategoryKind::Runtime, "launch".into(), self.host_ns, 2, Some(id)));
                    direct_ns += length_ns;
                }
                None => self.unattributed_ns += length_ns,
            }
            self.host_ns += 3;
        }
        let below_ns: i64 = operator.calls.iter().map(|call| self.run(call)).sum();
        self.host_ns += 1;
        self.events.push(("thread", CategoryKind::CpuOp, name.clone(), from_ns, self.host_ns - from_ns, None));
        self.host_ns += 1;
        if direct_ns > 0 {
            let sum = self.truth.entry(name).or_default();
            *sum = (sum.0 + 1, sum.1 + direct_ns, sum.2 + direct_ns + below_ns);
        }
        direct_ns + below_ns
    }

    /// The trace, with its events in the order of `keys`.
    fn trace(&self, keys: &[u32]) -> Trace {
        let mut trace = Trace::default();
        let process = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(1));
        let mut track = |kind, number| trace.tracks.find_or_add(kind, Some(process), TrackKey::Number(number));
        let tracks: BTreeMap<&str, TrackId> =
            [("thread", track(TrackKind::Thread, 1)), ("stream", track(TrackKind::Stream, 7))].into();
        let mut order: Vec<usize> = (0..self.events.len()).collect();
        order.sort_by_key(|at| keys[at % keys.len()].rotate_left(*at as u32));
        for at in order {
            let (place, kind, name, start_ns, dur_ns, id) = &self.events[at];
            let (name, category) = (trace.strings.intern(name), trace.category(&format!("{kind:?}"), *kind));
            let row = SpanRow { start_ns: *start_ns, dur_ns: *dur_ns, name, track: tracks[place], category, offset: 0 };
            let span: SpanId = trace.spans.push(row);
            id.iter().for_each(|id| trace.correlations.push(span, *id));
        }
        trace
    }
}

proptest! {
    #[test]
    fn every_kernel_is_its_operators(operators in operators(), keys in prop::collection::vec(any::<u32>(), 7)) {
        let mut program = Program::default();
        operators.iter().for_each(|operator| {
            program.run(operator);
        });
        let trace = program.trace(&keys);
        let tables = RankTables::of(&trace);
        let found: BTreeMap<String, (u64, i64, i64)> = tables
            .operators
            .iter()
            .map(|row| (row.name.clone(), (row.count, row.direct_kernel_ns, row.subtree_kernel_ns)))
            .collect();
        prop_assert_eq!(found, program.truth);
        prop_assert_eq!(tables.unattributed_kernel_ns, program.unattributed_ns);
        prop_assert_eq!(Attribution::of(&trace).work.len(), program.ids as usize);
    }
}
