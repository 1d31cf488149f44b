//! What a profiler records of who waited for whom decides what a rank is told to have been late by.
//!
//! On each rank a stream waits for `prepare`, which takes twice as long on rank 2. Beside it `decoy` runs on another stream, as long on
//! every rank, and on rank 2 it happens to end just before the work that waits starts: by times alone that is what was waited for.

use std::io::Cursor;

use rankscope_document::AdviceRule;
use rankscope_formats::{ReadOptions, read};
use rankscope_trace::Trace;

use crate::answered::answered;

const RANKS: u64 = 4;
const STEPS: u64 = 12;
const SLOW: u64 = 2;

/// Streams.
const COMPUTE: u64 = 7;
const PREPARES: u64 = 20;
const DECOYS: u64 = 21;

/// One rank's trace in the making: its events as JSON, in microseconds.
#[derive(Default)]
struct Made {
    events: Vec<String>,
    calls: u64,
}

impl Made {
    fn event(&mut self, category: &str, name: &str, place: (u64, u64), (from, to): (u64, u64), args: &str) {
        let ((pid, tid), dur) = (place, to - from);
        self.events.push(format!(
            r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":{pid},"tid":{tid},"ts":{from},"dur":{dur},"args":{{{args}}}}}"#
        ));
    }

    fn call(&mut self, name: &str, during: (u64, u64)) -> u64 {
        self.calls += 1;
        self.event("cuda_runtime", name, (9, 9), during, &format!(r#""correlation":{}"#, self.calls));
        self.calls
    }

    fn kernel(&mut self, name: &str, stream: u64, launched: u64, during: (u64, u64), args: &str) {
        let number = self.call("cudaLaunchKernel", (launched, launched + 2));
        let args = format!(r#""correlation":{number},"stream":{stream},"device":0{args}"#);
        self.event("kernel", name, (0, stream), during, &args);
    }

    fn step(&mut self, number: u64, is_slow: bool, records_waits: bool) {
        let base = 1_000_000 + number * 5_500;
        self.event("user_annotation", &format!("ProfilerStep#{number}"), (9, 9), (base, base + 5_490), "");
        let ready = base + if is_slow { 4_080 } else { 2_080 };
        self.kernel("prepare", PREPARES, base + 10, (base + 100, ready), "");
        let recorded = self.call("cudaEventRecord", (base + 15, base + 17));
        self.kernel("decoy", DECOYS, base + 20, (base + 100, base + 4_100), "");
        let waits = self.call("cudaStreamWaitEvent", (base + 25, base + 27));
        if records_waits {
            let awaited = format!(
                r#""correlation":{waits},"stream":{COMPUTE},"wait_on_stream":{PREPARES},"wait_on_cuda_event_record_corr_id":{recorded},"wait_on_cuda_event_id":3"#
            );
            self.event("cuda_sync", "Stream Wait Event", (0, COMPUTE), (base + 25, base + 26), &awaited);
        }
        let starts = ready + 30;
        self.kernel("gemm", COMPUTE, base + 40, (starts, starts + 1_000), "");
        let message = concat!(
            r#","Collective name":"allreduce","In msg nelems":1048576,"Out msg nelems":1048576,"Group size":4,"dtype":"Float","#,
            r#""Process Group Name":"0","Process Group Description":"default_pg","Process Group Ranks":"[0, 1, 2, 3]""#
        );
        let name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
        self.kernel(name, COMPUTE, base + 50, (starts + 1_010, base + 5_400), message);
        self.call("cudaDeviceSynchronize", (base + 60, base + 5_410));
    }
}

fn job(records_waits: bool) -> Vec<Trace> {
    let trace = |rank: u64| {
        let mut made = Made::default();
        (0..STEPS).for_each(|number| made.step(number, rank == SLOW, records_waits));
        let info = format!(r#"{{"backend":"nccl","rank":{rank},"world_size":{RANKS}}}"#);
        let text = format!(r#"{{"distributedInfo":{info},"traceEvents":[{}]}}"#, made.events.join(","));
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
