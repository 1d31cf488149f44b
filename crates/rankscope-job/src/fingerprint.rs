//! [`Fingerprint`]: whether two traces hold the same spans to the nanosecond, without keeping either.

use std::hash::Hasher;

use rankscope_trace::Trace;
use rustc_hash::FxHasher;

/// A hash of all spans of a trace. Made for files that were copied, not against somebody who wants two to be equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u128);

impl Fingerprint {
    /// That of the spans of `trace`, in their order.
    pub(crate) fn of(trace: &Trace) -> Self {
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

    /// That of two traces, one after the other.
    pub(crate) fn and(self, later: Self) -> Self {
        Self(self.0.rotate_left(1) ^ later.0)
    }
}

/// Sets the second hash apart from the first.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
