//! How long attention takes, measured on a grid of query and context lengths and interpolated in between.
//!
//! Between grid points the time is bilinear. Beyond the grid it goes on as the last cell does, because the time of long contexts is
//! proportional to the cells; below the grid it stays what the smallest kernel takes, because a launch costs what it costs.

use crate::Error;

/// Milliseconds by query tokens and context tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeTable {
    queries: Vec<u32>,
    contexts: Vec<u32>,
    /// By query, then context.
    milliseconds: Vec<f64>,
}

impl TimeTable {
    /// A table of `milliseconds[query][context]`.
    ///
    /// # Errors
    /// [`Error::TimeTable`] unless both axes grow, there are at least two points on each, and every time is finite and above zero.
    pub fn new(queries: Vec<u32>, contexts: Vec<u32>, milliseconds: &[Vec<f64>]) -> Result<Self, Error> {
        for (axis, name) in [(&queries, "queries"), (&contexts, "contexts")] {
            if axis.len() < 2 || axis.windows(2).any(|pair| pair[0] >= pair[1]) {
                return Err(Error::TimeTable { what: format!("the {name} must be at least two lengths that grow") });
            }
        }
        if milliseconds.len() != queries.len() {
            let what = format!("{} rows of times for {} lengths of queries", milliseconds.len(), queries.len());
            return Err(Error::TimeTable { what });
        }
        for (row, query) in milliseconds.iter().zip(&queries) {
            if row.len() != contexts.len() {
                let what = format!("{} times for {} contexts, for {query} queries", row.len(), contexts.len());
                return Err(Error::TimeTable { what });
            }
            if let Some(time) = row.iter().find(|time| !(time.is_finite() && **time > 0.0)) {
                return Err(Error::TimeTable { what: format!("{time} ms for {query} queries is not a time") });
            }
        }
        Ok(Self { queries, contexts, milliseconds: milliseconds.concat() })
    }

    /// The time of `queries` tokens that end a context of `context` tokens.
    #[must_use]
    pub fn nanoseconds(&self, queries: u32, context: u32) -> u64 {
        let (query, along_query) = position(&self.queries, queries);
        let (column, along_context) = position(&self.contexts, context);
        let at = |query: usize, context: usize| self.milliseconds[query * self.contexts.len() + context];
        let row = |query: usize| at(query, column) + along_context * (at(query, column + 1) - at(query, column));
        let milliseconds = row(query) + along_query * (row(query + 1) - row(query));
        (milliseconds * 1e6).round().max(1.0) as u64
    }
}

/// The interval of `axis` that tells about `length`, and how far along it the length is: beyond 1 past the end, never below 0.
fn position(axis: &[u32], length: u32) -> (usize, f64) {
    let low = axis.partition_point(|&point| point <= length).saturating_sub(1).min(axis.len() - 2);
    let (from, to) = (f64::from(axis[low]), f64::from(axis[low + 1]));
    (low, ((f64::from(length) - from) / (to - from)).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Result<TimeTable, Error> {
        TimeTable::new(vec![128, 256], vec![1000, 2000, 4000], &[vec![1.0, 2.0, 4.0], vec![2.0, 4.0, 8.0]])
    }

    #[test]
    fn times_are_met_on_the_grid_and_bilinear_between() -> Result<(), Error> {
        let table = table()?;
        assert_eq!(table.nanoseconds(128, 1000), 1_000_000);
        assert_eq!(table.nanoseconds(256, 4000), 8_000_000);
        assert_eq!(table.nanoseconds(192, 1500), 2_250_000);
        Ok(())
    }

    #[test]
    fn beyond_the_grid_time_grows_and_below_it_stays() -> Result<(), Error> {
        let table = table()?;
        assert_eq!(table.nanoseconds(128, 8000), 8_000_000);
        assert_eq!(table.nanoseconds(512, 1000), 4_000_000);
        assert_eq!(table.nanoseconds(1, 1), 1_000_000);
        Ok(())
    }

    #[test]
    fn a_table_that_says_nothing_is_refused() {
        assert!(TimeTable::new(vec![1], vec![1, 2], &[vec![1.0, 1.0]]).is_err());
        assert!(TimeTable::new(vec![1, 1], vec![1, 2], &[vec![1.0, 1.0], vec![1.0, 1.0]]).is_err());
        assert!(TimeTable::new(vec![1, 2], vec![1, 2], &[vec![1.0, 1.0]]).is_err());
        assert!(TimeTable::new(vec![1, 2], vec![1, 2], &[vec![1.0, 1.0], vec![1.0, f64::NAN]]).is_err());
        assert!(TimeTable::new(vec![1, 2], vec![1, 2], &[vec![1.0, 1.0], vec![1.0]]).is_err());
    }
}
