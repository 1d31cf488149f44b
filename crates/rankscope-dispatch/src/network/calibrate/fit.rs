//! The fit, how far it is off, and what does not belong.
//!
//! Rows of bulk size give `time = base + alpha * messages + port bytes / rate` by least squares of relative errors, in which rows
//! far off count less and less (Huber's weights); whatever stays far off is named and left out of the last round. Base and alpha
//! can be told apart only where operations of different numbers of messages were measured; else all of the start is alpha's, so
//! that a rank with fewer peers pays less. Smaller rows become a table.

use rankscope_time::Span;

use super::least_squares::{COLUMNS, Equation, dot, solve};
use super::{BULK_BYTES, Sample};
use crate::Error;
use crate::network::{LevelCost, SizeTable};

/// What one level costs, and how well that is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// What an exchange costs before its first message.
    pub base: Span,
    /// The level.
    pub cost: LevelCost,
    /// Rows of at least so many bytes were fitted.
    pub bulk_bytes: u64,
    /// Over the rows that were fitted.
    pub fitted: Errors,
    /// Fitted on every other row, judged on the rest. None with fewer than six rows.
    pub held_out: Option<Errors>,
    /// The same for the table of small sizes.
    pub held_out_small: Option<Errors>,
    /// Rows that do not lie on the line, which were left out.
    pub outliers: Vec<Outlier>,
}

/// Relative errors of predictions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// How many were judged.
    pub rows: usize,
    /// Mean of their absolute relative errors.
    pub mean: f64,
    /// The largest.
    pub worst: f64,
    /// Where that is.
    pub worst_place: usize,
}

/// A row that the fit does not explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// Where it comes from.
    pub place: usize,
    /// Its size.
    pub size_bytes: u64,
    /// Predicted over measured, less one.
    pub error: f64,
}

/// Fits one level to `samples`.
///
/// # Errors
/// [`Error::TooFewSamples`] with fewer than three, or where all have one size.
pub fn calibrate(samples: &[Sample]) -> Result<Calibration, Error> {
    let mut rows: Vec<Sample> = samples.iter().copied().filter(|row| row.time > Span::ZERO && row.port_bytes > 0.0).collect();
    rows.sort_by_key(|row| (row.size_bytes, row.place));
    let (first, last) = (rows.first().map(|row| row.size_bytes), rows.last().map(|row| row.size_bytes));
    if rows.len() < ROWS_MIN || first == last {
        return Err(Error::TooFewSamples { have: rows.len(), need: ROWS_MIN });
    }
    // A benchmark that ends below bulk sizes still has a line: that of its larger half.
    let at_bulk = rows.partition_point(|row| row.size_bytes < BULK_BYTES);
    let start = if rows.len() - at_bulk >= ROWS_MIN { at_bulk } else { (rows.len() / 2).min(rows.len() - ROWS_MIN) };
    // Rows of one size stay together.
    let start = rows.partition_point(|row| row.size_bytes < rows[start].size_bytes);
    let (small, bulk) = rows.split_at(start);
    let line = fit(bulk);
    let (kept, outliers): (Vec<Sample>, Vec<Sample>) = bulk.iter().partition(|row| line.error(row).abs() <= line.tolerance);
    let line = if kept.len() >= ROWS_MIN { exact(&kept) } else { line };
    let table = table(small, bulk.first())?;
    Ok(Calibration {
        base: nanos(line.coefficients[0]),
        cost: LevelCost {
            alpha: nanos(line.coefficients[1]),
            bytes_per_second: (1e9 / line.coefficients[2]).clamp(1.0, u64::MAX as f64) as u64,
            small: table,
        },
        bulk_bytes: bulk.first().map_or(0, |row| row.size_bytes),
        fitted: errors(kept.iter().map(|row| (row.place, line.error(row)))),
        held_out: held_out(&kept),
        held_out_small: held_out_table(small, bulk.first())?,
        outliers: outliers
            .iter()
            .map(|row| Outlier { place: row.place, size_bytes: row.size_bytes, error: line.error(row) })
            .collect(),
    })
}

/// Three unknowns at most.
const ROWS_MIN: usize = 3;

/// Base, alpha, and nanoseconds a byte.
#[derive(Clone, Copy, Debug)]
struct Line {
    coefficients: [f64; COLUMNS],
    /// Relative errors beyond this are no noise.
    tolerance: f64,
}

impl Line {
    /// Predicted over measured, less one.
    fn error(&self, row: &Sample) -> f64 {
        dot(&columns(row), &self.coefficients) / row.time.as_nanos() as f64 - 1.0
    }
}

fn columns(row: &Sample) -> [f64; COLUMNS] {
    [if row.started { 1.0 } else { 0.0 }, row.messages, row.port_bytes]
}

/// Least squares in which rows far off lose their weight.
fn fit(rows: &[Sample]) -> Line {
    /// It settles within ten; twice that is for ties.
    const ROUNDS: usize = 20;
    /// Huber's: 95 % as good as plain least squares where noise is normal.
    const HUBER: f64 = 1.345;
    /// Benchmarks repeat to about a percent, whatever a few rows pretend.
    const NOISE_MIN: f64 = 0.01;
    /// So many times the noise is no noise, and neither is this much alone.
    const OUTLIER: f64 = 5.0;
    const OUTLIER_MIN: f64 = 0.1;

    let mut weights = vec![1.0; rows.len()];
    let mut line = weighted(rows, &weights);
    for _ in 0..ROUNDS {
        let mut sizes: Vec<f64> = rows.iter().map(|row| line.error(row).abs()).collect();
        sizes.sort_by(f64::total_cmp);
        // The median of absolute errors of a normal distribution is 0.6745 of its width.
        let noise = (sizes[sizes.len() / 2] / 0.6745).max(NOISE_MIN);
        for (weight, row) in weights.iter_mut().zip(rows) {
            *weight = (HUBER * noise / line.error(row).abs()).min(1.0);
        }
        line = Line { tolerance: (OUTLIER * noise).max(OUTLIER_MIN), ..weighted(rows, &weights) };
    }
    line
}

/// Least squares of rows that all belong.
fn exact(rows: &[Sample]) -> Line {
    weighted(rows, &vec![1.0; rows.len()])
}

fn weighted(rows: &[Sample], weights: &[f64]) -> Line {
    let equation = |(row, weight): (&Sample, &f64)| {
        let value = row.time.as_nanos() as f64;
        Equation { columns: columns(row), value, weight: weight / (value * value) }
    };
    let equations: Vec<Equation> = rows.iter().zip(weights).map(equation).collect();
    let mut counts = rows.iter().filter(|row| row.started).map(|row| row.messages);
    let first = counts.next();
    let several = counts.any(|count| Some(count) != first);
    Line { coefficients: solve(&equations, [several, true, true]), tolerance: f64::INFINITY }
}

fn held_out(rows: &[Sample]) -> Option<Errors> {
    if rows.len() < 2 * ROWS_MIN {
        return None;
    }
    let (fitted, judged) = every_other(rows);
    let line = exact(&fitted);
    Some(errors(judged.iter().map(|row| (row.place, line.error(row)))))
}

/// Times of whole operations by the bytes of a port. Where several operations were measured, that of the most messages is the most
/// like an exchange. The first row of the line ends the table.
fn table(small: &[Sample], bulk: Option<&Sample>) -> Result<SizeTable, Error> {
    let most = small.iter().map(|row| row.messages).fold(0.0, f64::max);
    let mut points: Vec<(u64, Span)> = Vec::new();
    for row in small.iter().chain(bulk).filter(|row| row.started && row.messages == most) {
        let bytes = row.port_bytes.round() as u64;
        let floor = points.last().map_or(Span::ZERO, |last| last.1);
        match points.last_mut().filter(|last| last.0 >= bytes) {
            Some(last) => last.1 = last.1.max(row.time),
            None => points.push((bytes, row.time.max(floor))),
        }
    }
    SizeTable::new(if points.len() < 2 { Vec::new() } else { points })
}

fn held_out_table(small: &[Sample], bulk: Option<&Sample>) -> Result<Option<Errors>, Error> {
    if small.len() < 2 * ROWS_MIN {
        return Ok(None);
    }
    let (fitted, judged) = every_other(small);
    let table = table(&fitted, bulk)?;
    let error = |row: &Sample| {
        let predicted = table.time(row.port_bytes.round() as u64)?;
        Some((row.place, predicted.as_nanos() as f64 / row.time.as_nanos() as f64 - 1.0))
    };
    Ok(Some(errors(judged.iter().filter_map(error))))
}

/// The ends are fitted, so that nothing is judged beyond them.
fn every_other(rows: &[Sample]) -> (Vec<Sample>, Vec<Sample>) {
    let (mut fitted, mut judged) = (Vec::new(), Vec::new());
    for (at, row) in rows.iter().enumerate() {
        if at % 2 == 0 || at + 1 == rows.len() { fitted.push(*row) } else { judged.push(*row) }
    }
    (fitted, judged)
}

fn errors(of: impl Iterator<Item = (usize, f64)>) -> Errors {
    let mut sum = 0.0;
    let mut errors = Errors::default();
    for (place, error) in of {
        errors.rows += 1;
        sum += error.abs();
        if error.abs() > errors.worst {
            (errors.worst, errors.worst_place) = (error.abs(), place);
        }
    }
    errors.mean = sum / errors.rows.max(1) as f64;
    errors
}

fn nanos(value: f64) -> Span {
    Span::from_nanos(value.round() as i64)
}
