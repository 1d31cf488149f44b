//! Ranks by steps: how late each rank was in each step, and where its time went, as columns of numbers.
//!
//! Rows and columns of objects would be fifty times as long. A job of more cells than a browser draws with ease is given in tiles, each a
//! few ranks by a few steps; a tile shows the cell of the latest rank in it, whole, never a mean that no rank had.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_document::{Document, Rank, Time};
use serde::{Serialize, Serializer};

use super::packed::{Digits, Packed};

/// The cells of all ranks that mark steps.
#[derive(Debug, PartialEq)]
pub(super) struct StepMap {
    steps: Vec<i64>,
    ranks: Vec<u32>,
    /// Where each step begins and ends, on any rank, after the page's origin.
    bounds_ns: Vec<[i64; 2]>,
    steps_per_column: usize,
    ranks_per_row: usize,
    /// By row and column, which cell of its tile each shows: step by step, rank by rank. Absent where tiles are single cells.
    shown: Option<Vec<Vec<usize>>>,
    metrics: Vec<Metric>,
}

/// One figure of every cell, by row and column; none where the rank has no such step.
#[derive(Debug, PartialEq)]
struct Metric {
    key: &'static str,
    values: Vec<Vec<Option<i64>>>,
}

/// The map as it is in a page: rows one after the other.
#[derive(Serialize)]
struct Written {
    steps: Packed,
    ranks: Packed,
    begins_ns: Packed,
    ends_ns: Packed,
    steps_per_column: usize,
    ranks_per_row: usize,
    shown: Option<Packed>,
    metrics: Vec<WrittenMetric>,
}

#[derive(Serialize)]
struct WrittenMetric {
    key: &'static str,
    values: Packed,
}

impl Serialize for StepMap {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let cells = self.metrics.first().map_or(0, |metric| metric.values.iter().map(Vec::len).sum());
        let digits = if cells <= EXACT_MAX { Digits::All } else { Digits::Three };
        let metric = |metric: &Metric| WrittenMetric {
            key: metric.key,
            values: Packed::of(metric.values.iter().flatten().copied(), digits),
        };
        let written = Written {
            steps: Packed::exact(self.steps.iter().copied()),
            ranks: Packed::ranks(self.ranks.iter().copied()),
            begins_ns: Packed::exact(self.bounds_ns.iter().map(|[begin, _]| *begin)),
            ends_ns: Packed::exact(self.bounds_ns.iter().map(|[_, end]| *end)),
            steps_per_column: self.steps_per_column,
            ranks_per_row: self.ranks_per_row,
            shown: self.shown.as_ref().map(|shown| Packed::counts(shown.iter().flatten().copied())),
            metrics: self.metrics.iter().map(metric).collect(),
        };
        written.serialize(to)
    }
}

/// Cells of one page.
const CELLS_MAX: usize = 64_000;

/// Rows and columns that a screen has room for; what exceeds it more is tiled first.
const SCREEN: (usize, usize) = (320, 600);

/// Up to so many cells, every nanosecond is in the page.
const EXACT_MAX: usize = 2_000;

/// One step of one rank.
#[derive(Clone, Copy)]
struct Cell {
    time: Time,
    /// How much more time the rank spent outside of communication than the median rank.
    lateness: Option<i64>,
}

/// The map of `document`, with times after `origin_ns`; none where no rank marks steps.
pub(super) fn step_map(document: &Document, origin_ns: i64) -> Option<StepMap> {
    let ranks: Vec<&Rank> = document.ranks.iter().filter(|rank| !rank.steps.is_empty()).collect();
    let all = || ranks.iter().flat_map(|rank| &rank.steps);
    let steps: Vec<i64> = all().map(|step| step.step).collect::<BTreeSet<_>>().into_iter().collect();
    if steps.is_empty() {
        return None;
    }
    let mut bounds: BTreeMap<i64, [i64; 2]> = BTreeMap::new();
    for step in all() {
        let [begin, end] = step.window_ns.map(|at| at.saturating_sub(origin_ns));
        let known = bounds.entry(step.step).or_insert([begin, end]);
        *known = [known[0].min(begin), known[1].max(end)];
    }
    let cells = cells(&ranks, &steps);
    let (ranks_per_row, steps_per_column) = tile(ranks.len(), steps.len());
    let shown = shown(&cells, steps.len(), ranks_per_row, steps_per_column);
    let tiles = (ranks_per_row, steps_per_column);
    let metrics = METRICS.map(|(key, figure)| Metric { key, values: values(&cells, &shown, tiles, figure) });
    Some(StepMap {
        ranks: ranks.iter().map(|rank| rank.rank).collect(),
        bounds_ns: bounds.into_values().collect(),
        shown: (ranks_per_row * steps_per_column > 1).then_some(shown),
        metrics: metrics.into(),
        steps,
        steps_per_column,
        ranks_per_row,
    })
}

/// A figure of a cell, where it has it.
type Figure = fn(&Cell) -> Option<i64>;

const METRICS: [(&str, Figure); 6] = [
    ("lateness", |cell| cell.lateness),
    ("total", |cell| Some(cell.time.total)),
    ("computation", |cell| Some(cell.time.computation)),
    ("exposed_comm", |cell| Some(cell.time.exposed_comm)),
    ("exposed_memcpy", |cell| Some(cell.time.exposed_memcpy)),
    ("idle", |cell| Some(cell.time.idle)),
];

/// By rank and step; of two steps with one number the first.
fn cells(ranks: &[&Rank], steps: &[i64]) -> Vec<Vec<Option<Cell>>> {
    let mut cells = vec![vec![None; steps.len()]; ranks.len()];
    for (row, rank) in cells.iter_mut().zip(ranks) {
        for step in &rank.steps {
            if let Ok(at) = steps.binary_search(&step.step) {
                row[at].get_or_insert(Cell { time: step.time_ns, lateness: None });
            }
        }
    }
    for at in 0..steps.len() {
        let mut own: Vec<i64> = cells.iter().filter_map(|row| row[at]).map(|cell| own_time(&cell.time)).collect();
        if own.len() < 2 {
            continue;
        }
        let middle = (own.len() - 1) / 2;
        let median = *own.select_nth_unstable(middle).1;
        for cell in cells.iter_mut().filter_map(|row| row[at].as_mut()) {
            cell.lateness = Some(own_time(&cell.time).saturating_sub(median));
        }
    }
    cells
}

/// What a rank spends before others can go on: everything but communication that nothing hides.
fn own_time(time: &Time) -> i64 {
    time.total.saturating_sub(time.exposed_comm)
}

/// Ranks in a row and steps in a column, so that the cells fit.
fn tile(ranks: usize, steps: usize) -> (usize, usize) {
    let (mut per_row, mut per_column) = (1, 1);
    loop {
        let (rows, columns) = (ranks.div_ceil(per_row), steps.div_ceil(per_column));
        if rows * columns <= CELLS_MAX {
            return (per_row, per_column);
        }
        if rows * SCREEN.1 > columns * SCREEN.0 { per_row += 1 } else { per_column += 1 }
    }
}

/// Of every tile, the cell with most lateness, or else with most time.
fn shown(cells: &[Vec<Option<Cell>>], steps: usize, per_row: usize, per_column: usize) -> Vec<Vec<usize>> {
    let latest = |rows: &[Vec<Option<Cell>>], from: usize| {
        let to = (from + per_column).min(steps);
        let of_row = |(at, row): (usize, &Vec<Option<Cell>>)| {
            let found = row[from..to].iter().enumerate();
            let found = found.filter_map(move |(column, cell)| Some((at * per_column + column, (*cell)?)));
            found.collect::<Vec<_>>()
        };
        let all = rows.iter().enumerate().flat_map(of_row);
        all.max_by_key(|(at, cell)| ((cell.lateness, cell.time.total), std::cmp::Reverse(*at))).map_or(0, |(at, _)| at)
    };
    cells.chunks(per_row).map(|rows| (0..steps).step_by(per_column).map(|from| latest(rows, from)).collect()).collect()
}

/// One figure of those cells of tiles that are shown.
fn values(
    cells: &[Vec<Option<Cell>>],
    shown: &[Vec<usize>],
    (per_row, per_column): (usize, usize),
    figure: Figure,
) -> Vec<Vec<Option<i64>>> {
    let at = |row: usize, column: usize, of: usize| {
        cells.get(row * per_row + of / per_column)?.get(column * per_column + of % per_column)?.as_ref().and_then(figure)
    };
    let row = |(row, offsets): (usize, &Vec<usize>)| {
        offsets.iter().enumerate().map(|(column, of)| at(row, column, *of)).collect::<Vec<_>>()
    };
    shown.iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use rankscope_document::Step;

    use super::*;

    fn step(step: i64, begin: i64, own: i64, exposed_comm: i64) -> Step {
        let time_ns =
            Time { computation: own, exposed_comm, total: own + exposed_comm, busy: own + exposed_comm, ..Time::default() };
        Step { step, window_ns: [begin, begin + time_ns.total], time_ns }
    }

    fn document(steps_of_ranks: Vec<Vec<Step>>) -> Document {
        let rank = |(rank, steps)| Rank { rank: rank as u32, steps, ..Rank::default() };
        Document { ranks: steps_of_ranks.into_iter().enumerate().map(rank).collect(), ..Document::default() }
    }

    fn figures<'a>(map: &'a StepMap, key: &str) -> &'a [Vec<Option<i64>>] {
        &map.metrics.iter().find(|metric| metric.key == key).unwrap().values
    }

    #[test]
    fn lateness_is_beside_the_median_rank_of_the_step() {
        let map = step_map(
            &document(vec![
                vec![step(3, 100, 10, 40), step(4, 150, 20, 30)],
                vec![],
                vec![step(3, 90, 50, 0)],
                vec![step(3, 101, 12, 38), step(3, 151, 999, 0)],
            ]),
            90,
        )
        .unwrap();
        assert_eq!((&map.steps[..], &map.ranks[..]), (&[3, 4][..], &[0, 2, 3][..]));
        assert_eq!(map.bounds_ns, [[0, 1060], [60, 110]]);
        assert_eq!(figures(&map, "lateness"), [vec![Some(-2), None], vec![Some(38), None], vec![Some(0), None]]);
        assert_eq!(figures(&map, "total"), [vec![Some(50), Some(50)], vec![Some(50), None], vec![Some(50), None]]);
        assert_eq!(map.shown, None);
        assert_eq!(step_map(&Document::default(), 0), None);
    }

    #[test]
    fn a_tile_shows_its_latest_rank_whole() {
        let late = |rank: i64, at: i64| if (rank, at) == (777, 321) { 90_000_000 } else { 50_000_000 + rank };
        let ranks = (0..1_024).map(|rank| (0..500).map(|at| step(at, at * 100, late(rank, at), rank)).collect()).collect();
        let map = step_map(&document(ranks), 0).unwrap();
        let (rows, columns) = (figures(&map, "total").len(), figures(&map, "total")[0].len());
        assert_eq!((rows, columns, map.ranks_per_row, map.steps_per_column), (256, 250, 4, 2));
        let (row, column) = (777 / 4, 321 / 2);
        let of = map.shown.as_ref().unwrap()[row][column];
        assert_eq!((row * 4 + of / 2, column * 2 + of % 2), (777, 321));
        assert_eq!(figures(&map, "lateness")[row][column], Some(39_999_489));
        assert_eq!(figures(&map, "exposed_comm")[row][column], Some(777), "of the same rank");
    }

    #[test]
    fn cells_fit_whatever_the_shape() {
        for (ranks, steps) in [(1, 1), (1, 1_000_000), (1_000_000, 1), (4_096, 4_096), (64, 1_000), (64, 1_001)] {
            let (per_row, per_column) = tile(ranks, steps);
            assert!(ranks.div_ceil(per_row) * steps.div_ceil(per_column) <= CELLS_MAX, "{ranks} by {steps}");
        }
        assert_eq!((tile(64, 1_000), tile(1_024, 62)), ((1, 1), (1, 1)));
    }
}
