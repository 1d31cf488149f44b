//! A plan in its compact form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankscope_dispatch::binary;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((plan, rows)) = binary::decode(bytes) {
        assert_eq!(binary::encode(&plan, &rows), bytes, "every plan has one encoding");
    }
});
