//! What slows a GPU down, in the kernel's `gpu_metrics` (`struct gpu_metrics_v1_*` of its kgd_pp_interface.h): bytes that begin with their size
//! and version.
//!
//! ```text
//! 0 size u16, 2 format u8, 3 content u8
//! 1.3             112 bits u64: what slows it now, in bits of every chip alike
//! 1.6             32 cycles u32, 36 by the board, 40 by power, 44 by heat, 48 by its regulators' heat, 52 by its memory's
//! 1.7 and 1.8     the same from 40 on
//! ```
//!
//! From 1.6 on they are counts of cycles, which wrap around: how many there were, and of these how many it was slowed by each cause. Versions 1.4
//! and 1.5 have no such numbers, those before 1.3 bits that are each chip's own, and 2 and 3 are of other devices. All ones mean that a chip does not tell.

/// What one look shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Throttle {
    /// What slows it now, a bit each.
    Now(u64),
    /// Cycles so far, and those of which it was slowed.
    SoFar(Residency),
}

/// Counts of cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Residency {
    pub(super) cycles: u32,
    pub(super) board: Option<u32>,
    pub(super) power: Option<u32>,
    pub(super) socket_heat: Option<u32>,
    pub(super) regulator_heat: Option<u32>,
    pub(super) memory_heat: Option<u32>,
}

/// The version 1.6 of one kernel, which was withdrawn, is smaller than this, and has other things in these places.
const SIZE_1_6: usize = 1_664;

/// What `bytes` tell; none for a version that does not, and for bytes that are not what they say.
pub(super) fn read(bytes: &[u8]) -> Option<Throttle> {
    let size = usize::from(u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?));
    let bytes = bytes.get(..size)?;
    match (*bytes.get(2)?, *bytes.get(3)?) {
        (1, 3) => {
            let bits = u64::from_le_bytes(bytes.get(112..120)?.try_into().ok()?);
            (bits != u64::MAX).then_some(Throttle::Now(bits))
        }
        (1, 6) if size >= SIZE_1_6 => residency(bytes, 32),
        (1, 7 | 8) => residency(bytes, 40),
        _ => None,
    }
}

fn residency(bytes: &[u8], at: usize) -> Option<Throttle> {
    let count = |place: usize| {
        let from = at + 4 * place;
        let count = u32::from_le_bytes(bytes.get(from..from + 4)?.try_into().ok()?);
        (count != u32::MAX).then_some(count)
    };
    let residency = Residency {
        cycles: count(0)?,
        board: count(1),
        power: count(2),
        socket_heat: count(3),
        regulator_heat: count(4),
        memory_heat: count(5),
    };
    Some(Throttle::SoFar(residency))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Of this version and size, with these words in it.
    pub(in crate::amd) fn file(format: u8, content: u8, size: u16, at: usize, words: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; usize::from(size)];
        bytes[..2].copy_from_slice(&size.to_le_bytes());
        (bytes[2], bytes[3]) = (format, content);
        for (place, word) in words.iter().enumerate() {
            bytes[at + 4 * place..][..4].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn each_version_is_read_where_it_has_its_numbers() {
        assert_eq!(read(&file(1, 3, 120, 112, &[1, 2])), Some(Throttle::Now(2 << 32 | 1)));
        let expected = Residency {
            cycles: 10,
            board: Some(11),
            power: Some(12),
            socket_heat: Some(13),
            regulator_heat: None,
            memory_heat: Some(15),
        };
        let words = [10, 11, 12, 13, u32::MAX, 15];
        assert_eq!(read(&file(1, 6, 1_664, 32, &words)), Some(Throttle::SoFar(expected)));
        assert_eq!(read(&file(1, 7, 1_900, 40, &words)), Some(Throttle::SoFar(expected)));
        assert_eq!(read(&file(1, 8, 2_900, 40, &words)), Some(Throttle::SoFar(expected)));
    }

    #[test]
    fn versions_that_do_not_tell_and_bytes_that_are_cut_off_are_none() {
        for (format, content) in [(1, 0), (1, 2), (1, 4), (1, 5), (1, 9), (2, 3), (3, 0), (0, 3)] {
            assert_eq!(read(&file(format, content, 2_000, 112, &[1, 1])), None, "{format}.{content}");
        }
        assert_eq!(read(&file(1, 6, 400, 32, &[1; 6])), None, "the version that was withdrawn");
        assert_eq!(read(&file(1, 3, 120, 112, &[u32::MAX; 2])), None, "all ones");
        let whole = file(1, 3, 120, 112, &[1, 0]);
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length]), None, "{length} bytes of {}", whole.len());
        }
    }
}
