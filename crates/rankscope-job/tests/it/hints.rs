//! What is known of hosts and clocks serves to pair collectives that do not tell by themselves which are one.

use rankscope_formats::Scope;
use rankscope_job::{Facts, Job, Judging, Parts, Rules, judge};

use crate::bench::{judged, part, place, trace};

/// All-reduces without numbers, one every 100 us, of which this rank recorded those in `numbers`.
fn regular(rank: u32, host: &str, numbers: std::ops::Range<u32>) -> Vec<u8> {
    let one = |number: u32| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": 0, "tid": 7,
            "ts": {}, "dur": 20, "args": {{"device": 0, "stream": 7, "Collective name": "allreduce", "Process Group Name": "0",
            "Group size": 2, "In msg nelems": 1024, "Out msg nelems": 1024, "dtype": "Float"}}}}"#,
            1_000_000 + number * 100
        )
    };
    let events: Vec<String> = numbers.map(one).collect();
    let head = format!(r#""distributedInfo": {{"rank": {rank}, "world_size": 2}}, "host_name": "{host}""#);
    format!(r#"{{{head}, "traceEvents": [{}]}}"#, events.join(", ")).into_bytes()
}

/// Two ranks, the second of which recorded later and stopped earlier.
fn parts(hosts: [&str; 2]) -> Parts {
    let mut parts = Parts::new(Rules::default());
    for (rank, (host, numbers)) in (0..).zip(hosts.into_iter().zip([0..400, 3..393])) {
        let trace = trace(&format!("rank{rank}.json"), regular(rank, host, numbers), Scope::All);
        parts.add(place(rank as usize), part(trace)).expect("one part a place");
    }
    parts
}

/// How many of the second rank's collectives were matched with those that they are.
fn right(job: &Job) -> usize {
    let is_right = |of: &rankscope_collectives::Members| of.len() == 2 && of.at(0).collective() == of.at(1).collective() + 3;
    job.matched.instances.iter().filter(|one| is_right(&one.members)).count()
}

#[test]
fn what_repeats_perfectly_is_matched_by_the_clock_that_ranks_share() {
    assert_eq!(right(&judged(parts(["node-a", "node-a"]))), 390);
    assert_eq!(right(&judged(parts(["node-a", "node-b"]))), 0, "nothing tells which they are");
    let facts = |nodes: [u32; 2]| {
        let mut facts = Facts::default();
        facts.nodes = (0..).zip(nodes).collect();
        facts
    };
    let on_nodes =
        |nodes: [u32; 2]| judge(parts(["localhost", "localhost"]), &facts(nodes), Judging::default()).expect("judged");
    assert_eq!(right(&on_nodes([5, 5])), 390);
    assert_eq!(right(&on_nodes([5, 6])), 0);
}
