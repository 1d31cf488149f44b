//! A clock's frequencies as ROCm SMI hands them out (`rsmi_frequencies_t`), of which there are two layouts under one name:
//!
//! ```text
//! up to ROCm 5    number u32, current u32, 32 frequencies u64                      264 bytes
//! from ROCm 6 on  deep sleep bool, number u32, current u32, 33 frequencies u64     280 bytes
//! ```
//!
//! The library gets a larger place than either. What does not look like frequencies is no answer.

/// Which of the two a library writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Five,
    Six,
}

/// What the library writes into, and more than it needs.
#[repr(C, align(8))]
pub(super) struct Frequencies(pub(super) [u8; 1024]);

/// Hz; no clock of a GPU is above.
const HZ_MAX: u64 = 20_000_000_000;

impl Layout {
    /// By the library's version, if it is known which. ROCm 7.2 and Debian's build of ROCm 5 both say 1; the former has functions of ROCm 6's.
    pub(super) fn of(major: u32, has_functions_of_six: bool) -> Option<Self> {
        match major {
            1 => Some(if has_functions_of_six { Self::Six } else { Self::Five }),
            2..=5 => Some(Self::Five),
            6 | 7 => Some(Self::Six),
            _ => None,
        }
    }

    /// The frequency that is set now, in Hz.
    pub(super) fn current(self, Frequencies(bytes): &Frequencies) -> Option<u64> {
        let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let (number, current, first, most) = match self {
            Self::Five => (word(0)?, word(4)?, 8, 32),
            Self::Six => (word(4)?, word(8)?, 16, 33),
        };
        if number > most || current >= number {
            return None;
        }
        let at = first + 8 * current as usize;
        let hz = u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?);
        (1..=HZ_MAX).contains(&hz).then_some(hz)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(words: &[(usize, &[u8])]) -> Frequencies {
        let mut frequencies = Frequencies([0; 1024]);
        for (at, bytes) in words {
            frequencies.0[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        frequencies
    }

    #[test]
    fn both_layouts_are_read_and_each_refuses_the_others() {
        let (mhz, count, current) = (2_100_000_000_u64.to_ne_bytes(), 3_u32.to_ne_bytes(), 2_u32.to_ne_bytes());
        let five = written(&[(0, &count), (4, &current), (24, &mhz)]);
        let six = written(&[(0, &[1]), (4, &count), (8, &current), (32, &mhz)]);
        assert_eq!(Layout::Five.current(&five), Some(2_100_000_000));
        assert_eq!(Layout::Six.current(&six), Some(2_100_000_000));
        assert_eq!(Layout::Five.current(&six), None, "the third of one");
        assert_eq!(Layout::Six.current(&five), None, "no frequency");
    }

    #[test]
    fn what_is_no_clock_is_none() {
        let word = u32::to_ne_bytes;
        let hz = u64::to_ne_bytes;
        for (what, number, current, first) in
            [("none", 0, 0, 1), ("beyond", 2, 2, 1), ("too many", 34, 0, 1), ("0 Hz", 1, 0, 0), ("too fast", 1, 0, u64::MAX)]
        {
            let frequencies = written(&[(4, &word(number)), (8, &word(current)), (16, &hz(first))]);
            assert_eq!(Layout::Six.current(&frequencies), None, "{what}");
        }
        assert_eq!(Layout::Six.current(&written(&[(0, &[0xFF; 1024])])), None);
    }

    #[test]
    fn versions_whose_layout_is_not_known_have_none() {
        let known = [(1, false), (1, true), (5, true), (6, false), (7, true), (8, true), (0, true)]
            .map(|(major, six)| Layout::of(major, six));
        assert_eq!(
            known,
            [Some(Layout::Five), Some(Layout::Six), Some(Layout::Five), Some(Layout::Six), Some(Layout::Six), None, None]
        );
    }
}
