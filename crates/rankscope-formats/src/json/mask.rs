//! Where JSON's structure lies in 64 bytes, as bit masks: bit `i` speaks of byte `i`.
//!
//! SSE2 belongs to every x86-64, so no detection is needed there; where AVX2 was detected, it takes half the instructions;
//! elsewhere a plain loop does the same, slower.

/// The bytes of a block that structure can turn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) quotes: u64,
    pub(super) backslashes: u64,
    /// `{` and `[`.
    pub(super) opens: u64,
    /// `}` and `]`.
    pub(super) closes: u64,
    /// Below 0x20: illegal inside a string.
    pub(super) controls: u64,
}

#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn block(bytes: &[u8; 64]) -> Block {
    #[expect(unsafe_code, reason = "the compiler does not count on SSE2 by itself, though every x86-64 has it")]
    // SAFETY: the x86-64 baseline includes SSE2, and the function touches no memory but its argument, through safe code.
    unsafe {
        block_sse2(bytes)
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn block_sse2(bytes: &[u8; 64]) -> Block {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8};
    let mut found = Block { quotes: 0, backslashes: 0, opens: 0, closes: 0, controls: 0 };
    for (lane, part) in bytes.as_chunks::<16>().0.iter().enumerate() {
        let (low, high) = (part.first_chunk::<8>(), part.last_chunk::<8>());
        let word = |half: Option<&[u8; 8]>| i64::from_le_bytes(*half.expect("a part has 16 bytes"));
        let bytes = _mm_set_epi64x(word(high), word(low));
        // Brackets and braces differ in bit 5 only.
        let folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        let bits = |matched| u64::from(_mm_movemask_epi8(matched) as u32) << (16 * lane);
        let equal = |to: u8| bits(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(to as i8)));
        found.quotes |= equal(b'"');
        found.backslashes |= equal(b'\\');
        found.opens |= bits(_mm_cmpeq_epi8(folded, _mm_set1_epi8(b'{' as i8)));
        found.closes |= bits(_mm_cmpeq_epi8(folded, _mm_set1_epi8(b'}' as i8)));
        found.controls |= bits(_mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes));
    }
    found
}

/// The same, 32 bytes at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn block_avx2(bytes: &[u8; 64]) -> Block {
    use std::arch::x86_64::{
        _mm256_cmpeq_epi8, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set_epi64x, _mm256_set1_epi8,
    };
    let mut found = Block { quotes: 0, backslashes: 0, opens: 0, closes: 0, controls: 0 };
    for (lane, part) in bytes.as_chunks::<32>().0.iter().enumerate() {
        let words = part.as_chunks::<8>().0;
        let word = |at: usize| i64::from_le_bytes(words[at]);
        let bytes = _mm256_set_epi64x(word(3), word(2), word(1), word(0));
        let folded = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
        let bits = |matched| u64::from(_mm256_movemask_epi8(matched) as u32) << (32 * lane);
        let equal = |to: u8| bits(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(to as i8)));
        found.quotes |= equal(b'"');
        found.backslashes |= equal(b'\\');
        found.opens |= bits(_mm256_cmpeq_epi8(folded, _mm256_set1_epi8(b'{' as i8)));
        found.closes |= bits(_mm256_cmpeq_epi8(folded, _mm256_set1_epi8(b'}' as i8)));
        found.controls |= bits(_mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes));
    }
    found
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn block(bytes: &[u8; 64]) -> Block {
    plain(bytes)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn plain(bytes: &[u8; 64]) -> Block {
    let mask = |is: fn(u8) -> bool| bytes.iter().enumerate().fold(0, |mask, (at, byte)| mask | u64::from(is(*byte)) << at);
    Block {
        quotes: mask(|byte| byte == b'"'),
        backslashes: mask(|byte| byte == b'\\'),
        opens: mask(|byte| matches!(byte, b'{' | b'[')),
        closes: mask(|byte| matches!(byte, b'}' | b']')),
        controls: mask(|byte| byte < 0x20),
    }
}

/// Bit `i` is the parity of bits `0..=i`: from quotes to the inside of strings.
pub(super) fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_ways_see_the_same(bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(&b"\"\\{}[]\n\x1f "[..])], 64)) {
            let bytes: [u8; 64] = bytes.try_into().unwrap();
            prop_assert_eq!(block(&bytes), plain(&bytes));
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                #[expect(unsafe_code, reason = "the feature was just detected")]
                // SAFETY: AVX2 was just detected.
                let wide = unsafe { block_avx2(&bytes) };
                prop_assert_eq!(wide, plain(&bytes));
            }
        }
    }

    #[test]
    fn parity_fills_strings() {
        assert_eq!(prefix_xor(0b0010_0100), 0b0001_1100);
    }
}
