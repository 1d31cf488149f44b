//! [`Fingerprint`]: whether two traces hold the same spans to the nanosecond, without keeping either.

use std::hash::Hasher;

use rankscope_trace::Trace;
use rustc_hash::FxHasher;

/// A hash of all spans of a trace. Made for files that were copied, not against somebody who wants two to be equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u128);

impl Fingerprint {
    /// That of the spans of `trace`, in their order.
    pub fn of(trace: &Trace) -> Self {
        let spans = &trace.spans;
        let mut hashers = [FxHasher::default(), FxHasher::default()];
        hashers[1].write_u64(SEED);
        for span in spans.ids() {
            let at = span.0 as usize;
            let place = u64::from(spans.name[at].0) << 32 | u64::from(spans.track[at].0);
            hashers[0].write_i64(spans.start_ns[at]);
            hashers[0].write_u64(place ^ spans.dur_ns[at] as u64);
            hashers[1].write_i64(spans.dur_ns[at]);
            hashers[1].write_u64(place.rotate_left(17) ^ spans.start_ns[at] as u64);
        }
        let [high, low] = hashers.map(|hasher| u128::from(hasher.finish()));
        Self(high << 64 | low)
    }

    /// That of two traces, one after the other. Other traces, another order or another number of them give another.
    pub(crate) fn and(self, later: Self) -> Self {
        let [(high, low), (later_high, later_low)] = [self, later].map(|one| ((one.0 >> 64) as u64, one.0 as u64));
        let of = |seed: u64, words: [u64; 4]| {
            let mut hasher = FxHasher::default();
            hasher.write_u64(seed);
            words.into_iter().for_each(|word| hasher.write_u64(word));
            u128::from(hasher.finish())
        };
        Self(of(1, [high, low, later_high, later_low]) << 64 | of(SEED, [later_low, later_high, low, high]))
    }
}

/// Sets the second hash apart from the first.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(list: &[u128]) -> Option<Fingerprint> {
        list.iter().copied().map(Fingerprint).reduce(Fingerprint::and)
    }

    proptest! {
        #[test]
        fn other_traces_joined_are_not_taken_for_copies(
            a in prop::collection::vec(prop_oneof![0u128..3, any::<u128>()], 1..5),
            b in prop::collection::vec(prop_oneof![0u128..3, any::<u128>()], 1..5),
        ) {
            prop_assert_eq!(a == b, joined(&a) == joined(&b));
        }
    }

    #[test]
    fn exports_far_apart_that_change_places_are_told() {
        let list: Vec<u128> = (1..=300).collect();
        for apart in [1, 64, 128, 256] {
            let mut other = list.clone();
            other.swap(0, apart);
            assert_ne!(joined(&list), joined(&other), "{apart}");
        }
    }
}
