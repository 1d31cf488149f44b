//! A part as a file, and the same bytes as columns, which a checksum would keep a fuzzer from.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankscope_part_files::{Columns, Kind, Reader};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(reader) = Reader::open(bytes) {
        for kind in reader.kinds() {
            reader.blocks(kind).filter_map(Result::ok).for_each(|block| columns(block.columns()));
        }
    }
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
