use proptest::prelude::*;
use rankscope_trace::Trace;

use super::*;
use crate::Attribution;
use crate::made::Made;

const ALL: TreeLimits = TreeLimits { nodes: usize::MAX, depth: usize::MAX };

fn calls(trace: &Trace) -> HostCalls {
    HostCalls::of(trace)
}

/// Each node as its level, name, calls, total, self and device time, in microseconds.
fn told(nodes: &[TreeNode]) -> Vec<(usize, &str, u64, i64, i64, i64)> {
    let told = |node: &TreeNode| (node.level, node.total_ns / 1_000, node.self_ns / 1_000, node.device_ns / 1_000);
    nodes
        .iter()
        .map(|node| (node, told(node)))
        .map(|(node, (level, total, own, device))| (level, node.name.as_str(), node.calls, total, own, device))
        .collect()
}

/// `forward` calls `linear` twice, which calls `addmm`, which launches; `loss` calls it once more.
fn model() -> Made {
    let mut made = Made::default();
    made.operator("forward", 0, 100);
    for (start_us, correlation) in [(10, 1), (50, 2)] {
        made.operator("linear", start_us, 30);
        made.operator("addmm", start_us + 5, 20);
        made.launch("cudaLaunchKernel", start_us + 10, 5, correlation);
        made.kernel("gemm", 7, 200 + start_us, 40, correlation);
    }
    made.operator("loss", 110, 50);
    made.operator("linear", 120, 10);
    made
}

#[test]
fn a_tree_has_callers_outwards_and_callees_inwards() {
    let made = model();
    let tree = CallTree::of(&calls(&made.trace), "linear", None, ALL).expect("it is called");
    assert_eq!((tree.instances, tree.nested), (3, 0));
    assert_eq!(
        told(&tree.callees),
        [(0, "linear", 3, 70, 30, 80), (1, "addmm", 2, 40, 30, 80), (2, "cudaLaunchKernel", 2, 10, 10, 80)]
    );
    assert_eq!(told(&tree.callers), [(0, "linear", 3, 70, 0, 80), (1, "forward", 2, 60, 60, 80), (1, "loss", 1, 10, 10, 0)]);
    assert_eq!(CallTree::of(&calls(&made.trace), "conv", None, ALL), None);
}

#[test]
fn a_window_has_the_calls_that_begin_in_it() {
    let made = model();
    let calls = calls(&made.trace);
    let tree = CallTree::of(&calls, "linear", Some((50_000, 120_000)), ALL).expect("it is called");
    assert_eq!(told(&tree.callers), [(0, "linear", 1, 30, 0, 40), (1, "forward", 1, 30, 30, 40)]);
    assert_eq!(CallTree::of(&calls, "linear", Some((51_000, 120_000)), ALL), None);
    let rows = calls.by_name(Some((50_000, 120_000)));
    let told: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.calls, row.total_ns / 1_000)).collect();
    assert_eq!(told, [("loss", 1, 50), ("addmm", 1, 20), ("cudaLaunchKernel", 1, 5), ("linear", 1, 30)]);
}

#[test]
fn a_call_in_another_of_its_name_is_counted_once() {
    let mut made = Made::default();
    made.operator("f", 0, 100);
    made.operator("g", 10, 80);
    made.operator("f", 20, 50);
    made.operator("f", 30, 20);
    let tree = CallTree::of(&calls(&made.trace), "f", None, ALL).expect("it is called");
    assert_eq!((tree.instances, tree.nested), (1, 2));
    assert_eq!(
        told(&tree.callees),
        [(0, "f", 1, 100, 20, 0), (1, "g", 1, 80, 30, 0), (2, "f", 1, 50, 30, 0), (3, "f", 1, 20, 20, 0)]
    );
    let rows = calls(&made.trace).by_name(None);
    assert_eq!((rows[0].name.as_str(), rows[0].calls, rows[0].total_ns, rows[0].self_ns), ("f", 3, 100_000, 70_000));
}

#[test]
fn work_that_only_an_external_id_ties_is_of_the_operator() {
    let mut made = Made::default();
    let operator = made.operator("op", 0, 10);
    made.trace.external_ids.push(operator, 7);
    made.launch("cudaLaunchKernel", 20, 5, 1);
    let kernel = made.kernel("k", 7, 100, 30, 1);
    made.trace.external_ids.push(kernel, 7);
    made.kernel("nobody's", 7, 200, 4, 9);
    let calls = calls(&made.trace);
    let device: Vec<_> = calls.by_name(None).iter().map(|row| (row.name.clone(), row.device_ns)).collect();
    assert_eq!(device, [("op".to_owned(), 30_000), ("cudaLaunchKernel".to_owned(), 0)]);
    assert_eq!((calls.unattributed().launched, calls.unattributed().device_ns), (1, 4_000));
}

#[test]
fn what_is_deeper_or_shorter_than_asked_for_is_a_sum() {
    let mut made = Made::default();
    for depth in 0..5_000 {
        made.operator("f", depth, 2 * (5_000 - depth));
    }
    let calls = calls(&made.trace);
    let tree = CallTree::of(&calls, "f", None, TreeLimits { nodes: 100, depth: 10 }).expect("it is called");
    assert_eq!((tree.callees.len(), tree.nested), (11, 4_999));
    assert_eq!(tree.callees[10].left_out.calls, 4_989);
    assert_eq!(tree.callees[0].total_ns, 10_000_000);
    let few = CallTree::of(&calls, "f", None, TreeLimits { nodes: 3, depth: 10 }).expect("it is called");
    assert_eq!((few.callees.len(), few.callees[2].left_out.calls), (3, 4_997));
}

/// Calls on two threads, as they fall: nested, overlapping, equal, empty; some launch work.
fn any_trace() -> impl Strategy<Value = Trace> {
    let name = prop::sample::select(vec!["a", "b", "c", "launch"]);
    let call = (0..2_i64, 0..60_i64, 0..40_i64, name, 0..30_i64);
    prop::collection::vec(call, 0..40).prop_map(|calls| {
        let mut made = Made::default();
        for (at, (thread, start, long, name, work)) in (1..).zip(calls) {
            if name == "launch" {
                made.launch_on(thread, name, start, long, at);
                made.kernel("k", 7, 100 + start, work, at);
            } else {
                made.operator_on(thread, name, start, long);
            }
        }
        made.trace
    })
}

/// Sums of what is one level below each node, and of what was left out.
fn below(nodes: &[TreeNode], at: usize) -> (i64, i64, u64) {
    let within = nodes[at + 1..].iter().take_while(|node| node.level > nodes[at].level);
    let children = within.filter(|node| node.level == nodes[at].level + 1);
    let left_out = nodes[at].left_out;
    children.fold((left_out.host_ns, left_out.device_ns, left_out.launched), |sum, node| {
        (sum.0 + node.total_ns, sum.1 + node.device_ns, sum.2 + node.launched)
    })
}

proptest! {
    #[test]
    fn times_of_a_tree_add_up_however_little_of_it_is_told(trace in any_trace(), nodes in 1_usize..12, depth in 0_usize..6, window in prop::option::of((0..40_000_i64, 0..60_000_i64))) {
        let calls = calls(&trace);
        for name in ["a", "b", "c", "launch"] {
            let Some(whole) = CallTree::of(&calls, name, window, ALL) else { continue };
            let few = CallTree::of(&calls, name, window, TreeLimits { nodes, depth }).expect("it is in the whole one");
            prop_assert!(few.callees.len() <= nodes && few.callers.len() <= nodes);
            prop_assert!(few.callees.iter().chain(&few.callers).all(|node| node.level <= depth));
            prop_assert_eq!((few.instances, few.nested), (whole.instances, whole.nested));
            for tree in [&whole, &few] {
                for (at, node) in tree.callees.iter().enumerate() {
                    prop_assert_eq!(node.total_ns, node.self_ns + below(&tree.callees, at).0);
                    prop_assert!(node.device_ns >= below(&tree.callees, at).1 && node.launched >= below(&tree.callees, at).2);
                }
                for (at, node) in tree.callers.iter().enumerate() {
                    prop_assert_eq!(node.total_ns, node.self_ns + below(&tree.callers, at).0);
                }
                // Both are about the same calls.
                let (callers, callees) = (&tree.callers[0], &tree.callees[0]);
                prop_assert_eq!((callers.calls, callers.total_ns, callers.device_ns), (callees.calls, callees.total_ns, callees.device_ns));
                prop_assert_eq!(callees.calls, tree.instances);
                // Every call that is in the tree is told or counted.
                let told: u64 = tree.callees.iter().map(|node| node.calls + node.left_out.calls).sum();
                let all: u64 = whole.callees.iter().map(|node| node.calls).sum();
                prop_assert_eq!(told, all);
            }
            if window.is_none() {
                let row = calls.by_name(None).into_iter().find(|row| row.name == name).expect("it is called");
                prop_assert_eq!((row.calls, row.total_ns, row.device_ns, row.launched), (whole.instances + whole.nested, whole.callees[0].total_ns, whole.callees[0].device_ns, whole.callees[0].launched));
            }
        }
    }

    #[test]
    fn own_times_of_all_calls_are_what_their_threads_did(trace in any_trace()) {
        let calls = calls(&trace);
        let nesting = rankscope_analyze::spans::Nesting::of(&trace);
        let all: i64 = trace.spans.ids().filter(|span| !trace.kind(*span).is_on_device()).map(|span| nesting.self_ns(span)).sum();
        let rows = calls.by_name(None);
        prop_assert_eq!(rows.iter().map(|row| row.self_ns).sum::<i64>(), all);
        let attribution = Attribution::of_work(&trace);
        let outermost = (0..).zip(&calls.list).filter(|(at, call)| call.parent == *at);
        let device: i64 = outermost.map(|(_, call)| call.whole.device_ns).sum();
        prop_assert_eq!(device + calls.unattributed().device_ns, attribution.kernel_ns(&trace));
    }

    #[test]
    fn the_time_of_calls_that_nest_is_their_length(depths in prop::collection::vec(0_usize..4, 1..30)) {
        // Each call ends before the next one of its level begins.
        let mut made = Made::default();
        let (mut open, mut now, mut ended) = (Vec::<i64>::new(), 0, Vec::new());
        for depth in depths {
            while open.len() > depth {
                ended.push((open.pop().expect("it is open"), now));
            }
            now += 2;
            open.push(now);
        }
        while let Some(start) = open.pop() {
            now += 1;
            ended.push((start, now));
        }
        for (start, end) in &ended {
            made.operator(&format!("f{start}"), *start, end - start);
        }
        let calls = calls(&made.trace);
        for (start, end) in ended {
            let tree = CallTree::of(&calls, &format!("f{start}"), None, ALL).expect("it is called");
            prop_assert_eq!(tree.callees[0].total_ns, 1_000 * (end - start));
        }
    }
}
