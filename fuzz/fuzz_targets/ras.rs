//! What NCCL's RAS service answers, and what it says by itself.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rankscope_hang::{RasAnswer, RasEvent};
use rankscope_testkit::mutations::{Shape, mutated_in_place};

fuzz_target!(|bytes: &[u8]| {
    let answer = RasAnswer::read(bytes);
    if let (Ok(answer), Ok(event)) = (&answer, RasEvent::read(bytes)) {
        answer.rank_of(&event);
    }
});

fuzz_mutator!(|room: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match seed % 2 {
        0 => fuzzer_mutate(room, size, max_size),
        _ => mutated_in_place(Shape::Json, &mut room[..max_size], size, seed),
    }
});
