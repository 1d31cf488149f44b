//! Sorting many numbers by a few of their bits.
//!
//! Who came when to a collective of a thousand ranks is a number of which some twenty bits differ: two or three times into buckets
//! puts them in order, where comparing takes ten times through all of them.

/// Numbers from which on buckets are worth their counting.
const NUMBERS_MIN: usize = 512;

/// Bits that tell the bucket, at most, and how often numbers are put into buckets.
const BITS_MAX: u32 = 11;
const PASSES_MAX: u32 = 3;

/// Sorts `numbers`, which differ in none but the `bits` bits above the lowest `below`, or else stand in order already by what is
/// lower. `room` is room to work in.
pub(crate) fn sort_by_bits(numbers: &mut Vec<u64>, room: &mut Vec<u64>, below: u32, bits: u32) {
    let passes = bits.div_ceil(BITS_MAX);
    if numbers.len() < NUMBERS_MIN || passes > PASSES_MAX {
        numbers.sort_unstable();
        return;
    }
    let each = bits.div_ceil(passes.max(1));
    for pass in 0..passes {
        let bucket = |number: u64| (number >> (below + pass * each)) as usize & ((1 << each) - 1);
        let mut starts = [0_u32; 1 << BITS_MAX];
        numbers.iter().for_each(|number| starts[bucket(*number)] += 1);
        let mut sum = 0;
        for start in &mut starts[..1 << each] {
            sum += std::mem::replace(start, sum);
        }
        room.clear();
        room.resize(numbers.len(), 0);
        for number in numbers.iter() {
            let place = &mut starts[bucket(*number)];
            room[*place as usize] = *number;
            *place += 1;
        }
        std::mem::swap(numbers, room);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_in_order(
            many in prop_oneof![0usize..40, 500usize..1_500], bits in 0u32..44, seed in any::<u64>()
        ) {
            let high = |at: u64| (at + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20 & ((1_u64 << bits) - 1);
            let mut numbers: Vec<u64> = (0..many as u64).map(|at| high(at) << 20 | at).collect();
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            sort_by_bits(&mut numbers, &mut Vec::new(), 20, bits);
            prop_assert_eq!(numbers, sorted);
        }
    }
}
