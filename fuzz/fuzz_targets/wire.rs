//! The protobuf primitives: a message in memory, two levels deep, and the same bytes as a stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankscope_formats::wire;

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

rankscope_fuzz::changed_within!(Protobuf);
