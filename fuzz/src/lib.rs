//! What targets share: inputs that are changed within what they say, and not only as bytes.

#[doc(hidden)]
pub use rankscope_testkit::mutations;

/// Has half of the changes made by the fuzzer, and half within the [shape](mutations::Shape) of this name.
#[macro_export]
macro_rules! changed_within {
    ($shape:ident) => {
        libfuzzer_sys::fuzz_mutator!(|room: &mut [u8], size: usize, max_size: usize, seed: u32| {
            match seed % 2 {
                0 => libfuzzer_sys::fuzzer_mutate(room, size, max_size),
                _ => $crate::mutations::mutated_in_place($crate::mutations::Shape::$shape, &mut room[..max_size], size, seed),
            }
        });
    };
}
