//! A packet of clock synchronisation, as it comes and rightly signed: it is taken or counted, and nothing panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankscope_testkit::operations;

fuzz_target!(|bytes: &[u8]| {
    operations::deliver(bytes);
});
