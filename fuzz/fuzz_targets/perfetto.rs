//! Perfetto: any bytes give a trace or an error, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankscope_formats::{ReadOptions, perfetto};

fuzz_target!(|bytes: &[u8]| {
    drop(perfetto::read(bytes, &ReadOptions::default()));
});

rankscope_fuzz::changed_within!(Protobuf);
