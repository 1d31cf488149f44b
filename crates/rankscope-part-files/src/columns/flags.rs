//! Whether, for each row, as it is stored: eight rows a byte, the first of them lowest.
//!
//! Mostly all rows have something or none has, which is told without a look at each.

/// Whether, for each row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags<'a> {
    rows: usize,
    bytes: &'a [u8],
}

impl<'a> Flags<'a> {
    /// Of so many `rows`, which take all of `bytes`; none if there is anything behind the last.
    pub(super) fn of(bytes: &'a [u8], rows: usize) -> Option<Self> {
        let behind = bytes.last().map_or(0, |last| u32::from(*last) >> (rows - 8 * (bytes.len() - 1)));
        (behind == 0).then_some(Self { rows, bytes })
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// How many rows it is so of.
    pub(crate) fn count(&self) -> usize {
        self.bytes.iter().map(|byte| byte.count_ones() as usize).sum()
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = bool> + use<'a> {
        self.bytes.iter().flat_map(|byte| [0, 1, 2, 3, 4, 5, 6, 7].map(|bit| byte >> bit & 1 == 1)).take(self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_behind_the_last_row_are_refused() {
        let told = |bytes: &[u8], rows| Flags::of(bytes, rows).map(|flags| (flags.count(), flags.iter().collect::<Vec<_>>()));
        assert_eq!(told(&[], 0), Some((0, vec![])));
        assert_eq!(told(&[0b101], 3), Some((2, vec![true, false, true])));
        assert_eq!(told(&[0b101], 2), None);
        let nine = [vec![true; 8], vec![false]].concat();
        assert_eq!(told(&[0xff, 0], 9), Some((8, nine)));
        assert_eq!(told(&[0xff, 2], 9), None);
    }
}
