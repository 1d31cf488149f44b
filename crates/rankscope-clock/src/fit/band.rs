//! The widest band between two clouds of points, and everything that fits between them, exactly.
//!
//! `gap(a) = min over upper (y - a x) - max over lower (y - a x)` is how wide a band of slope `a` can be. It is concave and
//! piecewise linear: as the slope rises, the touching vertex moves right on the hull above and left on the hull below. So one
//! walk along both hulls passes every piece. The band is widest where the touching vertices pass each other; lines exist
//! between the slopes where the gap is zero. Nothing here knows clocks, or trusts one point more than another.

use super::hull::LowerHull;
use super::slope::Slope;
use super::{Clouds, Point};

/// The hulls of both clouds.
#[derive(Clone, Debug, Default)]
pub(super) struct Hulls {
    upper: LowerHull,
    /// Upside down.
    lower: LowerHull,
}

/// Parallel lines of greatest vertical distance with no point between them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Band {
    pub(super) slope: Slope,
    /// A point on the line above.
    pub(super) above: Point,
    /// A point on the line below.
    pub(super) below: Point,
}

/// A range of slopes with the same touching points.
struct Piece {
    from: Slope,
    to: Slope,
    above: Point,
    below: Point,
}

impl Hulls {
    pub(super) fn of(clouds: &Clouds) -> Self {
        Self {
            upper: clouds.upper.iter().copied().collect(),
            lower: clouds.lower.iter().map(|point| point.flipped()).collect(),
        }
    }

    pub(super) fn push_upper(&mut self, point: Point) {
        self.upper.push(point);
    }

    pub(super) fn push_lower(&mut self, point: Point) {
        self.lower.push(point.flipped());
    }

    /// The widest band with a slope in `slopes`; where several are as wide, the one of the slope nearest to `near`, or of the
    /// middle one. None where a cloud is empty.
    pub(super) fn widest(&self, slopes: (Slope, Slope), near: Option<Slope>) -> Option<Band> {
        let pieces = self.pieces(slopes);
        let mut last = None;
        for piece in pieces {
            if piece.below.x < piece.above.x {
                return Some(piece.at(piece.from));
            }
            if piece.below.x == piece.above.x {
                let slope = near.map_or_else(|| piece.middle(), |near| near.clamp(piece.from, piece.to));
                return Some(piece.at(slope));
            }
            last = Some(piece);
        }
        last.map(|piece| piece.at(piece.to))
    }

    /// Least and greatest slope in `slopes` of a line between the clouds; none where no line fits.
    pub(super) fn feasible(&self, slopes: (Slope, Slope)) -> Option<(Slope, Slope)> {
        let mut found: Option<(Slope, Slope)> = None;
        for piece in self.pieces(slopes) {
            if let Some((from, to)) = piece.feasible() {
                found = Some((found.map_or(from, |(least, _)| least), to));
            }
        }
        found
    }

    /// Least and greatest value at 0 of a line between the clouds with a slope in `slopes`, all of which must be feasible.
    pub(super) fn range_at_zero(&self, slopes: (Slope, Slope)) -> (i64, i64) {
        let greatest = ceiling_at_zero(self.upper.vertices(), slopes);
        let least = -ceiling_at_zero(self.lower.vertices(), (-slopes.1, -slopes.0));
        (least, greatest)
    }

    fn pieces(&self, (least, greatest): (Slope, Slope)) -> impl Iterator<Item = Piece> {
        let (upper, lower) = (self.upper.vertices(), self.lower.vertices());
        let (mut right, mut left) = (0, lower.len());
        let mut from = least;
        let mut done = upper.is_empty() || lower.is_empty();
        std::iter::from_fn(move || {
            while !done {
                let (above, below) = (upper[right], lower[left - 1]);
                let next_above = upper.get(right + 1).map(|next| Slope::between(above, *next));
                let next_below = left.checked_sub(2).map(|next| -Slope::between(lower[next], below));
                let moves_above = match (next_above, next_below) {
                    (Some(a), Some(b)) => a <= b,
                    (above, _) => above.is_some(),
                };
                let next = if moves_above { next_above } else { next_below };
                done = next.is_none_or(|next| next >= greatest);
                if moves_above {
                    right += 1
                } else {
                    left = left.saturating_sub(1)
                }
                let to = next.map_or(greatest, |next| next.min(greatest));
                if to > from || done {
                    let piece = Piece { from, to, above, below: below.flipped() };
                    from = to;
                    return Some(piece);
                }
            }
            None
        })
    }
}

impl Piece {
    fn at(&self, slope: Slope) -> Band {
        Band { slope, above: self.above, below: self.below }
    }

    fn middle(&self) -> Slope {
        Slope::nearest_ppb((self.from.ppb() + self.to.ppb()) / 2.0).clamp(self.from, self.to)
    }

    /// The slopes of this piece whose gap is not negative.
    fn feasible(&self) -> Option<(Slope, Slope)> {
        let open = |slope| self.at(slope).width_times_run() >= 0;
        match (open(self.from), open(self.to)) {
            (true, true) => Some((self.from, self.to)),
            (false, true) => Some((self.through_both(), self.to)),
            (true, false) => Some((self.from, self.through_both())),
            (false, false) => None,
        }
    }

    /// The slope of the line through both touching points, which are not above each other where the gap changes its sign.
    fn through_both(&self) -> Slope {
        match self.above.x < self.below.x {
            true => Slope::between(self.above, self.below),
            false => Slope::between(self.below, self.above),
        }
    }
}

impl Band {
    /// Vertical distance of the two lines, times the slope's run. Negative where the lines have changed places.
    pub(super) fn width_times_run(&self) -> i128 {
        self.slope.intercept_times_run(self.above) - self.slope.intercept_times_run(self.below)
    }

    /// Vertical distance, rounded down.
    pub(super) fn width(&self) -> i64 {
        self.width_times_run().div_euclid(i128::from(self.slope.run)) as i64
    }

    /// Of the line halfway between, at 0, to the nearest integer.
    pub(super) fn middle_at_zero(&self) -> i64 {
        let twice = self.slope.intercept_times_run(self.above) + self.slope.intercept_times_run(self.below);
        let run = i128::from(self.slope.run);
        (twice + run).div_euclid(2 * run) as i64
    }
}

/// The greatest value at 0 of a line below `hull` whose slope is in `slopes`, rounded up.
///
/// It is the hull's own value at 0 where the hull's slope there is allowed, and is reached at the nearest allowed slope where
/// not, because the intercept is concave in the slope.
fn ceiling_at_zero(hull: &[Point], (least, greatest): (Slope, Slope)) -> i64 {
    let beyond = hull.partition_point(|vertex| vertex.x <= 0);
    let slope = match beyond {
        0 => least,
        _ if beyond == hull.len() => greatest,
        _ => Slope::between(hull[beyond - 1], hull[beyond]).clamp(least, greatest),
    };
    let lowest = hull.iter().map(|vertex| slope.intercept_times_run(*vertex)).min();
    let run = i128::from(slope.run);
    lowest.map_or(i64::MAX, |lowest| (lowest + run - 1).div_euclid(run) as i64)
}
