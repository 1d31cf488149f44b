//! Dumps of torch's flight recorder.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankscope_hang::{Dump, Evidence};

fuzz_target!(|bytes: &[u8]| {
    let mut evidence = Evidence::default();
    for rank in 0..2 {
        if let Ok(dump) = Dump::read(bytes) {
            evidence.add(rank, "fuzzed", dump);
        }
    }
    drop(evidence.verdict("fuzzed"));
});

rankscope_fuzz::changed_within!(Json);
