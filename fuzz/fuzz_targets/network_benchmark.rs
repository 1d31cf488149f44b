//! What nccl-tests and OSU's benchmarks print, and a network fitted to it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankscope_dispatch::network::calibrate;

fuzz_target!(|text: &str| {
    drop(calibrate::read(text, None, Some(8)).and_then(|samples| calibrate::calibrate(&samples.rows)));
});
