//! How long attention takes, measured on a grid of query and context lengths and interpolated in between.
//!
//! Between grid points the time is bilinear. Beyond the grid it goes on as the last cell does, because the time of long contexts is
//! proportional to the cells; below the grid it stays what the smallest kernel takes, because a launch costs what it costs.
//!
//! Queries that see all of some keys were not measured. They are taken to take what as many queries do that end a context of as many
//! cells, which has half as many more keys as there are queries; and where there are more queries than fit into such a context, as
//! often the longest that do as they are more.

use crate::{Error, causal_cells};

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

impl TimeTable {
    /// The time of `queries` tokens that see all of `keys` tokens.
    #[must_use]
    pub fn rectangle_nanoseconds(&self, queries: u32, keys: u32) -> u64 {
        let most = keys.saturating_mul(2).max(1);
        if queries <= most {
            return self.nanoseconds(queries, keys.saturating_add(queries / 2));
        }
        let longest = u128::from(self.nanoseconds(most, most));
        u64::try_from((longest * u128::from(queries)).div_ceil(most.into())).unwrap_or(u64::MAX)
    }

    /// The most score cells for each nanosecond that any task of documents of up to `longest` tokens reaches, and little above; also of
    /// those that see all of their keys, which take the time of others with no fewer cells.
    ///
    /// Within a cell of the grid, and beyond the last one, time is bilinear, so in a rectangle no task is faster than the fastest
    /// corner, and none has more cells than the last queries with the longest context.
    #[must_use]
    pub fn most_cells_per_nanosecond(&self, longest: u32) -> f64 {
        let (queries, contexts) = (stops(&self.queries, longest), stops(&self.contexts, longest));
        let mut most = 0.0_f64;
        for query in queries.windows(2) {
            for context in contexts.windows(2).filter(|context| query[0] <= context[1]) {
                let cells = causal_cells(u64::from(query[1].min(context[1])), u64::from(context[1]));
                let corners = query.iter().flat_map(|&query| context.iter().map(move |&context| (query, context)));
                let least = corners.map(|(query, context)| self.nanoseconds(query, context)).min().unwrap_or(1);
                most = most.max(cells as f64 / least as f64);
            }
        }
        most
    }
}

/// Lengths up to `longest`: the points of `axis`, and more between and beyond, each at most one part in [`STOP_PARTS`] longer than
/// the one before. Below the first point time does not change.
fn stops(axis: &[u32], longest: u32) -> Vec<u32> {
    let mut stops = vec![0];
    for &point in axis.iter().take_while(|point| **point < longest).chain([&longest]) {
        while stops.len() > 1 && stops[stops.len() - 1] < point {
            let last = stops[stops.len() - 1];
            stops.push(last.saturating_add((last / STOP_PARTS).max(1)).min(point));
        }
        if stops.len() == 1 {
            stops.push(point);
        }
    }
    stops
}

const STOP_PARTS: u32 = 32;

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
    fn all_of_some_keys_takes_what_as_many_cells_take() -> Result<(), Error> {
        let table = table()?;
        // 200 more keys than 900 are as many cells, and a half more.
        assert_eq!(table.rectangle_nanoseconds(200, 1400), table.nanoseconds(200, 1500));
        assert_eq!(table.rectangle_nanoseconds(2000, 1000), table.nanoseconds(2000, 2000));
        assert_eq!(table.rectangle_nanoseconds(6000, 1000), 3 * table.nanoseconds(2000, 2000));
        for keys in [1, 100, 2000] {
            let times: Vec<u64> = (0..200).map(|part| table.rectangle_nanoseconds(1 + part * 40, keys)).collect();
            assert!(times.is_sorted(), "more queries take no less: {times:?}");
        }
        Ok(())
    }

    #[test]
    fn no_task_is_faster_than_the_fastest() -> Result<(), Error> {
        let table = table()?;
        let most = table.most_cells_per_nanosecond(9000);
        let rate = |queries: u32, context: u32| {
            causal_cells(queries.into(), context.into()) as f64 / table.nanoseconds(queries, context) as f64
        };
        let mut fastest = 0.0_f64;
        for context in (1..=9000).step_by(37) {
            (1..=context).step_by(23).for_each(|queries| fastest = fastest.max(rate(queries, context)));
            // Both fit into a document.
            for queries in (1..=9000 - context).step_by(41) {
                let cells = f64::from(queries) * f64::from(context);
                let rectangle = cells / table.rectangle_nanoseconds(queries, context) as f64;
                assert!(rectangle <= most, "{queries} by {context}: {rectangle} above {most}");
            }
        }
        assert!(fastest <= most && most < 1.1 * fastest, "{most} where {fastest} was found");
        assert!(table.most_cells_per_nanosecond(100) >= rate(100, 100));
        assert!(table.most_cells_per_nanosecond(0) >= 0.0);
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
