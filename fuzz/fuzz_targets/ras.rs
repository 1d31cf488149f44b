//! What NCCL's RAS service answers, and what it says by itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankscope_hang::{RasAnswer, RasEvent};

fuzz_target!(|bytes: &[u8]| {
    let answer = RasAnswer::read(bytes);
    if let (Ok(answer), Ok(event)) = (&answer, RasEvent::read(bytes)) {
        answer.rank_of(&event);
    }
});

rankscope_fuzz::changed_within!(Json);
