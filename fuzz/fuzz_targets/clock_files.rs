//! Files of clocks: windows, offsets, snapshots and logs of packets.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankscope_clock::{files, probe_log};

fuzz_target!(|bytes: &[u8]| {
    drop(files::read_windows("fuzzed", bytes));
    drop(files::read_offsets(bytes));
    drop(files::read_snapshots(bytes));
    drop(probe_log::parse(bytes));
});

rankscope_fuzz::changed_within!(Json);
