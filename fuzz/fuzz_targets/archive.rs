//! Whatever the bytes turn out to be: gzip, zstd, zip, tar, or a trace of any format.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use rankscope_formats::{ReadOptions, read};

fuzz_target!(|bytes: &[u8]| {
    drop(read(Cursor::new(bytes), &ReadOptions::default()));
});
