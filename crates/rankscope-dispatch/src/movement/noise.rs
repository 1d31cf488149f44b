//! What the tensors hold before an exchange: noise that depends on the seed and on nothing else.

use super::ElementType;
use crate::splitmix::{SplitMix, mixed};
use crate::{RankExchange, TensorRows};

/// The input tensors of a rank. Floating-point elements are finite and smaller than two: the sum of two NaNs is some NaN, and
/// which one differs between processors.
#[must_use]
pub fn draw(part: &RankExchange, tensors: &[TensorRows], element: ElementType, seed: u64) -> Vec<Vec<u8>> {
    let mut words = SplitMix::new(mixed(mixed(seed) ^ u64::from(part.rank.0)));
    let sizes = tensors.iter().zip(&part.input_rows).map(|(tensor, rows)| tensor.row_bytes * rows);
    sizes.map(|bytes| noise(&mut words, bytes as usize, mask(element))).collect()
}

fn noise(words: &mut SplitMix, bytes: usize, mask: u64) -> Vec<u8> {
    let mut tensor = vec![0; bytes];
    for chunk in tensor.chunks_mut(size_of::<u64>()) {
        chunk.copy_from_slice(&(words.bits() & mask).to_le_bytes()[..chunk.len()]);
    }
    tensor
}

/// Clears the highest bit of the exponent of every float in a word.
fn mask(element: ElementType) -> u64 {
    match element {
        ElementType::F64 => 0xBFFF_FFFF_FFFF_FFFF,
        ElementType::F32 => 0xBFFF_FFFF_BFFF_FFFF,
        ElementType::F16 | ElementType::Bf16 => 0xBFFF_BFFF_BFFF_BFFF,
        ElementType::I64 | ElementType::I32 | ElementType::I16 | ElementType::I8 | ElementType::U8 => u64::MAX,
    }
}
