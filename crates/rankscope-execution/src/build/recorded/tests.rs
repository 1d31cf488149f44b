//! Traces of a few calls and kernels, with records of waits that are true, odd or false.

use std::io::Cursor;

use rankscope_analyze::Classes;
use rankscope_collectives::extract;
use rankscope_formats::{ReadOptions, read};
use rankscope_tables::Attribution;
use rankscope_testkit::ByHand;
use rankscope_time::Rank;
use rankscope_trace::{ProblemKind, Problems, Trace};

use crate::{Execution, PieceId};

fn trace(made: &ByHand) -> Trace {
    let mut members = read(Cursor::new(made.events().into_bytes()), &ReadOptions::default()).expect("it is JSON");
    members.remove(0).trace.expect("it is a trace")
}

fn graph(made: &ByHand) -> Graph {
    let (trace, classes) = (trace(made), Classes::default());
    let collectives = extract(Rank(0), &trace, &classes.patterns);
    let mut problems = Problems::default();
    let attribution = Attribution::of_work(&trace);
    let execution = Execution::attributed(&trace, &attribution, &collectives, &classes, &mut problems);
    Graph { execution, left_out: problems.count(ProblemKind::ContradictedWait) }
}

struct Graph {
    execution: Execution,
    /// Records that are not believed.
    left_out: u64,
}

impl Graph {
    fn name(&self, id: PieceId) -> &str {
        &self.execution.key(self.execution.key_of(id)).name
    }

    /// What the piece called `name` waits for.
    fn awaited(&self, name: &str) -> Option<&str> {
        let own = self.execution.ids().find(|id| self.name(*id) == name).expect("it is there");
        self.execution.piece(own).waits_for.map(|other| self.name(other))
    }

    /// What the pieces of the host wait for.
    fn host_awaits(&self) -> Vec<&str> {
        let on_host = self.execution.ids().filter(|id| self.execution.lane_kind(*id) == crate::LaneKind::Thread);
        on_host.filter_map(|id| self.execution.piece(id).waits_for).map(|other| self.name(other)).collect()
    }
}

/// Stream 7 waits for `reduce` on stream 20; meanwhile a copy on stream 13 ends just before it goes on.
fn beside_a_copy(is_recorded: bool) -> Graph {
    let mut made = ByHand::default();
    made.kernel("reduce", 20, 10, (100, 900));
    made.kernel("copy", 13, 20, (50, 905));
    let record = made.record(30);
    match is_recorded {
        true => made.wait(40, 7, 20, record),
        false => drop(made.call("cudaStreamWaitEvent", 40, 1)),
    }
    made.kernel("update", 7, 50, (910, 950));
    graph(&made)
}

#[test]
fn a_stream_waits_for_its_event_and_not_for_what_ended_by_chance() {
    assert_eq!(beside_a_copy(false).awaited("update"), Some("copy"), "which is the best guess");
    let recorded = beside_a_copy(true);
    assert_eq!((recorded.awaited("update"), recorded.left_out), (Some("reduce"), 0));
}

#[test]
fn what_was_launched_after_the_event_is_not_waited_for() {
    let mut made = ByHand::default();
    made.kernel("first", 20, 10, (100, 200));
    let record = made.record(20);
    made.kernel("second", 20, 30, (201, 400));
    made.wait(40, 7, 20, record);
    made.kernel("update", 7, 50, (450, 500));
    // The second of two waits for one stream is for all that was there by then.
    let record = made.record(60);
    made.wait(61, 7, 20, record);
    made.kernel("last", 7, 70, (510, 520));
    let graph = graph(&made);
    assert_eq!((graph.awaited("update"), graph.awaited("last"), graph.left_out), (Some("first"), Some("second"), 0));
}

/// What a stream with nothing of its own passes on.
#[test]
fn an_event_stands_for_what_its_stream_was_told_to_wait_for() {
    let mut made = ByHand::default();
    made.kernel("reduce", 20, 10, (100, 900));
    let record = made.record(20);
    made.wait(30, 28, 20, record);
    let record = made.record(40);
    made.wait(50, 7, 28, record);
    made.kernel("update", 7, 60, (1_000, 1_010));
    made.kernel("aside", 28, 70, (1_020, 1_030));
    let graph = graph(&made);
    assert_eq!((graph.awaited("update"), graph.awaited("aside"), graph.left_out), (Some("reduce"), Some("reduce"), 0));
}

#[test]
fn where_only_the_stream_is_named_it_is_taken_as_it_was() {
    let mut made = ByHand::default();
    made.kernel("reduce", 20, 10, (100, 900));
    for (at, named) in [(30, r#""wait_on_stream":20"#), (50, r#""wait_on_stream":-1"#)] {
        let number = made.call("cudaStreamWaitEvent", at, 1);
        made.waits("Stream Wait Event", number, at, 7, named);
        made.kernel(if at == 30 { "told" } else { "untold" }, 7, at + 5, (960 + at, 965 + at));
    }
    let graph = graph(&made);
    assert_eq!((graph.awaited("told"), graph.awaited("untold"), graph.left_out), (Some("reduce"), None, 0));
}

#[test]
fn what_times_contradict_is_left_out_and_counted() {
    let mut made = ByHand::default();
    made.kernel("reduce", 20, 10, (100, 900));
    let record = made.record(20);
    // Not over yet.
    made.wait(30, 7, 20, record);
    made.kernel("early", 7, 40, (500, 600));
    // Recorded later than it is waited for.
    made.wait(50, 7, 20, made.calls() + 2);
    made.record(60);
    made.kernel("late", 7, 70, (950, 960));
    // Each waits for the other, and a stream for itself.
    made.wait(80, 20, 7, made.calls() + 2);
    made.record(81);
    made.wait(82, 7, 7, made.calls());
    made.kernel("again", 20, 90, (970, 980));
    let graph = graph(&made);
    assert_eq!([graph.awaited("early"), graph.awaited("late"), graph.awaited("again")], [None; 3]);
    assert_eq!(graph.left_out, 3);
}

/// The recording of a trace often begins between the two.
#[test]
fn an_event_from_before_the_trace_is_no_contradiction() {
    let mut made = ByHand::default();
    made.kernel("reduce", 20, 10, (100, 900));
    made.wait(30, 7, 20, 7_777);
    made.kernel("update", 7, 40, (905, 950));
    let graph = graph(&made);
    assert_eq!((graph.awaited("update"), graph.left_out), (None, 0), "nor is it known what is waited for");
}

#[test]
fn the_host_waits_for_its_event_and_asking_is_no_waiting() {
    for (call, expected) in [("cudaEventSynchronize", Some("first")), ("cudaEventQuery", None)] {
        let mut made = ByHand::default();
        made.kernel("first", 20, 10, (100, 200));
        let record = made.record(20);
        made.kernel("second", 20, 30, (201, 299));
        let number = made.call(call, 40, 260);
        made.waits("Event Sync", number, 41, -1, &ByHand::awaited(20, record));
        made.kernel("after", 20, 310, (320, 330));
        let graph = graph(&made);
        assert_eq!((graph.host_awaits(), graph.left_out), (expected.into_iter().collect(), 0), "{call}");
    }
}

#[test]
fn a_call_that_returned_before_its_event_did_not_wait_for_it() {
    let mut made = ByHand::default();
    made.kernel("first", 20, 10, (100, 500));
    let record = made.record(20);
    let number = made.call("cudaEventSynchronize", 40, 60);
    made.waits("Event Sync", number, 41, -1, &ByHand::awaited(20, record));
    made.kernel("after", 20, 310, (520, 530));
    let graph = graph(&made);
    assert_eq!((graph.host_awaits(), graph.left_out), (Vec::new(), 1));
}

#[test]
fn within_a_graph_waits_are_inferred_as_ever() {
    let mut made = ByHand::default();
    let number = made.call("cudaGraphLaunch", 10, 5);
    for (name, stream, from, to) in [("side", 20, 100, 900), ("main", 7, 905, 950)] {
        made.event("kernel", name, (0, stream), (from, to - from), &format!(r#""correlation":{number},"stream":{stream}"#));
    }
    made.kernel("reduce", 28, 960, (1_000, 1_100));
    let record = made.record(970);
    made.wait(980, 7, 28, record);
    made.kernel("update", 7, 990, (1_150, 1_200));
    let graph = graph(&made);
    assert_eq!((graph.awaited("main"), graph.awaited("update")), (Some("side"), Some("reduce")));
}
