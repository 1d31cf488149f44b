//! Times of small transfers by their size. Protocols change with the size, so no straight line fits; between two measured sizes
//! the time is taken as linear in the logarithm of the size.

use rankscope_time::Span;

use crate::Error;

/// Measured (bytes, time), ascending in both. Empty where nothing was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizeTable {
    points: Vec<(u64, Span)>,
}

impl SizeTable {
    /// # Errors
    /// [`Error::BadNetwork`] where sizes do not ascend or more bytes take less time.
    pub fn new(points: Vec<(u64, Span)>) -> Result<Self, Error> {
        let bad = |what| Err(Error::BadNetwork { field: "small", what });
        if points.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return bad("sizes must ascend, and none may come twice");
        }
        if points.windows(2).any(|pair| pair[0].1 > pair[1].1) || points.first().is_some_and(|first| first.1 < Span::ZERO) {
            return bad("times must not be negative or descend: more bytes never take less");
        }
        Ok(Self { points })
    }

    /// The points, ascending.
    #[must_use]
    pub fn points(&self) -> &[(u64, Span)] {
        &self.points
    }

    /// The time of `bytes` within the table. Below its first point it is that of the first; from its last on there is none.
    #[must_use]
    pub fn time(&self, bytes: u64) -> Option<Span> {
        let after = self.points.partition_point(|point| point.0 <= bytes);
        let upper = *self.points.get(after)?;
        let Some(lower) = after.checked_sub(1).map(|before| self.points[before]) else { return Some(upper.1) };
        // One more than the size, so that zero bytes have a logarithm.
        let log = |bytes: u64| (bytes as f64 + 1.0).ln();
        let share = (log(bytes) - log(lower.0)) / (log(upper.0) - log(lower.0));
        let rise = (upper.1 - lower.1).as_nanos();
        Some(lower.1 + Span::from_nanos(((rise as f64 * share).round() as i64).clamp(0, rise)))
    }

    /// The time of the last point: what anything larger takes at least.
    #[must_use]
    pub fn floor(&self) -> Span {
        self.points.last().map_or(Span::ZERO, |last| last.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(points: &[(u64, i64)]) -> Result<SizeTable, Error> {
        SizeTable::new(points.iter().map(|&(bytes, nanos)| (bytes, Span::from_nanos(nanos))).collect())
    }

    #[test]
    fn time_is_linear_in_the_logarithm_between_points() -> Result<(), Error> {
        let table = table(&[(1023, 1_000), (1_048_575, 3_000)])?;
        assert_eq!(table.time(1), Some(Span::from_nanos(1_000)));
        assert_eq!(table.time(32_767), Some(Span::from_nanos(2_000)));
        assert_eq!(table.time(1_048_575), None);
        assert_eq!(table.floor(), Span::from_nanos(3_000));
        assert_eq!(SizeTable::default().time(0), None);
        Ok(())
    }

    #[test]
    fn what_is_no_table_is_refused() {
        assert!(table(&[(8, 5), (8, 6)]).is_err());
        assert!(table(&[(8, 5), (9, 4)]).is_err());
        assert!(table(&[(8, -5)]).is_err());
    }
}
