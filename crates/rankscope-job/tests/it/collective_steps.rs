//! Steps where devices run behind the host: a collective is of the step whose work it is among, as all other work, and a mark that one
//! rank lost changes nothing but the steps.

use rankscope_formats::Scope;
use rankscope_job::{Analysed, JobTable, Parts, Rules};

use crate::bench::{judged, part, place, trace};

/// Steps of 100 us on the host. What they launch runs 100 us later, a product and an exchange of each, and the device's own
/// annotations of the steps hold none of it, as those of MI300X are.
fn behind_the_host(rank: u32, steps: &[i64], marked: &[i64]) -> Vec<u8> {
    let mut events = String::new();
    let mut add = |event: &str| {
        if !events.is_empty() {
            events.push(',');
        }
        events.push_str(event);
    };
    for step in steps {
        let asked_us = step * 100;
        let ran_us = asked_us + 110;
        let mark = format!(r#""ph": "X", "name": "ProfilerStep#{step}""#);
        if marked.contains(step) {
            add(&format!(r#"{{{mark}, "cat": "user_annotation", "pid": 9, "tid": 9, "ts": {asked_us}, "dur": 100}}"#));
            add(&format!(r#"{{{mark}, "cat": "gpu_user_annotation", "pid": 0, "tid": 7, "ts": {}, "dur": 1}}"#, ran_us + 85));
        }
        for (name, id, at_us) in [("gemm", step * 10, 0), ("ncclDevKernel_AllReduce", step * 10 + 1, 40)] {
            let launch = format!(r#""name": "cudaLaunchKernel", "args": {{"correlation": {id}}}"#);
            add(&format!(
                r#"{{"ph": "X", "cat": "cuda_runtime", "pid": 9, "tid": 9, "ts": {}, "dur": 1, {launch}}}"#,
                asked_us + 5 + at_us / 20
            ));
            let args = format!(r#""args": {{"device": 0, "stream": 7, "correlation": {id}}}"#);
            add(&format!(
                r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {}, "dur": 30, {args}}}"#,
                ran_us + at_us
            ));
        }
    }
    let header =
        format!(r#""distributedInfo": {{"rank": {rank}, "world_size": 2}}, "baseTimeNanoseconds": 1700000000000000000"#);
    format!(r#"{{"schemaVersion": 1, {header}, "traceEvents": [{events}]}}"#).into_bytes()
}

/// Two ranks that did `steps`; the second marked these of them.
fn job(steps: &[i64], marked: &[i64]) -> Analysed {
    let mut parts = Parts::new(Rules::default());
    for (rank, marked) in [(0, steps), (1, marked)] {
        let trace = trace(&format!("rank{rank}.json"), behind_the_host(rank, steps, marked), Scope::All);
        parts.add(place(rank as usize), part(trace)).expect("one part a place");
    }
    Analysed::of(judged(parts), None).expect("no step is asked for")
}

#[test]
fn a_collective_is_of_the_step_that_launched_it() {
    let analysed = job(&[1, 2], &[1, 2]);
    let tables = analysed.collective_tables(&JobTable::ALL).expect("they were asked for");
    let document = analysed.document("a job");
    let windows: Vec<_> = document.ranks[0].steps.iter().map(|step| step.step).collect();
    assert_eq!(windows, [1, 2]);
    let rows = tables.nccl_implicit_sync.expect("the table");
    let steps: Vec<_> = rows.iter().map(|row| (row.matched, row.step)).collect();
    assert_eq!(steps, [(true, Some(1)), (true, Some(2))]);
}

#[test]
fn a_mark_that_one_rank_lost_is_said_and_leaves_no_time_out() {
    let (whole, lost) = (job(&[1, 2, 3], &[1, 2, 3]).document("a job"), job(&[1, 2, 3], &[1, 3]).document("a job"));
    for (own, other) in whole.ranks.iter().zip(&lost.ranks) {
        assert_eq!(own.time_ns, other.time_ns, "rank {}", own.rank);
    }
    let text: Vec<_> = lost.cautions.iter().map(|caution| (caution.ranks.as_slice(), caution.text.as_str())).collect();
    assert!(text.iter().any(|(ranks, text)| *ranks == [1] && text.starts_with("Rank 1 did not mark step 2")), "{text:?}");
    assert!(!whole.cautions.iter().any(|caution| caution.text.contains("did not mark")));
}
