//! The lower convex hull of points that arrive almost in order.
//!
//! Andrew's monotone chain, point by point: a point beyond the last one costs amortised O(1); one that comes late is inserted
//! where it belongs, which is exact because the hull of a set and one point more is the hull of the set's hull and that point.
//! Coordinates are integers and turns are taken in `i128`, so no tolerance decides anything. An upper hull is the lower one of
//! the points turned upside down.

use super::Point;

/// Vertices from left to right; slopes between them strictly rise.
#[derive(Clone, Debug, Default)]
pub(super) struct LowerHull {
    vertices: Vec<Point>,
}

impl LowerHull {
    pub(super) fn vertices(&self) -> &[Point] {
        &self.vertices
    }

    pub(super) fn push(&mut self, point: Point) {
        match self.vertices.last() {
            Some(last) if last.x >= point.x => self.insert(point),
            _ => {
                while self.hides_last(point) {
                    self.vertices.pop();
                }
                self.vertices.push(point);
            }
        }
    }

    fn hides_last(&self, point: Point) -> bool {
        matches!(self.vertices[..], [.., before, last] if !bends_up(before, last, point))
    }

    fn insert(&mut self, point: Point) {
        let mut at = self.vertices.partition_point(|vertex| vertex.x < point.x);
        if self.vertices[at].x == point.x {
            if self.vertices[at].y <= point.y {
                return;
            }
            self.vertices.remove(at);
        } else if at > 0 && !bends_up(self.vertices[at - 1], point, self.vertices[at]) {
            return;
        }
        while at >= 2 && !bends_up(self.vertices[at - 2], self.vertices[at - 1], point) {
            self.vertices.remove(at - 1);
            at -= 1;
        }
        while self.vertices.len() >= at + 2 && !bends_up(point, self.vertices[at], self.vertices[at + 1]) {
            self.vertices.remove(at);
        }
        self.vertices.insert(at, point);
    }
}

impl Extend<Point> for LowerHull {
    fn extend<I: IntoIterator<Item = Point>>(&mut self, points: I) {
        points.into_iter().for_each(|point| self.push(point));
    }
}

impl FromIterator<Point> for LowerHull {
    fn from_iter<I: IntoIterator<Item = Point>>(points: I) -> Self {
        let mut hull = Self::default();
        hull.extend(points);
        hull
    }
}

/// Whether the way from `a` over `b` to `c` turns to the left.
fn bends_up(a: Point, b: Point, c: Point) -> bool {
    i128::from(b.y - a.y) * i128::from(c.x - b.x) < i128::from(c.y - b.y) * i128::from(b.x - a.x)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points() -> impl Strategy<Value = Vec<Point>> {
        prop::collection::vec((-50i64..50, -50i64..50).prop_map(|(x, y)| Point { x, y }), 1..60)
    }

    proptest! {
        #[test]
        fn the_hull_does_not_depend_on_the_order(mut points in points()) {
            let streamed: LowerHull = points.iter().copied().collect();
            points.sort_unstable_by_key(|point| (point.x, point.y));
            let sorted: LowerHull = points.into_iter().collect();
            prop_assert_eq!(streamed.vertices, sorted.vertices);
        }

        #[test]
        fn along_every_slope_the_lowest_point_is_a_vertex(points in points(), rise in -90i64..90, run in 1i64..9) {
            let hull: LowerHull = points.iter().copied().collect();
            let lowest = |points: &[Point]| points.iter().map(|point| point.y * run - rise * point.x).min();
            prop_assert_eq!(lowest(hull.vertices()), lowest(&points));
            prop_assert!(hull.vertices().iter().all(|vertex| points.contains(vertex)));
            prop_assert!(hull.vertices().windows(3).all(|three| bends_up(three[0], three[1], three[2])));
        }
    }
}
