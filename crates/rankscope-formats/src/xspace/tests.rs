mod clocks;
mod damage;
mod meaning;
mod picture;
mod round_trip;
mod several;

use rankscope_trace::Trace;

use crate::{ArgsPolicy, ReadOptions, Scope};

const ALL: ReadOptions = ReadOptions { label: String::new(), args: ArgsPolicy::All, scope: Scope::All };

/// Two JAX processes on one machine, CPU only; the second file is of the same run.
const FIXTURES: [&[u8]; 2] = [
    include_bytes!("../../../../fixtures/jax-cpu-2procs/process0.xplane.pb"),
    include_bytes!("../../../../fixtures/jax-cpu-2procs/process1.xplane.pb"),
];

fn written(trace: &Trace) -> Vec<u8> {
    let mut bytes = Vec::new();
    super::write(trace, &mut bytes).unwrap();
    bytes
}
