//! A list of operations on three sessions of clock synchronisation, which may do anything but harm.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankscope_testkit::operations;

fuzz_target!(|bytes: &[u8]| {
    operations::operate(bytes);
});
