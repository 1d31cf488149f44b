//! [`TickMap`]: ticks to nanoseconds, through the anchors.
//!
//! Between two anchors ticks run at one rate, before the first and behind the last at that of the nearest two. Each stretch is
//! `ns + (tick − first) · rate`, the rate a whole number of 2⁻⁶⁴ ns rounded down, so a stretch never passes the start of the
//! next one: the map never falls. The clock of the anchors is `MONOTONIC_RAW`, which nobody steps or slews, plus one constant
//! that brings it near the Unix epoch. What happens to the wall clock therefore cannot bend a duration.

use super::event::ClockId;
use super::system::Anchor;
use super::wild::without_wild;

/// Ticks to nanoseconds since the Unix epoch.
#[derive(Clone, Debug)]
pub struct TickMap {
    /// At least one, in order of their ticks and their nanoseconds.
    stretches: Vec<Stretch>,
    residual_median_ns: u64,
    residual_max_ns: u64,
    assumed_rate: bool,
}

/// Ticks from `tick` on.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    tick: u64,
    ns: i64,
    rate: Rate,
}

/// Nanoseconds a tick, in units of 2⁻⁶⁴ ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rate(u128);

impl Rate {
    const ONE: Self = Self(1 << 64);

    /// The rate that takes `ticks` (not zero) to no more than `ns`.
    pub(super) fn of(ns: u64, ticks: u64) -> Self {
        Self((u128::from(ns) << 64) / u128::from(ticks))
    }

    /// How many ticks take `ns`, rounded down; none where ticks take no time.
    fn ticks(self, ns: u64) -> u64 {
        let ticks = (u128::from(ns) << 64).checked_div(self.0).unwrap_or(0);
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// How long `ticks` are, rounded down.
    #[inline]
    pub(super) fn ns(self, ticks: u64) -> u128 {
        let (whole, fraction) = ((self.0 >> 64) as u64, self.0 as u64);
        let part = (u128::from(ticks) * u128::from(fraction)) >> 64;
        u128::from(ticks) * u128::from(whole) + part
    }
}

impl Stretch {
    /// The time at `tick`, which may lie before the stretch.
    #[inline]
    fn ns(&self, tick: u64) -> i64 {
        match tick.checked_sub(self.tick) {
            Some(ticks) => self.ns.saturating_add(i64::try_from(self.rate.ns(ticks)).unwrap_or(i64::MAX)),
            None => self.ns.saturating_sub(i64::try_from(self.rate.ns(self.tick - tick)).unwrap_or(i64::MAX)),
        }
    }

    /// The tick at `ns`, which may lie before the stretch.
    fn tick_at(&self, ns: i64) -> u64 {
        let ticks = self.rate.ticks(ns.abs_diff(self.ns));
        if ns < self.ns { self.tick.saturating_sub(ticks) } else { self.tick.saturating_add(ticks) }
    }
}

impl TickMap {
    /// The map through `anchors`. Those in which the reading was interrupted, or went wrong, are left out. Where the
    /// recording's own clock was read once, another clock gives the rate; where none was read twice, a tick counts as a
    /// nanosecond.
    pub fn new(anchors: &[Anchor]) -> Self {
        let of = |clock| {
            let mut readings: Vec<Anchor> = anchors.iter().filter(|anchor| anchor.clock == clock).copied().collect();
            readings.sort_by_key(|anchor| (anchor.tick, anchor.width_ticks));
            readings.dedup_by_key(|anchor| anchor.tick);
            without_wild(readings)
        };
        let clocks = CLOCKS.map(of);
        let knots = clocks.iter().find(|readings| !readings.is_empty()).map_or(&[][..], |readings| readings);
        let rate = clocks.iter().find(|readings| readings.len() > 1).map(|readings| rate_of(&readings[0], &readings[1]));
        let mut map = Self::through(knots, rate);
        if let Some(wall) = anchors.iter().filter(|anchor| anchor.clock == ClockId::REALTIME).min_by_key(|anchor| anchor.tick) {
            let constant = wall.ns.saturating_sub(map.ns(wall.tick));
            for stretch in &mut map.stretches {
                stretch.ns = stretch.ns.saturating_add(constant);
            }
        }
        map
    }

    /// `knots` rise in both tick and time; `rate` is for where there are fewer than two.
    fn through(knots: &[Anchor], rate: Option<Rate>) -> Self {
        let mut stretches: Vec<Stretch> = knots
            .windows(2)
            .map(|pair| Stretch { tick: pair[0].tick, ns: pair[0].ns, rate: rate_of(&pair[0], &pair[1]) })
            .collect();
        let last_rate = stretches.last().map(|stretch| stretch.rate).or(rate);
        let (tick, ns) = knots.last().map_or((0, 0), |knot| (knot.tick, knot.ns));
        stretches.push(Stretch { tick, ns, rate: last_rate.unwrap_or(Rate::ONE) });
        let mut residuals: Vec<u64> = knots.windows(3).map(|three| residual_ns(&three[0], &three[1], &three[2])).collect();
        residuals.sort_unstable();
        Self {
            stretches,
            residual_median_ns: residuals.get(residuals.len() / 2).copied().unwrap_or(0),
            residual_max_ns: residuals.last().copied().unwrap_or(0),
            assumed_rate: last_rate.is_none(),
        }
    }

    /// The time at `tick`, in nanoseconds since the Unix epoch.
    pub fn ns(&self, tick: u64) -> i64 {
        let at = self.stretches.partition_point(|stretch| stretch.tick <= tick);
        self.stretches[at.saturating_sub(1)].ns(tick)
    }

    /// The tick at about `ns`: its time differs from `ns` by no more than a tick takes, or than the recording has ticks for.
    pub fn tick(&self, ns: i64) -> u64 {
        let at = self.stretches.partition_point(|stretch| stretch.ns <= ns);
        self.stretches[at.saturating_sub(1)].tick_at(ns)
    }

    /// The time at `tick`, looked for from stretch `near` on, which is set to where it was found.
    #[inline]
    pub fn ns_near(&self, near: &mut usize, tick: u64) -> i64 {
        while self.stretches.get(*near + 1).is_some_and(|next| next.tick <= tick) {
            *near += 1;
        }
        if tick < self.stretches[*near].tick {
            *near = self.stretches.partition_point(|stretch| stretch.tick <= tick).saturating_sub(1);
        }
        self.stretches[*near].ns(tick)
    }

    /// For many ticks that mostly rise.
    pub fn cursor(&self) -> TickCursor<'_> {
        TickCursor { map: self, at: 0 }
    }

    /// How far anchors lie from the line between their neighbours: the median and the largest distance. Zero for fewer than
    /// three anchors.
    pub fn residuals_ns(&self) -> (u64, u64) {
        (self.residual_median_ns, self.residual_max_ns)
    }

    /// Whether no clock was read twice, so that a tick merely counts as a nanosecond.
    pub fn assumed_rate(&self) -> bool {
        self.assumed_rate
    }

    /// How long `ticks` are about `tick`, in nanoseconds.
    pub fn length_ns(&self, tick: u64, ticks: u64) -> u64 {
        let at = self.stretches.partition_point(|stretch| stretch.tick <= tick);
        u64::try_from(self.stretches[at.saturating_sub(1)].rate.ns(ticks)).unwrap_or(u64::MAX)
    }
}

/// Converts ticks one after the other.
#[derive(Clone, Debug)]
pub struct TickCursor<'a> {
    map: &'a TickMap,
    at: usize,
}

impl TickCursor<'_> {
    /// As [`TickMap::ns`], without searching while ticks rise.
    #[inline]
    pub fn ns(&mut self, tick: u64) -> i64 {
        self.map.ns_near(&mut self.at, tick)
    }
}

/// From the clock of choice to the last resort.
const CLOCKS: [ClockId; 4] = [ClockId::MONOTONIC_RAW, ClockId::MONOTONIC, ClockId::BOOTTIME, ClockId::REALTIME];

/// The rate between two readings, of which the second is later in both.
pub(super) fn rate_of(a: &Anchor, b: &Anchor) -> Rate {
    Rate::of(b.ns.abs_diff(a.ns), b.tick - a.tick)
}

/// How far `b` lies from the line between `a` and `c`.
fn residual_ns(a: &Anchor, b: &Anchor, c: &Anchor) -> u64 {
    let expected = i128::from(a.ns) + rate_of(a, c).ns(b.tick - a.tick) as i128;
    u64::try_from((i128::from(b.ns) - expected).unsigned_abs()).unwrap_or(u64::MAX)
}
