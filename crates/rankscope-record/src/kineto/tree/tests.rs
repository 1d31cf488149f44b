use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// One recorded thing of one thread; stamps are far apart or equal, as clocks have it.
#[derive(Clone, Debug)]
enum Step {
    Begin {
        forward_tid: u64,
    },
    End,
    Moment,
    /// Ends after so many further steps of its thread's clock, or never.
    Async {
        length: Option<i64>,
    },
}

/// A node as the oracle sees it: places in the stream beside stamps.
#[derive(Clone, Debug)]
struct Plain {
    thread: usize,
    /// Place of begin and end in the thread's stream; a moment has both in one.
    places: (usize, usize),
    interval: (i64, i64),
    forward_tid: u64,
    is_span: bool,
    is_async: bool,
    unfinished: bool,
}

const END_NS: i64 = 1000;

/// Thread `i` has the tid `i + 1`.
fn record(threads: &[Vec<(i64, Step)>]) -> (EventTree, Vec<Plain>) {
    let mut builder = TreeBuilder::default();
    let mut plain: Vec<Plain> = Vec::new();
    for (thread, steps) in threads.iter().enumerate() {
        builder.thread(thread as u64 + 1);
        let (mut now, mut open) = (0, Vec::new());
        for (place, (gap, step)) in steps.iter().enumerate() {
            now += gap;
            let mut node = Plain {
                thread,
                places: (place, usize::MAX),
                interval: (now, END_NS),
                forward_tid: 0,
                is_span: true,
                is_async: false,
                unfinished: true,
            };
            match step {
                Step::Begin { forward_tid } => {
                    node.forward_tid = *forward_tid;
                    open.push(builder.begin(now, *forward_tid) as usize);
                }
                Step::End => {
                    let ended = open.pop();
                    assert_eq!(builder.end(now, false).map(|node| node as usize), ended);
                    if let Some(ended) = ended {
                        plain[ended].places.1 = place;
                        plain[ended].interval.1 = now;
                        plain[ended].unfinished = false;
                    }
                    continue;
                }
                Step::Moment => {
                    node = Plain { places: (place, place), interval: (now, now), is_span: false, unfinished: false, ..node };
                    builder.moment(now);
                }
                Step::Async { length } => {
                    let id = builder.begin_async(now);
                    node.is_async = true;
                    if let Some(length) = length {
                        builder.end_async(id, now + length);
                        node.interval.1 = now + length;
                        node.unfinished = false;
                    }
                }
            }
            plain.push(node);
        }
    }
    (builder.finish(END_NS), plain)
}

fn holds(outer: &Plain, inner: &Plain) -> bool {
    outer.interval.0 <= inner.interval.0 && inner.interval.1 <= outer.interval.1
}

/// Every pair is looked at, with nothing but places and stamps.
fn parent_by_oracle(nodes: &[Plain], child: usize) -> Option<NodeId> {
    let of = &nodes[child];
    let open_at_begin = |node: &Plain| {
        node.is_span && !node.is_async && node.thread == of.thread && node.places.0 < of.places.0 && of.places.0 < node.places.1
    };
    let innermost = |fits: &dyn Fn(&Plain) -> bool| {
        let found = nodes.iter().enumerate().filter(|(at, node)| *at != child && fits(node));
        found.max_by_key(|(at, node)| (node.interval.0, *at)).map(|(at, _)| at as NodeId)
    };
    let own = innermost(&|node| open_at_begin(node) && (!of.is_async || node.interval.1 >= of.interval.1));
    let forward = |node: &Plain| {
        node.is_span
            && !node.is_async
            && node.thread != of.thread
            && node.thread as u64 + 1 == of.forward_tid
            && holds(node, of)
    };
    own.or_else(|| innermost(&forward))
}

fn threads() -> impl Strategy<Value = Vec<Vec<(i64, Step)>>> {
    let step = |forward: u64| {
        prop_oneof![
            3 => (0..=forward).prop_map(|forward_tid| Step::Begin { forward_tid }),
            3 => Just(Step::End),
            1 => Just(Step::Moment),
            1 => proptest::option::of(0_i64..6).prop_map(|length| Step::Async { length }),
        ]
    };
    // Forward threads only of threads before: the oracle has no rule against cycles.
    (vec((0_i64..3, step(0)), 0..40), vec((0_i64..3, step(1)), 0..40), vec((0_i64..3, step(2)), 0..40))
        .prop_map(|(first, second, third)| vec![first, second, third])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn parents_are_those_of_the_oracle(threads in threads()) {
        let (tree, plain) = record(&threads);
        prop_assert_eq!(tree.len(), plain.len());
        for node in 0..plain.len() {
            prop_assert_eq!(tree.parent(node as NodeId), parent_by_oracle(&plain, node), "node {} of {:?}", node, plain);
            prop_assert_eq!(tree.interval_ns(node as NodeId), plain[node].interval);
            prop_assert_eq!(tree.is_unfinished(node as NodeId), plain[node].unfinished);
        }
    }

    #[test]
    fn children_lie_within_and_everyone_is_found_once(threads in threads()) {
        let (tree, _) = record(&threads);
        let mut seen = vec![0; tree.len()];
        let mut todo = tree.roots().to_vec();
        prop_assert!(tree.roots().is_sorted_by_key(|root| (tree.interval_ns(*root).0, *root)));
        while let Some(node) = todo.pop() {
            seen[node as usize] += 1;
            let (start_ns, end_ns) = tree.interval_ns(node);
            prop_assert!(tree.children(node).is_sorted_by_key(|child| (tree.interval_ns(*child).0, *child)));
            for child in tree.children(node) {
                prop_assert_eq!(tree.parent(*child), Some(node));
                let (child_start_ns, child_end_ns) = tree.interval_ns(*child);
                prop_assert!(start_ns <= child_start_ns && child_end_ns <= end_ns);
                todo.push(*child);
            }
        }
        prop_assert!(seen.iter().all(|times| *times == 1));
    }
}

#[test]
fn a_span_that_starts_where_another_ended_is_beside_it() {
    let begin = || Step::Begin { forward_tid: 0 };
    let (tree, _) = record(&[vec![(5, begin()), (0, begin()), (0, Step::End), (0, begin()), (0, Step::End), (0, Step::End)]]);
    assert_eq!(tree.roots(), [0]);
    assert_eq!(tree.children(0), [1, 2]);
}

#[test]
fn spans_of_the_same_moment_do_not_become_each_others_parents() {
    let mut builder = TreeBuilder::default();
    for (tid, forward_tid) in [(1, 2), (2, 1)] {
        builder.thread(tid);
        builder.begin(10, forward_tid);
        builder.end(20, false);
    }
    let tree = builder.finish(END_NS);
    assert_eq!((tree.roots(), tree.children(0)), ([0].as_slice(), [1].as_slice()));
}

#[test]
fn a_thread_number_used_again_is_another_thread() {
    let mut builder = TreeBuilder::default();
    for start_ns in [0, 100] {
        builder.thread(1);
        builder.begin(start_ns, 0);
        builder.end(start_ns + 50, false);
    }
    builder.thread(2);
    for start_ns in [10, 110, 210] {
        builder.begin(start_ns, 1);
        builder.end(start_ns + 5, false);
    }
    let tree = builder.finish(END_NS);
    assert_eq!([2, 3, 4].map(|node| tree.parent(node)), [Some(0), Some(1), None]);
}
