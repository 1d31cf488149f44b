//! Files of clocks: windows, offsets, snapshots and logs of packets.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rankscope_clock::{files, probe_log};
use rankscope_testkit::mutations::{Shape, mutated_in_place};

fuzz_target!(|bytes: &[u8]| {
    drop(files::read_windows("fuzzed", bytes));
    drop(files::read_offsets(bytes));
    drop(files::read_snapshots(bytes));
    drop(probe_log::parse(bytes));
});

fuzz_mutator!(|room: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match seed % 2 {
        0 => fuzzer_mutate(room, size, max_size),
        _ => mutated_in_place(Shape::Json, &mut room[..max_size], size, seed),
    }
});
