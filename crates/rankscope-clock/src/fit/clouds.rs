//! Packets as points: what each says about `b - a` at one instant of `a`'s clock.
//!
//! A packet from `a` to `b` bounds the difference from above when it leaves, one from `b` to `a` from below when it arrives.
//! Coordinates are relative to the middle of the window and to one of the differences, so that products of them fit `i128`.

use crate::{Exchange, HostInstant, Passage};

/// A difference of clocks `y` at time `x`, both in nanoseconds from the origin of their clouds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) x: i64,
    pub(super) y: i64,
}

impl Point {
    pub(super) fn flipped(self) -> Self {
        Self { x: self.x, y: -self.y }
    }
}

/// Both clouds of a window or a part of one.
#[derive(Clone, Debug, Default)]
pub(super) struct Clouds {
    /// `a`'s clock where `x` is 0.
    pub(super) mid_ns: i64,
    /// The difference where `y` is 0.
    pub(super) base_ns: i64,
    /// Least and greatest `x`.
    pub(super) reach: (i64, i64),
    /// Upper bounds, from packets there.
    pub(super) upper: Vec<Point>,
    /// Lower bounds, from packets back.
    pub(super) lower: Vec<Point>,
}

/// Stamps further than this from the window's median are not of this window: 4.9 hours. Squares still fit where they must.
const REACH_X_NS: i64 = 1 << 44;
/// Differences further than this from the median are no differences of clocks: 73 years.
const REACH_Y_NS: i64 = 1 << 61;

/// Points that the medians are taken over: they have to be of this window, not in its middle.
const SAMPLES: usize = 64;

impl Clouds {
    pub(super) fn of(exchanges: &[Exchange]) -> Self {
        let mut upper = Vec::with_capacity(2 * exchanges.len());
        let mut lower = Vec::with_capacity(2 * exchanges.len());
        for exchange in exchanges {
            upper.extend(exchange.forward.iter().filter_map(upper_bound));
            lower.extend(exchange.reverse.iter().filter_map(lower_bound));
        }
        let mut clouds = Self { upper, lower, ..Self::default() };
        clouds.rebase();
        clouds
    }

    /// Other points about the same origin.
    pub(super) fn with_points(&self, upper: Vec<Point>, lower: Vec<Point>) -> Self {
        Self { upper, lower, ..*self }
    }

    /// The upper bounds of one exchange, as points of these clouds.
    pub(super) fn upper_of(&self, exchange: &Exchange) -> impl Iterator<Item = Point> {
        exchange.forward.iter().filter_map(upper_bound).filter_map(|point| self.place(point))
    }

    /// The lower bounds of one exchange, as points of these clouds.
    pub(super) fn lower_of(&self, exchange: &Exchange) -> impl Iterator<Item = Point> {
        exchange.reverse.iter().filter_map(lower_bound).filter_map(|point| self.place(point))
    }

    /// `point` seen from the origin; none where it is too far away to be of this window.
    pub(super) fn place(&self, Point { x, y }: Point) -> Option<Point> {
        let known = within(x, self.mid_ns, REACH_X_NS) && within(y, self.base_ns, REACH_Y_NS);
        known.then(|| Point { x: x - self.mid_ns, y: y - self.base_ns })
    }

    pub(super) fn start(&self) -> HostInstant {
        HostInstant::from_nanos_since_epoch(self.mid_ns + self.reach.0)
    }

    pub(super) fn mid(&self) -> HostInstant {
        HostInstant::from_nanos_since_epoch(self.mid_ns)
    }

    pub(super) fn end(&self) -> HostInstant {
        HostInstant::from_nanos_since_epoch(self.mid_ns + self.reach.1)
    }

    /// Moves `x` to the middle of all and `y` to about the median of the upper bounds, or of the lower ones where there are no
    /// others.
    fn rebase(&mut self) {
        let some = if self.upper.is_empty() { &self.lower } else { &self.upper };
        let samples = || some.iter().step_by(some.len() / SAMPLES + 1);
        let Some(near_x) = median(samples().map(|point| point.x)) else { return };
        let Some(near_y) = median(samples().map(|point| point.y)) else { return };
        let mut reach = (i64::MAX, i64::MIN);
        for cloud in [&mut self.upper, &mut self.lower] {
            cloud.retain(|point| within(point.x, near_x, REACH_X_NS) && within(point.y, near_y, REACH_Y_NS));
            for point in cloud {
                reach = (reach.0.min(point.x), reach.1.max(point.x));
                point.y -= near_y;
            }
        }
        if reach.0 > reach.1 {
            return;
        }
        let mid_ns = reach.0 + (reach.1 - reach.0) / 2;
        self.upper.iter_mut().chain(&mut self.lower).for_each(|point| point.x -= mid_ns);
        (self.mid_ns, self.base_ns, self.reach) = (mid_ns, near_y, (reach.0 - mid_ns, reach.1 - mid_ns));
    }
}

fn within(value: i64, near: i64, reach: i64) -> bool {
    value.checked_sub(near).is_some_and(|off| (-reach..=reach).contains(&off))
}

fn median(values: impl Iterator<Item = i64>) -> Option<i64> {
    let mut values: Vec<i64> = values.collect();
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}

fn upper_bound(forward: &Passage) -> Option<Point> {
    let (sent, received) = (forward.sent?.nanos_since_epoch(), forward.received?.nanos_since_epoch());
    Some(Point { x: sent, y: received.checked_sub(sent)? })
}

fn lower_bound(reverse: &Passage) -> Option<Point> {
    let (sent, received) = (reverse.sent?.nanos_since_epoch(), reverse.received?.nanos_since_epoch());
    Some(Point { x: received, y: sent.checked_sub(received)? })
}
