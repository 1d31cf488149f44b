//! Recordings, live and packed, these with right checksums, too: any bytes give a trace or an error, never a panic.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use rankscope_formats::{ReadOptions, recording};

fuzz_target!(|bytes: &[u8]| {
    drop(recording::packed::read(bytes, &ReadOptions::default()));
    drop(recording::packed::read(&recording::packed::laid_bare(bytes)[..], &ReadOptions::default()));
    drop(recording::read_live(Cursor::new(bytes), &ReadOptions::default()));
});

rankscope_fuzz::changed_within!(Words);
