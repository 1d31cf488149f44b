//! Recordings, live and packed, these with right checksums, too: any bytes give a trace or an error, never a panic.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rankscope_formats::{ReadOptions, recording};
use rankscope_testkit::mutations::{Shape, mutated_in_place};

fuzz_target!(|bytes: &[u8]| {
    drop(recording::packed::read(bytes, &ReadOptions::default()));
    drop(recording::packed::read(&recording::packed::laid_bare(bytes)[..], &ReadOptions::default()));
    drop(recording::read_live(Cursor::new(bytes), &ReadOptions::default()));
});

fuzz_mutator!(|room: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match seed % 2 {
        0 => fuzzer_mutate(room, size, max_size),
        _ => mutated_in_place(Shape::Words, &mut room[..max_size], size, seed),
    }
});
