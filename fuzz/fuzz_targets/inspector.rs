//! Lines of NCCL's Inspector: any bytes give traces or an error, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankscope_formats::{ReadOptions, inspector};

fuzz_target!(|bytes: &[u8]| {
    drop(inspector::read_all(bytes, &ReadOptions::default()));
});

rankscope_fuzz::changed_within!(Json);
