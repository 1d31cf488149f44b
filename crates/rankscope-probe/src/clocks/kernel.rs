//! How the kernel steers `CLOCK_REALTIME`: what `adjtimex` tells without changing anything.

use std::io;

use nix::libc;

/// The steering of `CLOCK_REALTIME`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steering {
    /// Some daemon vouches for the clock.
    pub synchronised: bool,
    /// The frequency correction, in parts per million.
    pub frequency_ppm: f64,
    /// What is still to be slewed away.
    pub pending_ns: i64,
    /// The daemon's own guess of the clock's error.
    pub estimated_error_us: i64,
    /// The most the clock can be off, if the daemon is right.
    pub maximum_error_us: i64,
    /// Microseconds a tick: 10000 but where a daemon speeds the clock up or slows it down far.
    pub tick_us: i64,
}

impl Steering {
    /// What the kernel says now.
    ///
    /// # Errors
    /// Whatever the kernel answers, as in a sandbox that forbids the call.
    #[expect(unsafe_code, reason = "adjtimex has no safe wrapper")]
    pub fn now() -> io::Result<Self> {
        // SAFETY: plain numbers, for which zero is a value; no mode bit asks for a change.
        let mut state: libc::timex = unsafe { std::mem::zeroed() };
        // SAFETY: the structure outlives the call.
        let verdict = unsafe { libc::adjtimex(&raw mut state) };
        if verdict < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self::of(&state, verdict))
    }

    fn of(state: &libc::timex, verdict: i32) -> Self {
        let in_nanos = state.status & libc::STA_NANO != 0;
        Self {
            synchronised: verdict != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0,
            // In units of 2^-16 ppm.
            frequency_ppm: state.freq as f64 / 65_536.0,
            pending_ns: state.offset.saturating_mul(if in_nanos { 1 } else { 1_000 }),
            estimated_error_us: state.esterror,
            maximum_error_us: state.maxerror,
            tick_us: state.tick,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(unsafe_code, reason = "a kernel structure of plain numbers")]
    fn units_are_those_of_the_status() {
        // SAFETY: plain numbers, for which zero is a value.
        let mut state: libc::timex = unsafe { std::mem::zeroed() };
        (state.freq, state.offset) = (-65_536 * 3 / 2, 7);
        let micros = Steering::of(&state, libc::TIME_OK);
        assert_eq!((micros.frequency_ppm, micros.pending_ns, micros.synchronised), (-1.5, 7_000, true));
        state.status = libc::STA_NANO | libc::STA_UNSYNC;
        let nanos = Steering::of(&state, libc::TIME_OK);
        assert_eq!((nanos.pending_ns, nanos.synchronised), (7, false));
        assert!(!Steering::of(&state, libc::TIME_ERROR).synchronised);
    }

    #[test]
    fn the_kernel_answers() {
        assert!(Steering::now().unwrap().tick_us > 5_000);
    }
}
