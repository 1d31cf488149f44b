//! A rank of a run with the work of its GPUs: `rankscope run --ranks 2 -- target/debug/examples/record_rocm_rank`, and `rankscope report` of what that
//! leaves. Here nothing launches a kernel; a program that does has it below the span that was open.
#![expect(clippy::print_stdout, reason = "it says what became of it")]

use std::time::Duration;

use rankscope_record::{begin_step, record_function};

fn main() {
    let run = rankscope_rocprofiler::join_run();
    for step in 0..10 {
        let _step = begin_step(step);
        let _span = record_function!("forward");
        // Here kernels would be launched.
        std::thread::sleep(Duration::from_millis(2));
    }
    match &run {
        Some(run) => println!("rank {} is recorded into {}", run.rank(), run.file().display()),
        None => println!("this is no rank of a run: start it by `rankscope run`"),
    }
}
