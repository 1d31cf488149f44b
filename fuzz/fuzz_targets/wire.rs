//! The protobuf primitives: a message in memory, two levels deep, and the same bytes as a stream.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rankscope_formats::wire;
use rankscope_testkit::mutations::{Shape, mutated_in_place};

fuzz_target!(|bytes: &[u8]| {
    for (_, value) in wire::Fields::of(bytes).filter_map(Result::ok) {
        wire::Fields::of(value.bytes()).count();
        wire::packed_varints(value.bytes()).count();
    }
    let mut stream = wire::Stream::new(bytes);
    while let Ok(Some(tag)) = stream.tag() {
        if !stream.skip(tag).unwrap_or(false) {
            break;
        }
    }
});

fuzz_mutator!(|room: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match seed % 2 {
        0 => fuzzer_mutate(room, size, max_size),
        _ => mutated_in_place(Shape::Protobuf, &mut room[..max_size], size, seed),
    }
});
