//! A part, the same with right checksums, which would keep a fuzzer from what reads the blocks, and the bytes as columns.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankscope_part_files::{laid_bare, read_as_any_columns, read_part};

fuzz_target!(|bytes: &[u8]| {
    drop(read_part(bytes));
    drop(read_part(&laid_bare(bytes)[..]));
    read_as_any_columns(bytes);
});
