//! [`Anchor`]: the wall clock beside the raw one.
#![expect(unsafe_code, reason = "clocks are read by a system call")]

/// The wall clock and the raw one, read at about one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// `CLOCK_REALTIME`, in nanoseconds since 1970: what JAX stamps events with.
    pub wall_ns: i64,
    /// `CLOCK_MONOTONIC_RAW` then, in nanoseconds.
    pub raw_ns: i64,
    /// How far apart the two readings around the wall clock were: `raw_ns` is their middle.
    pub width_ns: u64,
}

/// Enough that one of them is not interrupted.
const TRIES: u32 = 16;

impl Anchor {
    /// The narrowest of a few readings, now.
    pub(crate) fn take() -> Self {
        let first = Self::once(clock_ns);
        (1..TRIES)
            .map(|_| Self::once(clock_ns))
            .fold(first, |best, next| if next.width_ns < best.width_ns { next } else { best })
    }

    fn once(mut clock_ns: impl FnMut(libc::clockid_t) -> i64) -> Self {
        let before_ns = clock_ns(libc::CLOCK_MONOTONIC_RAW);
        let wall_ns = clock_ns(libc::CLOCK_REALTIME);
        let width_ns = clock_ns(libc::CLOCK_MONOTONIC_RAW).saturating_sub(before_ns).max(0);
        Self { wall_ns, raw_ns: before_ns.saturating_add(width_ns / 2), width_ns: width_ns.unsigned_abs() }
    }
}

/// What `clock` shows, in nanoseconds; 0 where there is none, which no Linux lacks.
fn clock_ns(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place for the answer is this function's own.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_wall_clock_was_read_within_the_width(costs_ns in prop::array::uniform3(0_i64..1_000_000), ahead_ns in any::<i32>()) {
            let (mut looks, mut now_ns) = (0, 5_000_i64);
            let anchor = Anchor::once(|clock| {
                now_ns += costs_ns[looks];
                looks += 1;
                if clock == libc::CLOCK_REALTIME { now_ns + i64::from(ahead_ns) } else { now_ns }
            });
            let truth_ns = anchor.wall_ns - i64::from(ahead_ns);
            prop_assert!(truth_ns.abs_diff(anchor.raw_ns) <= anchor.width_ns.div_ceil(2));
        }
    }

    #[test]
    fn both_clocks_go_on() {
        let (first, second) = (Anchor::take(), Anchor::take());
        assert!(first.raw_ns < second.raw_ns && first.wall_ns > 1_500_000_000_000_000_000, "{first:?} {second:?}");
    }
}
