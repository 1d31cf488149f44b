use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::RangeInclusive;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::Category;

const WINDOW: RangeInclusive<i64> = 5..=25;
const EVER: RangeInclusive<i64> = i64::MIN..=i64::MAX;
/// The library counts in 32 bits, ours does not.
const HIGH: u64 = 1 << 48;

fn record(kind: Category, start_ns: i64, end_ns: i64, correlation: u64) -> DeviceRecord {
    DeviceRecord { kind, name: kind.name().into(), start_ns, end_ns, device: 0, stream: 7, correlation, graph: None }
}

fn launch(at_ns: i64, correlation: u64) -> DeviceRecord {
    record(Category::CUDA_RUNTIME, at_ns, at_ns + 4, correlation)
}

fn kernel(at_ns: i64, correlation: u64) -> DeviceRecord {
    record(Category::KERNEL, at_ns, at_ns + 10, correlation)
}

fn tie(kind: CorrelationKind, external_id: u64, correlation: u64) -> DeviceItem {
    DeviceItem::Tie(ExternalCorrelation { kind, external_id, correlation })
}

/// Ops with these ids; the odd ones are annotations.
fn ops(ids: impl IntoIterator<Item = u64>) -> HashMap<u64, HostOp> {
    let op = |id: u64| HostOp { name: format!("op {id}").into(), is_user_annotation: id % 2 == 1 };
    ids.into_iter().map(|id| (id, op(id))).collect()
}

fn items() -> impl Strategy<Value = Vec<DeviceItem>> {
    let kinds = vec![
        Category::KERNEL,
        Category::GPU_MEMCPY,
        Category::CUDA_RUNTIME,
        Category::CUDA_DRIVER,
        Category::CUDA_SYNC,
        Category::OVERHEAD,
    ];
    let graph = proptest::option::of((0_u64..2, 0_u64..3).prop_map(|(graph, node)| GraphNode { graph, node }));
    let record = (select(kinds), 0_i64..32, 0_i64..32, 0_u32..2, 0_u64..2, 0_u64..8, graph).prop_map(
        |(kind, start_ns, end_ns, device, stream, correlation, graph)| {
            DeviceItem::Record(DeviceRecord { device, stream, graph, ..record(kind, start_ns, end_ns, correlation) })
        },
    );
    let kinds = select(vec![CorrelationKind::Default, CorrelationKind::UserAnnotation]);
    let tie = (kinds, 0_u64..6, 0_u64..8).prop_map(|(kind, external_id, correlation)| tie(kind, external_id, correlation));
    let memory = (0_i64..32, any::<bool>(), 0_u64..4, 0_u64..100, 0_u64..8, proptest::option::of(0_u64..3)).prop_map(
        |(at_ns, is_allocated, address, bytes, correlation, thread)| {
            let change = if is_allocated { MemoryChange::Allocated } else { MemoryChange::Freed };
            DeviceItem::Memory(DeviceMemory { correlation, thread, ..memory(at_ns, change, address, bytes) })
        },
    );
    let launch = (0_u64..8, 1_u64..4).prop_map(|(correlation, graph)| DeviceItem::Graph(GraphLaunch { correlation, graph }));
    vec(prop_oneof![6 => record, 2 => tie, 4 => memory, 1 => launch], 0..60)
}

pub(super) fn memory(at_ns: i64, change: MemoryChange, address: u64, bytes: u64) -> DeviceMemory {
    DeviceMemory {
        at_ns,
        change,
        kind: MemoryKind::Device,
        owner: MemoryOwner::cuda(0),
        address,
        bytes,
        pool: None,
        stream: None,
        thread: None,
        correlation: 0,
    }
}

/// Some items, and the same in another order and other buffers.
fn dealt() -> impl Strategy<Value = (Vec<DeviceItem>, Vec<Vec<DeviceItem>>)> {
    items().prop_flat_map(|items| (Just(items.clone()), Just(items).prop_shuffle(), 1_usize..20)).prop_map(
        |(items, shuffled, size)| {
            let buffers = shuffled.chunks(size).map(<[DeviceItem]>::to_vec).collect();
            (items, buffers)
        },
    )
}

/// A range on a device's stream.
type Lane = (u64, u32, u64);

/// Quadratic: for every question one look at all items.
struct Oracle<'a> {
    items: &'a [DeviceItem],
    ops: &'a HashMap<u64, HostOp>,
}

impl<'a> Oracle<'a> {
    fn kept(&self) -> Vec<&'a DeviceRecord> {
        let records =
            self.items.iter().filter_map(|item| if let DeviceItem::Record(record) = item { Some(record) } else { None });
        records.filter(|r| r.start_ns != 0 && r.end_ns != 0 && WINDOW.clone().any(|ns| meets(r, ns))).collect()
    }

    fn op(&self, wanted: CorrelationKind, of: u64) -> Option<u64> {
        let fits = |id: &u64| self.ops.get(id).is_some_and(|op| wanted == CorrelationKind::Default || op.is_user_annotation);
        let ids = self.items.iter().filter_map(|item| match item {
            DeviceItem::Tie(tie) if tie.kind == wanted && tie.correlation == of && of != 0 => Some(tie.external_id),
            _ => None,
        });
        ids.filter(|id| *id != 0).filter(fits).max()
    }

    fn call(&self, of: u64) -> Option<(i64, Reverse<i64>)> {
        let calls = self.kept().into_iter().filter(|r| is_call(r) && r.correlation == of && of != 0);
        calls.map(|r| (r.start_ns, Reverse(r.end_ns))).min()
    }

    fn graph(&self, of: &DeviceRecord) -> Option<u64> {
        let launches = self.items.iter().filter_map(|item| match item {
            DeviceItem::Graph(launch) if launch.correlation == of.correlation && of.correlation != 0 => Some(launch.graph),
            _ => None,
        });
        launches.max().filter(|_| is_work(of) && of.graph.is_none())
    }

    fn annotations(&self) -> Vec<(Lane, (i64, i64))> {
        let lane = |r: &DeviceRecord| Some((self.op(CorrelationKind::UserAnnotation, r.correlation)?, r.device, r.stream));
        let work: Vec<_> = self.kept().into_iter().filter(|r| is_work(r)).collect();
        let mut lanes: Vec<_> = work.iter().filter_map(|r| lane(r)).collect();
        lanes.sort_unstable();
        lanes.dedup();
        let span = |of| {
            let within = || work.iter().filter(|r| lane(r) == Some(of));
            (within().map(|r| r.start_ns).min().unwrap(), within().map(|r| r.end_ns).max().unwrap())
        };
        lanes.into_iter().map(|lane| (lane, span(lane))).collect()
    }
}

/// Whether the record covers the moment; one that ends before it starts is a moment.
fn meets(record: &DeviceRecord, ns: i64) -> bool {
    record.start_ns == ns || (record.start_ns..=record.end_ns).contains(&ns)
}

fn is_call(record: &DeviceRecord) -> bool {
    [Category::CUDA_RUNTIME, Category::CUDA_DRIVER].contains(&record.kind)
}

fn is_work(record: &DeviceRecord) -> bool {
    [Category::KERNEL, Category::GPU_MEMCPY].contains(&record.kind)
}

fn is_caused(record: &DeviceRecord) -> bool {
    is_work(record) || record.kind == Category::CUDA_SYNC
}

proptest! {
    #[test]
    fn the_order_of_buffers_does_not_matter((items, buffers) in dealt()) {
        let ops = ops(1..5);
        prop_assert_eq!(join(buffers, &ops, &WINDOW), join(vec![items], &ops, &WINDOW));
    }

    #[test]
    fn links_are_those_of_the_oracle((items, buffers) in dealt()) {
        let ops = ops(1..5);
        let (joined, oracle) = (join(buffers, &ops, &WINDOW), Oracle { items: &items, ops: &ops });
        let kept = oracle.kept();
        let count = |record: &DeviceRecord| joined.activities.iter().filter(|activity| activity.record == *record).count();
        for record in &kept {
            prop_assert_eq!(count(record), kept.iter().filter(|other| *other == record).count());
        }
        prop_assert_eq!(joined.activities.len(), kept.len());
        for Activity { record, op, annotation, graph } in &joined.activities {
            prop_assert_eq!(*graph, oracle.graph(record));
            prop_assert_eq!(*op, oracle.op(CorrelationKind::Default, record.correlation));
            prop_assert_eq!(*annotation, oracle.op(CorrelationKind::UserAnnotation, record.correlation));
        }
    }

    #[test]
    fn arrows_are_those_of_the_oracle((items, buffers) in dealt()) {
        let ops = ops(1..5);
        let (joined, oracle) = (join(buffers, &ops, &WINDOW), Oracle { items: &items, ops: &ops });
        let record = |place: usize| &joined.activities[place].record;
        for place in 0..joined.activities.len() {
            let calls = joined.pairs.iter().filter(|pair| pair.1 == place).map(|pair| record(pair.0));
            prop_assert!(calls.clone().all(|call| is_call(call) && call.correlation == record(place).correlation));
            let calls: Vec<_> = calls.map(|call| (call.start_ns, Reverse(call.end_ns))).collect();
            let wanted = oracle.call(record(place).correlation).filter(|_| is_caused(record(place)));
            prop_assert_eq!(calls, wanted.into_iter().collect::<Vec<_>>());
        }
        let early = joined.pairs.iter().filter(|pair| record(pair.1).start_ns < record(pair.0).start_ns).count();
        prop_assert_eq!(joined.oddities.early_starts, early as u64);
        let starts: Vec<_> = joined.launches().map(|(call, _)| call.record.correlation).collect();
        prop_assert!(starts.iter().enumerate().all(|(i, start)| !starts[..i].contains(start)));
        prop_assert_eq!(joined.launches().map(|(_, pairs)| pairs.len()).sum::<usize>(), joined.pairs.len());
    }

    #[test]
    fn ranges_on_the_device_are_those_of_the_oracle((items, buffers) in dealt()) {
        let ops = ops(1..5);
        let joined = join(buffers, &ops, &WINDOW);
        let mut spans: Vec<_> = joined.annotations.iter().map(|s| ((s.op, s.device, s.stream), (s.start_ns, s.end_ns))).collect();
        spans.sort_unstable();
        prop_assert_eq!(spans, Oracle { items: &items, ops: &ops }.annotations());
        prop_assert!(joined.annotations.iter().all(|span| span.name == ops[&span.op].name));
        prop_assert!(joined.annotations.is_sorted_by_key(|span| span.start_ns));
    }

    #[test]
    fn every_record_is_kept_or_counted((items, buffers) in dealt()) {
        let records = items.iter().filter(|item| matches!(item, DeviceItem::Record(_))).count();
        let Joined { activities, dropped, oddities, pairs, .. } = join(buffers, &ops(1..5), &WINDOW);
        prop_assert_eq!(records as u64, activities.len() as u64 + dropped.out_of_window + dropped.zero_timestamp);
        let caused = activities.iter().filter(|activity| is_caused(&activity.record)).count();
        prop_assert_eq!(caused as u64, pairs.len() as u64 + oddities.without_call);
        let reversed = activities.iter().filter(|activity| activity.record.end_ns < activity.record.start_ns).count();
        prop_assert_eq!(oddities.reversed, reversed as u64);
    }

    #[test]
    fn every_change_of_memory_is_kept_or_counted((items, buffers) in dealt()) {
        let changes = items.iter().filter(|item| matches!(item, DeviceItem::Memory(_))).count();
        let JoinedMemory { events, dropped, oddities } = join(buffers, &ops(1..5), &WINDOW).memory;
        // Of a free that names its owner there is always an event.
        let left_out = dropped.out_of_window + dropped.zero_timestamp + oddities.impossible;
        prop_assert_eq!(changes as u64, events.len() as u64 + left_out);
        prop_assert!(events.is_sorted_by_key(|event| event.at_ns) && events.iter().all(|event| WINDOW.contains(&event.at_ns)));
    }

    #[test]
    fn memory_is_on_the_thread_of_its_call_and_of_its_op((items, buffers) in dealt()) {
        let ops = ops(1..5);
        let (joined, oracle) = (join(buffers, &ops, &WINDOW), Oracle { items: &items, ops: &ops });
        let said = |of: &MemoryEvent| items.iter().any(|item| matches!(item, DeviceItem::Memory(it) if it.at_ns == of.at_ns && it.thread == of.thread));
        for event in &joined.memory.events {
            prop_assert_eq!(event.op, oracle.op(CorrelationKind::Default, event.correlation));
            let called = oracle.kept().into_iter().any(|r| is_call(r) && r.correlation == event.correlation && Some(r.stream) == event.thread);
            prop_assert!(called || said(event));
        }
    }
}

#[test]
fn each_kernel_has_one_launch_in_all_orders_of_three_buffers() {
    let calls = 1..=50_u64;
    let ops = ops(calls.clone().map(|call| HIGH + call));
    let launches = calls.clone().map(|call| DeviceItem::Record(launch(100 * call as i64, call)));
    let kernels = calls.clone().map(|call| DeviceItem::Record(kernel(100 * call as i64 + 30, call)));
    let ties = calls.clone().map(|call| tie(CorrelationKind::Default, HIGH + call, call));
    let buffers = [launches.collect(), kernels.collect(), ties.collect::<Vec<_>>()];
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in orders {
        let joined = join(order.map(|buffer: usize| buffers[buffer].clone()).to_vec(), &ops, &EVER);
        assert_eq!((joined.activities.len(), joined.pairs.len()), (100, 50), "{order:?}");
        for (call, (from, to)) in calls.clone().zip(&joined.pairs) {
            let (from, to) = (&joined.activities[*from], &joined.activities[*to]);
            assert_eq!((&from.record, &to.record), (&launch(100 * call as i64, call), &kernel(100 * call as i64 + 30, call)));
            assert_eq!((from.op, to.op), (Some(HIGH + call), Some(HIGH + call)), "{order:?}");
            assert!(to.record.start_ns >= from.record.start_ns);
        }
        assert_eq!((joined.dropped, joined.oddities), Default::default());
    }
}

#[test]
fn a_graph_of_a_hundred_nodes_belongs_to_its_launch() {
    let node = |node: u64| DeviceRecord { graph: Some(GraphNode { graph: 3, node }), ..kernel(20 + node as i64, 9) };
    let mut items: Vec<_> = (0..100).map(|place| DeviceItem::Record(node(place))).collect();
    items.push(tie(CorrelationKind::Default, HIGH + 2, 9));
    items.push(DeviceItem::Record(launch(10, 9)));
    let joined = join(vec![items], &ops([HIGH + 2]), &EVER);
    let (call, pairs) = joined.launches().next().unwrap();
    assert_eq!(call.record, launch(10, 9));
    assert_eq!(joined.launches().count(), 1);
    let nodes: Vec<_> = pairs.iter().map(|pair| &joined.activities[pair.1]).collect();
    assert!(nodes.iter().all(|activity| activity.op == Some(HIGH + 2)));
    assert!(nodes.iter().map(|activity| activity.record.graph).eq((0..100).map(|node| Some(GraphNode { graph: 3, node }))));
}

#[test]
fn a_range_spans_its_work_on_each_stream() {
    let on = |stream, record| DeviceItem::Record(DeviceRecord { stream, ..record });
    let wait = record(Category::CUDA_SYNC, 90, 99, 2);
    let items = vec![
        on(1, launch(1, 1)),
        on(1, launch(5, 2)),
        on(7, kernel(40, 2)),
        on(7, kernel(20, 1)),
        on(8, kernel(30, 2)),
        on(7, wait),
        tie(CorrelationKind::UserAnnotation, 3, 1),
        tie(CorrelationKind::UserAnnotation, 3, 2),
    ];
    let joined = join(vec![items], &ops([3]), &EVER);
    let spans: Vec<_> = joined.annotations.iter().map(|span| (span.stream, span.start_ns, span.end_ns)).collect();
    assert_eq!(spans, [(7, 20, 50), (8, 30, 40)]);
}

#[test]
fn what_is_odd_is_counted_and_left_as_it_is() {
    let items = [kernel(8, 1), launch(10, 1), launch(12, 1), kernel(20, 2), kernel(20, 0), launch(20, 0)];
    let mut items = items.map(DeviceItem::Record).to_vec();
    items.push(DeviceItem::Record(DeviceRecord { end_ns: 30, ..launch(40, 5) }));
    items.push(DeviceItem::Record(DeviceRecord { end_ns: 0, ..kernel(20, 1) }));
    let ties = [(4, 1), (2, 1), (6, 1), (0, 1), (4, 0), (9, 1)];
    items.extend(ties.map(|(op, call)| tie(CorrelationKind::Default, op, call)));
    items.push(tie(CorrelationKind::UserAnnotation, 2, 1));
    let joined = join(vec![items], &ops([2, 4, 6]), &EVER);
    assert_eq!(joined.activities[0].record, kernel(8, 1));
    assert_eq!((joined.activities[0].op, joined.activities[0].annotation), (Some(6), None));
    assert_eq!(joined.pairs, [(1, 0)]);
    assert_eq!(joined.dropped, Dropped { zero_timestamp: 1, out_of_window: 0 });
    let [early_starts, reversed, repeated_calls, disputed_calls] = [1; 4];
    let (without_call, unknown_ops) = (2, 2);
    let oddities = Oddities { early_starts, reversed, without_call, repeated_calls, disputed_calls, unknown_ops };
    assert_eq!(joined.oddities, oddities);
}

#[test]
fn changes_of_one_instant_are_in_the_order_of_their_calls() {
    let [taken, freed] = [MemoryChange::Allocated, MemoryChange::Freed];
    let of = |change, correlation| DeviceItem::Memory(DeviceMemory { correlation, ..memory(9, change, 0x10, 100) });
    let items = vec![of(taken, 3), of(freed, 4), of(freed, 2), of(taken, 1)];
    let JoinedMemory { events, oddities, .. } = join(vec![items], &HashMap::new(), &EVER).memory;
    let totals: Vec<_> = events.iter().map(|event| event.totals.map(|totals| totals.allocated_bytes)).collect();
    assert_eq!(totals, [100, 0, 100, 0].map(Some));
    assert_eq!(oddities, MemoryOddities::default());
}

#[test]
fn records_that_touch_the_window_stay() {
    let starts = [-6, -5, 0, 5, 25, 26].map(|at_ns| DeviceItem::Record(record(Category::KERNEL, at_ns, at_ns + 10, 1)));
    let joined = join(vec![starts.to_vec()], &HashMap::new(), &WINDOW);
    let kept: Vec<_> = joined.activities.iter().map(|activity| activity.record.start_ns).collect();
    assert_eq!(kept, [-5, 5, 25]);
    assert_eq!(joined.dropped, Dropped { zero_timestamp: 1, out_of_window: 2 });
}
