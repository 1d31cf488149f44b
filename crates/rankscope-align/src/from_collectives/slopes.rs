//! The slope that half of all pairs of points are steeper than, by Theil (1950) and Sen (1968).
//!
//! Slopes between points that are far apart in time are the most precise, and there are few of them. So the median of all is sought
//! among those that lie where most of these do, and only where it is not there, among all. Points of many thousands are first taken
//! together in runs. Whether a slope means anything is not asked here.

use multiversion::multiversion;

use super::nth::{self, key, of_key, upper_middle};

/// Slopes between all pairs of this many points at most; more points are first taken together in runs.
const POINTS_MAX: usize = 128;

/// Of the slopes between points that are far apart, the part on either side in which the median is not sought.
const FAR_EDGE: (usize, usize) = (5, 16);

/// Room to work in.
#[derive(Debug, Default)]
pub(super) struct Room {
    runs_x: Vec<f64>,
    runs_y: Vec<f64>,
    far: Vec<f64>,
    row: Vec<f64>,
    near: Vec<f64>,
    keys: Vec<i64>,
    nth: nth::Room,
}

/// The median of the slopes between all pairs of points, of which `x` ascends, or between runs of them where they are many.
pub(super) fn theil_sen(x: &[f64], y: &[i64], room: &mut Room) -> Option<f64> {
    let run = x.len().div_ceil(POINTS_MAX).max(1);
    let (mut runs_x, mut runs_y) = (std::mem::take(&mut room.runs_x), std::mem::take(&mut room.runs_y));
    runs_x.clear();
    runs_y.clear();
    // In order of time the middle one is in the middle.
    runs_x.extend(x.chunks(run).map(|run| run[run.len() / 2]));
    runs_y.extend(y.chunks(run).map(|run| match run {
        [only] => *only as f64,
        several => upper_middle(several, &mut room.nth).unwrap_or(0) as f64,
    }));
    let found = median_slope(&runs_x, &runs_y, room);
    (room.runs_x, room.runs_y) = (runs_x, runs_y);
    found
}

/// The median of the slopes between all pairs of points, of which `x` ascends; the upper one of two.
fn median_slope(x: &[f64], y: &[f64], room: &mut Room) -> Option<f64> {
    let (least, most) = middle_part(x, y, &mut room.far);
    let Room { row, near, .. } = room;
    // Points of one instant have no slope between them.
    let ascends = x.windows(2).all(|pair| pair[0] < pair[1]);
    row.resize(x.len(), 0.0);
    near.clear();
    let (mut below, mut all) = (0, 0);
    for from in 0..x.len() {
        let count = slopes_from(x, y, from, ascends, row);
        all += count;
        let kept = near.len();
        near.resize(kept + count, 0.0);
        let (less, within) = keep_within(&row[..count], (least, most), &mut near[kept..]);
        below += less;
        near.truncate(kept + within);
    }
    let middle = all / 2;
    if !(below..below + near.len()).contains(&middle) {
        below = 0;
        near.clear();
        for from in 0..x.len() {
            let count = slopes_from(x, y, from, ascends, row);
            near.extend_from_slice(&row[..count]);
        }
    }
    let Room { near, keys, .. } = room;
    keys.clear();
    keys.extend(near.iter().copied().map(key));
    nth::nth(keys, middle - below, &mut room.nth).map(of_key)
}

/// Between which slopes the median is sought, by points that are half of all apart. `far` is room to work in.
fn middle_part(x: &[f64], y: &[f64], far: &mut Vec<f64>) -> (f64, f64) {
    let half = x.len() / 2;
    let pairs = x.iter().zip(y).zip(x[half..].iter().zip(&y[half..]));
    far.clear();
    far.extend(pairs.filter(|((x, _), (later, _))| later > x).map(|((x, y), (later, other))| (other - y) / (later - x)));
    far.sort_unstable_by(f64::total_cmp);
    let edge = far.len() * FAR_EDGE.0 / FAR_EDGE.1;
    match far.as_slice() {
        [_, .., _] => (far[edge], far[far.len() - 1 - edge]),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    }
}

/// The slopes between the point at `from` and those after it, into `row`; and how many there are.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn slopes_from(x: &[f64], y: &[f64], from: usize, ascends: bool, row: &mut [f64]) -> usize {
    let (at, height, others) = (x[from], y[from], x.len() - from - 1);
    let (x, y, row) = (&x[from + 1..], &y[from + 1..][..others], &mut row[..others]);
    for ((slope, later), other) in row.iter_mut().zip(x).zip(y) {
        *slope = (other - height) / (later - at);
    }
    if ascends {
        return others;
    }
    let mut kept = 0;
    for (own, later) in x.iter().enumerate() {
        row[kept] = row[own];
        kept += usize::from(*later > at);
    }
    kept
}

/// How many of `slopes` are less than those `within`, and how many of those there are, which are put into `kept`.
fn keep_within(slopes: &[f64], (least, most): (f64, f64), kept: &mut [f64]) -> (usize, usize) {
    let below = slopes.iter().fold(0, |below: u64, slope| below + u64::from(*slope < least));
    let mut within = 0;
    for slope in slopes {
        kept[within.min(kept.len() - 1)] = *slope;
        within += usize::from((*slope >= least) & (*slope <= most));
    }
    (below as usize, within)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_median_slope_is_that_of_all_pairs(steps in prop::collection::vec((0i64..3, -50i64..50), 0..60), drift in -9i64..9, apart in 0i64..2) {
            let mut x = 0;
            let point = |(step, y): &(i64, i64)| {
                x += step + apart;
                (x as f64, (y + drift * x) as f64)
            };
            let (x, y): (Vec<f64>, Vec<f64>) = steps.iter().map(point).unzip();
            let mut slopes: Vec<f64> = Vec::new();
            for (at, (own, height)) in x.iter().zip(&y).enumerate() {
                let later = x.iter().zip(&y).skip(at + 1).filter(|(later, _)| *later > own);
                slopes.extend(later.map(|(later, other)| (other - height) / (later - own)));
            }
            slopes.sort_unstable_by(f64::total_cmp);
            let mut room = Room::default();
            // Twice: what is left in the room does not show.
            for _ in 0..2 {
                let found = median_slope(&x, &y, &mut room);
                prop_assert_eq!(found.map(f64::to_bits), slopes.get(slopes.len() / 2).map(|slope| slope.to_bits()));
            }
        }
    }
}
