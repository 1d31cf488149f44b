//! A course over time in a bounded number of points.
//!
//! All points are cut into stretches of as many each. Of a stretch, the point with the most by each of some measures is kept, and the
//! last one. So no extreme is lost, however few points are drawn.

/// Points at the most, of one device, stream or direction.
pub const POINTS: usize = 1_000;

/// At most [`POINTS`] of `all`, among them those with the most by each of `measures`, of which there are fewer than `POINTS`.
pub(crate) fn bounded<T: Copy>(all: Vec<T>, measures: &[fn(&T) -> i64]) -> Vec<T> {
    if all.len() <= POINTS {
        return all;
    }
    let stretch = all.len().div_ceil(POINTS / (measures.len() + 1));
    let kept = |points: &[T]| -> Vec<T> {
        // Of equal ones the first.
        let most = |measure: &fn(&T) -> i64| (0..points.len()).rev().max_by_key(|at| measure(&points[*at]));
        let mut kept: Vec<usize> = measures.iter().filter_map(most).chain([points.len() - 1]).collect();
        kept.sort_unstable();
        kept.dedup();
        kept.into_iter().map(|at| points[at]).collect()
    };
    all.chunks(stretch).flat_map(kept).collect()
}
