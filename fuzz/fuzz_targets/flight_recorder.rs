//! Dumps of torch's flight recorder.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rankscope_hang::{Dump, Evidence};
use rankscope_testkit::mutations::{Shape, mutated_in_place};

fuzz_target!(|bytes: &[u8]| {
    let mut evidence = Evidence::default();
    for rank in 0..2 {
        if let Ok(dump) = Dump::read(bytes) {
            evidence.add(rank, "fuzzed", dump);
        }
    }
    drop(evidence.verdict("fuzzed"));
});

fuzz_mutator!(|room: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match seed % 2 {
        0 => fuzzer_mutate(room, size, max_size),
        _ => mutated_in_place(Shape::Json, &mut room[..max_size], size, seed),
    }
});
