//! A part, the same with right checksums, which would keep a fuzzer from what reads the blocks, and the bytes as columns.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankscope_part_files::{Columns, Kind, laid_bare, read_part};

fuzz_target!(|bytes: &[u8]| {
    drop(read_part(bytes));
    drop(read_part(&laid_bare(bytes)[..]));
    columns(Columns::new(Kind(1), bytes));
});

/// Every column as whatever it can be read as.
fn columns(mut columns: Columns<'_>) {
    while columns.unsigned().is_ok()
        || columns.signed().is_ok()
        || columns.sorted().is_ok()
        || columns.intervals().is_ok()
        || columns.enums(u8::MAX).is_ok()
        || columns.bits().is_ok()
        || columns.strings().is_ok()
        || columns.wide().is_ok()
    {}
}
