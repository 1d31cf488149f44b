//! What `rankscope run` costs a job that keeps two processors busy, in processor time and in time on the wall. It prints and judges
//! nothing, since other load on the host changes both: `cargo test --release --test run_overhead -- --ignored --nocapture`.
#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement that prints")]

mod running;

use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use running::Room;

/// The same work each time, some seconds of it, and how long it took by its own word.
const JOB: &str = "begin=$(date +%s%N); for k in 1 2; do awk 'BEGIN { for (i = 0; i < 60000000; i++) x += i % 7 }' & done; wait; \
                   echo $(($(date +%s%N) - begin))";

const ROUNDS: usize = 7;

#[derive(Clone, Copy, Debug)]
struct Cost {
    /// From the job's first instruction to its last.
    job_s: f64,
    /// Of the whole command.
    wall_s: f64,
    /// Of all its processes, ours among them.
    processor_s: f64,
}

fn cost(mut command: Command) -> Cost {
    let (begun, before) = (Instant::now(), processor_s());
    let output = command.stderr(Stdio::null()).output().unwrap();
    assert!(output.status.success());
    let job_ns: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
    Cost { job_s: job_ns / 1e9, wall_s: begun.elapsed().as_secs_f64(), processor_s: processor_s() - before }
}

/// What ended children used until now, and theirs.
fn processor_s() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // Children's user and system time, in hundredths of a second.
    (fields[13].parse::<f64>().unwrap() + fields[14].parse::<f64>().unwrap()) / 100.0
}

#[test]
#[ignore = "a measurement of a minute"]
fn overhead() {
    let mut rows = Vec::new();
    for round in 0..ROUNDS {
        let room = Room::new();
        let without = || {
            let mut command = Command::new("sh");
            command.args(["-c", JOB]);
            cost(command)
        };
        let with = || cost(room.command(&["--no-report", "--", "sh", "-c", JOB]));
        // Neither is always the first.
        let (without, with) = if round % 2 == 0 {
            let first = without();
            (first, with())
        } else {
            let first = with();
            (without(), first)
        };
        println!("without {without:?}, with {with:?}");
        rows.push((without, with));
    }
    let median = |of: fn(&Cost) -> f64| {
        let mut ratios: Vec<f64> = rows.iter().map(|(without, with)| of(with) / of(without)).collect();
        ratios.sort_by(f64::total_cmp);
        (ratios[ROUNDS / 2] - 1.0) * 100.0
    };
    println!("median over {ROUNDS} pairs, with against without:");
    println!("  the job's own time  {:+.2} %", median(|cost| cost.job_s));
    println!("  processor time      {:+.2} %", median(|cost| cost.processor_s));
    println!("  the whole command   {:+.2} %", median(|cost| cost.wall_s));
}
