//! Pickles of plain data.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| drop(rankscope_pickle::read(bytes)));
