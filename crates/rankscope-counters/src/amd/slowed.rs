//! [`Slowed`]: how much of the time since the look before a GPU was slowed by each cause, out of the kernel's `gpu_metrics`.

use super::metrics::{Residency, Throttle, read};
use crate::gpu::{Answer, Cause};

/// Two looks at what slows a GPU.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slowed {
    before: Option<Throttle>,
    now: Option<Throttle>,
}

/// Bits of version 1.3, `SMU_THROTTLER_*` of the kernel's amdgpu_smu.h: limits of power and of current; temperatures; the board's line.
const POWER: u64 = 0x00FF_00FF;
const HEAT: u64 = 0x3FFF << 32;
const BOARD: u64 = 0b11 << 46;

impl Slowed {
    /// The file was read again.
    pub(super) fn look(&mut self, bytes: Option<&[u8]>) {
        self.before = self.now;
        self.now = bytes.and_then(read);
    }

    pub(super) fn tell(&self, cause: Cause) -> Answer {
        match (self.before, self.now) {
            (_, Some(Throttle::Now(bits))) => {
                bit(cause).map_or(Answer::Never, |mask| Answer::Told(f64::from(u8::from(bits & mask != 0))))
            }
            (Some(Throttle::SoFar(before)), Some(Throttle::SoFar(now))) => {
                if counts(&now, cause).iter().all(Option::is_none) {
                    return Answer::Never;
                }
                share(&before, &now, cause).map_or(Answer::NotYet, Answer::Told)
            }
            (None, Some(Throttle::SoFar(_))) if cause != Cause::PowerBrake => Answer::NotYet,
            _ => Answer::Never,
        }
    }
}

fn bit(cause: Cause) -> Option<u64> {
    match cause {
        Cause::PowerCap => Some(POWER),
        Cause::Heat => Some(HEAT),
        Cause::Board => Some(BOARD),
        Cause::PowerBrake => None,
    }
}

/// The counts that are of `cause`.
fn counts(residency: &Residency, cause: Cause) -> [Option<u32>; 3] {
    match cause {
        Cause::PowerCap => [residency.power, None, None],
        Cause::Heat => [residency.socket_heat, residency.regulator_heat, residency.memory_heat],
        Cause::Board => [residency.board, None, None],
        Cause::PowerBrake => [None; 3],
    }
}

/// Of the cycles from one look to the next that it was slowed by `cause`, in hundredths; by heat of the part that slowed it most, as several may at
/// once. None where the chip has not counted on, or no plausible number of cycles.
fn share(before: &Residency, now: &Residency, cause: Cause) -> Option<f64> {
    let cycles = now.cycles.wrapping_sub(before.cycles);
    if cycles == 0 {
        return None;
    }
    let pairs = counts(before, cause).into_iter().zip(counts(now, cause));
    let grown = pairs.filter_map(|(before, now)| Some(now?.wrapping_sub(before?))).max()?;
    // A chip that was reset counts anew, which looks like a wrap far beyond the cycles there were.
    (grown <= cycles).then(|| (f64::from(grown) / f64::from(cycles) * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::super::metrics::tests::file;
    use super::*;

    fn told(slowed: &Slowed, cause: Cause) -> Option<f64> {
        match slowed.tell(cause) {
            Answer::Told(share) => Some(share),
            _ => None,
        }
    }

    #[test]
    fn bits_tell_at_once() {
        let mut slowed = Slowed::default();
        for (low, high, expected) in [
            (0, 0, [0.0, 0.0, 0.0]),
            (1, 0, [1.0, 0.0, 0.0]),
            (1 << 22, 1 << (36 - 32), [1.0, 1.0, 0.0]),
            (0, 1 << (46 - 32), [0.0, 0.0, 1.0]),
            // What fits with neither.
            (0, 1 << (57 - 32), [0.0, 0.0, 0.0]),
        ] {
            slowed.look(Some(&file(1, 3, 120, 112, &[low, high])));
            assert_eq!(
                [Cause::PowerCap, Cause::Heat, Cause::Board].map(|cause| told(&slowed, cause)),
                expected.map(Some),
                "{low:x} {high:x}"
            );
        }
        assert!(matches!(slowed.tell(Cause::PowerBrake), Answer::Never));
    }

    #[test]
    fn counts_tell_a_share_of_the_time_from_one_look_to_the_next_also_where_they_wrap() {
        let look = |slowed: &mut Slowed, words: [u32; 6]| slowed.look(Some(&file(1, 7, 1_900, 40, &words)));
        let mut slowed = Slowed::default();
        look(&mut slowed, [u32::MAX - 49, 5, u32::MAX - 9, 0, 0, 7]);
        assert!(matches!(slowed.tell(Cause::PowerCap), Answer::NotYet), "the first");
        look(&mut slowed, [50, 5, 15, 10, 0, 32]);
        assert_eq!(
            (told(&slowed, Cause::PowerCap), told(&slowed, Cause::Heat), told(&slowed, Cause::Board)),
            (Some(0.25), Some(0.25), Some(0.0))
        );
        look(&mut slowed, [50, 5, 15, 10, 0, 32]);
        assert!(matches!(slowed.tell(Cause::Heat), Answer::NotYet), "nothing was counted");
        look(&mut slowed, [60, 0, 0, 0, 0, 0]);
        assert!(matches!(slowed.tell(Cause::PowerCap), Answer::NotYet), "the chip was reset");
    }

    #[test]
    fn a_file_that_cannot_be_read_or_is_of_another_version_tells_nothing() {
        let mut slowed = Slowed::default();
        slowed.look(None);
        assert!(matches!(slowed.tell(Cause::Heat), Answer::Never));
        slowed.look(Some(&file(1, 5, 300, 40, &[1; 6])));
        assert!(matches!(slowed.tell(Cause::Heat), Answer::Never));
    }
}
