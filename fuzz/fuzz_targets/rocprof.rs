//! rocprofv3's JSON: any bytes give traces or an error, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankscope_formats::{ReadOptions, rocprof};

fuzz_target!(|bytes: &[u8]| {
    drop(rocprof::read_all(bytes, &ReadOptions::default()));
});

rankscope_fuzz::changed_within!(Json);
