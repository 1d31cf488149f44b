//! What a profiler records of who waited for whom decides what a rank is told to have been late by.
//!
//! On each rank a stream waits for `prepare`, which takes twice as long on rank 2. Beside it `decoy` runs on another stream, as long on
//! every rank, and on rank 2 it happens to end just before the work that waits starts: by times alone that is what was waited for.

use std::io::Cursor;

use rankscope_document::AdviceRule;
use rankscope_formats::{ReadOptions, read};
use rankscope_testkit::ByHand;
use rankscope_trace::Trace;

use crate::answered::answered;

const RANKS: u64 = 4;
const STEPS: u64 = 12;
const SLOW: u64 = 2;

/// Streams.
const COMPUTE: i64 = 7;
const PREPARES: i64 = 20;
const DECOYS: i64 = 21;

/// One step of a rank.
fn add_step(made: &mut ByHand, number: u64, is_slow: bool, records_waits: bool) {
    let base = 1_000_000 + number * 5_500;
    made.event("user_annotation", &format!("ProfilerStep#{number}"), (9, 9), (base, 5_490), "");
    let ready = base + if is_slow { 4_080 } else { 2_080 };
    made.kernel("prepare", PREPARES, base + 10, (base + 100, ready));
    let record = made.record(base + 15);
    made.kernel("decoy", DECOYS, base + 20, (base + 100, base + 4_100));
    match records_waits {
        true => made.wait(base + 25, COMPUTE, PREPARES, record),
        false => drop(made.call("cudaStreamWaitEvent", base + 25, 1)),
    }
    let starts = ready + 30;
    made.kernel("gemm", COMPUTE, base + 40, (starts, starts + 1_000));
    let message = concat!(
        r#""Collective name":"allreduce","In msg nelems":1048576,"Out msg nelems":1048576,"Group size":4,"dtype":"Float","#,
        r#""Process Group Name":"0","Process Group Description":"default_pg","Process Group Ranks":"[0, 1, 2, 3]""#
    );
    let name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
    made.kernel_with(name, COMPUTE, base + 50, (starts + 1_010, base + 5_400), message);
    made.call("cudaDeviceSynchronize", base + 60, 5_350);
}

fn job(records_waits: bool) -> Vec<Trace> {
    let trace = |rank: u64| {
        let mut made = ByHand::default();
        (0..STEPS).for_each(|number| add_step(&mut made, number, rank == SLOW, records_waits));
        let info = format!(r#"{{"backend":"nccl","rank":{rank},"world_size":{RANKS}}}"#);
        let text = format!(r#"{{"distributedInfo":{info},"traceEvents":{}}}"#, made.events());
        let options = ReadOptions::default().with_label(format!("rank{rank}.json"));
        read(Cursor::new(text.into_bytes()), &options).expect("it is JSON").remove(0).trace.expect("it is a trace")
    };
    (0..RANKS).map(trace).collect()
}

#[test]
fn with_the_records_the_first_advice_names_what_was_waited_for() {
    let document = answered(job(true));
    let first = document.advice.first().expect("an advice");
    assert_eq!(
        (&first.rule, first.name.as_str(), first.ranks.as_slice()),
        (&AdviceRule::StragglerRank, "prepare", [SLOW as u32].as_slice())
    );
    assert_eq!(document.blame[0].reasons[0].name, "prepare", "{:?}", document.blame[0]);
}

#[test]
fn without_them_it_is_what_happened_to_end_by_then() {
    let document = answered(job(false));
    assert_eq!(document.blame[0].reasons[0].name, "decoy", "{:?}", document.blame[0]);
    let named: Vec<&str> = document.advice.iter().map(|advice| advice.name.as_str()).collect();
    assert!(!named.contains(&"prepare"), "the other test is of no worth: {named:?}");
}
