//! The random stream of torch's generator on CPUs: MT19937 with the 32-bit initialisation, one 32-bit draw per element
//! (dispatch spec 2.1). Exact, because a seed names a plan: whoever has the seed of a run can rebuild its plan here.
//!
//! Matsumoto and Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998. No use for secrets.

/// A seeded stream of numbers.
#[derive(Clone)]
pub struct TorchRandom {
    state: Box<[u32; STATE]>,
    next: usize,
}

impl TorchRandom {
    /// The stream that `torch.manual_seed(seed)` starts. Like there, only the lower 32 bits of a seed count.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut state = Box::new([0; STATE]);
        let mut word = seed as u32;
        for (i, slot) in (0_u32..).zip(state.iter_mut()) {
            if i > 0 {
                word = 1_812_433_253_u32.wrapping_mul(word ^ (word >> 30)).wrapping_add(i);
            }
            *slot = word;
        }
        Self { state, next: STATE }
    }

    /// The next 32 bits.
    pub fn bits(&mut self) -> u32 {
        if self.next == STATE {
            self.twist();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// One element of `torch.rand`: a float32 in [0, 1) on a grid of 2^-24.
    pub fn uniform(&mut self) -> f32 {
        (self.bits() & 0x00ff_ffff) as f32 / (1 << 24) as f32
    }

    /// One element of `torch.randint(0, end)`. `end` must not be 0.
    pub fn below(&mut self, end: u32) -> u32 {
        self.bits() % end
    }

    fn twist(&mut self) {
        for i in 0..STATE {
            let joined = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % STATE] & 0x7fff_ffff);
            let twisted = (joined >> 1) ^ if joined & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + SHIFT) % STATE] ^ twisted;
        }
        self.next = 0;
    }
}

/// Words of state, and how far apart the words lie that are mixed.
const STATE: usize = 624;
const SHIFT: usize = 397;

#[cfg(test)]
mod tests {
    use super::*;

    /// Drawn with torch 2.15 on a CPU; see golden case g01.
    const SEED_42: [u32; 6] = [1608637542, 3421126067, 4083286876, 787846414, 3143890026, 3348747335];

    #[test]
    fn the_stream_of_a_seed_is_that_of_torch() {
        let mut random = TorchRandom::new(42);
        assert_eq!(SEED_42.map(|_| random.bits()), SEED_42);
        let mut random = TorchRandom::new(42 + (7 << 32));
        assert_eq!(random.bits(), SEED_42[0], "the upper half of a seed does not count");
    }

    #[test]
    fn the_ten_thousandth_draw_of_the_reference_seed_is_that_of_the_standard() {
        // C++ fixes this value for `std::mt19937`, whose default seed is 5489.
        let mut random = TorchRandom::new(5489);
        assert_eq!((0..10_000).map(|_| random.bits()).last(), Some(4_123_659_995));
    }

    #[test]
    fn floats_and_integers_are_cut_from_the_same_stream() {
        let (mut floats, mut integers) = (TorchRandom::new(0), TorchRandom::new(42));
        assert_eq!([floats.uniform(), floats.uniform()], [0.496_256_6, 0.768_221_8]);
        assert_eq!([integers.below(4), integers.below(4)], [SEED_42[0] % 4, SEED_42[1] % 4]);
    }
}
