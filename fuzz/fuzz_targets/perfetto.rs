//! Perfetto: any bytes give a trace or an error, never a panic.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rankscope_formats::{ReadOptions, perfetto};
use rankscope_testkit::mutations::{Shape, mutated_in_place};

fuzz_target!(|bytes: &[u8]| {
    drop(perfetto::read(bytes, &ReadOptions::default()));
});

fuzz_mutator!(|room: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match seed % 2 {
        0 => fuzzer_mutate(room, size, max_size),
        _ => mutated_in_place(Shape::Protobuf, &mut room[..max_size], size, seed),
    }
});
