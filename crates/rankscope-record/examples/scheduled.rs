//! Records two steps of every five, and says what each recording holds: `cargo run --release --example scheduled`.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::hint::black_box;

use rankscope_record::schedule::{Cycle, Schedule, ScheduledProfiler};
use rankscope_record::{SessionOptions, record_function, record_op};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Two steps to wait, one to warm up, two to record; three times over.
    let schedule = Schedule::cycle(2, 1, 2)?.repeated(3);
    let mut profiler = ScheduledProfiler::new(SessionOptions::default(), schedule).on_trace_ready(tell);
    profiler.start()?;
    for step in 0..20 {
        train(step);
        // What goes wrong with a recording is no reason to stop training.
        if let Err(error) = profiler.step() {
            println!("step {step} goes unrecorded: {error}");
        }
    }
    profiler.stop()?;
    Ok(())
}

fn train(step: u64) {
    let _forward = record_function!("forward", step = step);
    for layer in 0..4 {
        let _op = record_op!("matmul", layer = layer);
        black_box((0..20_000_u64).map(|x| x.wrapping_mul(step)).sum::<u64>());
    }
}

fn tell(cycle: &Cycle) {
    let Some(stopped) = &cycle.stopped else { return };
    let report = &stopped.report;
    println!(
        "cycle {}, steps {:?}: {} events, {} lost, stopped in {} us",
        cycle.number,
        cycle.steps,
        report.events(),
        report.dropped(),
        report.phases.stop_ns / 1000
    );
}
