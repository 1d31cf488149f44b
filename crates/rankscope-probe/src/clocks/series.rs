//! Snapshots of two clocks in a row, and the conversion from the steered one (`other`) to the smooth one (`base`).
//!
//! Between two snapshots time runs along their chord. How wrong a chord can be is read off the series itself: `excess` is what
//! the other clock gained over a segment beyond what its rate over an equal time before foretells, and a single change of rate
//! or a small step inside a segment never leaves the chord by more than the excess. The widths of the snapshots make the excess
//! uncertain by `noise`. So a reading is known to within `half width + excess + noise`.
//!
//! A segment whose clocks part by more than [`SLEW_PPM_MAX`] holds a step, somewhere; no instant inside it is converted. An
//! instant that a clock showed twice, because it was set back, is converted only if the other time is too long ago.
//!
//! Reads no clock.

use std::collections::VecDeque;

/// Two clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The smooth clock.
    pub base_ns: i64,
    /// The other one.
    pub other_ns: i64,
    /// How far `base_ns` can be from the moment that the other clock was read.
    pub half_width_ns: u64,
}

/// An instant on the base clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Nanoseconds of the base clock.
    pub base_ns: i64,
    /// How far that may be off.
    pub uncertainty_ns: u64,
}

/// Why an instant has no reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Older than the oldest snapshot that is kept.
    Before,
    /// Younger than the youngest snapshot.
    After,
    /// The other clock was stepped about then.
    InStep,
    /// The other clock was set back and showed this twice.
    Twice,
}

/// What the other clock did that it does not do on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It jumped by `size_ns`, between two snapshots, the later of which was at `base_ns`.
    Step {
        /// When, on the base clock.
        base_ns: i64,
        /// By how much.
        size_ns: i64,
    },
    /// Its rate changed by `by_ppb`, some time in the segment that began at `base_ns`.
    Rate {
        /// When, on the base clock.
        base_ns: i64,
        /// By how much.
        by_ppb: i64,
    },
}

/// How fast a clock may be steered without being called stepped. The kernel's frequency correction ends at 500 ppm, and an
/// oscillator adds some of its own.
pub(super) const SLEW_PPM_MAX: i64 = 600;

/// Changes of rate below this are the weather, not a daemon.
const RATE_CHANGE_PPB_MIN: i64 = 2_000;

/// How long ago a stamp that is handed in may have been taken, where that must decide between two readings.
const LATENESS_NS_MAX: i64 = 200_000_000;

/// A snapshot that took longer to read says nothing.
const HALF_WIDTH_NS_MAX: u64 = 500_000_000;

/// Neighbours stay closer than this, 73 years, so that products fit.
const APART_NS_MAX: i64 = 1 << 61;

/// A bounded run of snapshots.
#[derive(Clone, Debug)]
pub struct Series {
    spacing_ns: i64,
    capacity: usize,
    points: VecDeque<Point>,
    /// The last point gives way to the next one, being too near to the one before it.
    provisional: bool,
    /// Steps among the points.
    steps: usize,
    /// The first snapshot after the last step.
    smooth_since_ns: i64,
    rate: Option<Chord>,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    snapshot: Snapshot,
    /// The segment that ends here.
    segment: Segment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Segment {
    /// There is none: the first point ever, or the first one kept.
    None,
    /// Along the chord, give or take.
    Smooth { slack_ns: u64 },
    /// The clock jumped.
    Step,
}

/// Rise over run of a segment, and how far the rise may be off.
#[derive(Clone, Copy, Debug)]
struct Chord {
    run_ns: i64,
    rise_ns: i64,
    noise_ns: i64,
}

impl Chord {
    fn between(a: &Snapshot, b: &Snapshot) -> Self {
        let noise_ns = i64::try_from(a.half_width_ns.saturating_add(b.half_width_ns)).unwrap_or(i64::MAX);
        Self { run_ns: b.base_ns.saturating_sub(a.base_ns), rise_ns: b.other_ns.saturating_sub(a.other_ns), noise_ns }
    }

    fn gain_ns(&self) -> i64 {
        self.rise_ns.saturating_sub(self.run_ns)
    }

    fn gain_ppb(&self) -> i64 {
        scaled(self.gain_ns(), 1_000_000_000, self.run_ns)
    }

    fn is_step(&self) -> bool {
        let steered = scaled(self.run_ns, SLEW_PPM_MAX, 1_000_000).saturating_add(self.noise_ns);
        self.run_ns <= 0 || self.run_ns >= APART_NS_MAX || self.rise_ns <= 0 || self.gain_ns().saturating_abs() > steered
    }

    /// How far this chord may be from where the clock was, given the chord before it.
    fn slack_ns(&self, before: Option<Self>) -> u64 {
        let Some(before) = before else { return 0 };
        let excess = self.gain_ns().saturating_sub(scaled(before.gain_ns(), self.run_ns, before.run_ns)).saturating_abs();
        let noise = self.noise_ns.saturating_add(scaled(before.noise_ns, self.run_ns, before.run_ns));
        excess.saturating_add(noise).unsigned_abs()
    }
}

/// `value * numerator / denominator`, `denominator` being positive.
fn scaled(value: i64, numerator: i64, denominator: i64) -> i64 {
    let product = i128::from(value) * i128::from(numerator) / i128::from(denominator.max(1));
    product.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

impl Series {
    /// An empty series that keeps snapshots `spacing_ns` apart, `capacity` of them (two at least).
    pub fn new(spacing_ns: i64, capacity: usize) -> Self {
        let points = VecDeque::new();
        Self {
            spacing_ns,
            capacity: capacity.max(2),
            points,
            provisional: false,
            steps: 0,
            smooth_since_ns: i64::MIN,
            rate: None,
        }
    }

    /// The youngest snapshot.
    pub fn last(&self) -> Option<Snapshot> {
        self.points.back().map(|point| point.snapshot)
    }

    /// Adds a snapshot, which must be younger than the last on the base clock. One that is not, or that took a second to read, is
    /// ignored.
    pub fn push(&mut self, snapshot: Snapshot) -> Option<Change> {
        let Some(last) = self.points.back().copied() else {
            self.points.push_back(Point { snapshot, segment: Segment::None });
            return None;
        };
        if snapshot.base_ns <= last.snapshot.base_ns || snapshot.half_width_ns > HALF_WIDTH_NS_MAX {
            return None;
        }
        let newest = Chord::between(&last.snapshot, &snapshot);
        if newest.is_step() {
            self.smooth_since_ns = snapshot.base_ns;
            // The last point stays, provisional or not: it is the tightest bound on when the step was.
            self.append(Point { snapshot, segment: Segment::Step }, false);
            let foretold = self.rate.map_or(0, |rate| scaled(rate.gain_ns(), newest.run_ns, rate.run_ns));
            return Some(Change::Step { base_ns: snapshot.base_ns, size_ns: newest.gain_ns().saturating_sub(foretold) });
        }
        if self.provisional {
            self.points.pop_back();
        }
        let anchor = self.points.back().map_or(last.snapshot, |point| point.snapshot);
        let chord = Chord::between(&anchor, &snapshot);
        let settled = chord.run_ns >= self.spacing_ns;
        self.append(
            Point { snapshot, segment: Segment::Smooth { slack_ns: chord.slack_ns(self.before(&anchor, chord.run_ns)) } },
            !settled,
        );
        if settled { self.settle(anchor.base_ns, chord) } else { None }
    }

    /// The chord that ends at `anchor`, the last point, and is about as long as `run_ns`: noise counts in inverse proportion to
    /// length. Across a step there is none, and the last rate that was seen stands in.
    fn before(&self, anchor: &Snapshot, run_ns: i64) -> Option<Chord> {
        let from_ns = anchor.base_ns.saturating_sub(run_ns).max(self.smooth_since_ns);
        let from = self.points.partition_point(|point| point.snapshot.base_ns <= from_ns);
        let from = self.points.get(from.saturating_sub(1)).map_or(anchor, |point| &point.snapshot);
        let chord = Chord::between(from, anchor);
        if chord.run_ns > 0 { Some(chord) } else { self.rate }
    }

    fn append(&mut self, point: Point, provisional: bool) {
        self.steps += usize::from(point.segment == Segment::Step);
        self.points.push_back(point);
        self.provisional = provisional;
        while self.points.len() > self.capacity {
            self.points.pop_front();
            if let Some(first) = self.points.front_mut() {
                self.steps -= usize::from(first.segment == Segment::Step);
                first.segment = Segment::None;
            }
        }
    }

    fn settle(&mut self, base_ns: i64, chord: Chord) -> Option<Change> {
        let before = self.rate.replace(chord)?;
        let by_ppb = chord.gain_ppb().saturating_sub(before.gain_ppb());
        let noise_ppb = scaled(chord.noise_ns, 1_000_000_000, chord.run_ns).saturating_add(scaled(
            before.noise_ns,
            1_000_000_000,
            before.run_ns,
        ));
        let changed = by_ppb.saturating_abs() >= noise_ppb.saturating_add(RATE_CHANGE_PPB_MIN);
        changed.then_some(Change::Rate { base_ns, by_ppb })
    }

    /// When, on the base clock, the other one showed `other_ns`; `now_ns` is what the base clock shows now.
    ///
    /// # Errors
    /// [`Unknown`] where the series does not know, or not for sure.
    pub fn to_base(&self, other_ns: i64, now_ns: i64) -> Result<Reading, Unknown> {
        let (Some(first), Some(last)) = (self.points.front(), self.points.back()) else { return Err(Unknown::After) };
        if self.steps == 0 {
            if other_ns < first.snapshot.other_ns {
                return Err(Unknown::Before);
            }
            if other_ns > last.snapshot.other_ns {
                return Err(Unknown::After);
            }
            let after = self.points.partition_point(|point| point.snapshot.other_ns < other_ns).max(1);
            return match self.points.get(after) {
                Some(point) => Ok(interpolated(&self.points[after - 1], point, other_ns)),
                None => Ok(Reading { base_ns: first.snapshot.base_ns, uncertainty_ns: first.snapshot.half_width_ns }),
            };
        }
        self.to_base_across_steps(other_ns, now_ns)
    }

    fn to_base_across_steps(&self, other_ns: i64, now_ns: i64) -> Result<Reading, Unknown> {
        let pairs = || self.points.iter().zip(self.points.iter().skip(1));
        let fresh = |base_ns: i64| now_ns.saturating_sub(base_ns) <= LATENESS_NS_MAX;
        if pairs().any(|(a, b)| b.segment == Segment::Step && fresh(b.snapshot.base_ns) && in_step(a, b, other_ns)) {
            return Err(Unknown::InStep);
        }
        let smooth = pairs().filter(|(a, b)| {
            matches!(b.segment, Segment::Smooth { .. }) && (a.snapshot.other_ns..=b.snapshot.other_ns).contains(&other_ns)
        });
        let found: Vec<Reading> = smooth.map(|(a, b)| interpolated(a, b, other_ns)).collect();
        // An instant on the joint of two segments is in both, and the same in both.
        let mut young = found.iter().filter(|reading| fresh(reading.base_ns));
        match (found.as_slice(), young.next(), young.next()) {
            ([], ..) if self.last().is_some_and(|last| last.other_ns < other_ns) => Err(Unknown::After),
            ([], ..) if pairs().any(|(a, b)| b.segment == Segment::Step && in_step(a, b, other_ns)) => Err(Unknown::InStep),
            ([], ..) => Err(Unknown::Before),
            ([only], ..) => Ok(*only),
            (_, Some(one), None) => Ok(*one),
            (_, Some(one), Some(other)) if one.base_ns == other.base_ns => Ok(*one),
            _ => Err(Unknown::Twice),
        }
    }

    /// The stretches without a step, oldest first, each of one snapshot or more.
    pub fn runs(&self) -> impl Iterator<Item = Vec<Snapshot>> {
        let mut rest = self.points.iter().peekable();
        std::iter::from_fn(move || {
            let mut run = vec![rest.next()?.snapshot];
            while let Some(point) = rest.next_if(|point| point.segment != Segment::Step) {
                run.push(point.snapshot);
            }
            Some(run)
        })
    }

    /// Forgets all snapshots but the last settled one and what came after it.
    pub fn forget(&mut self) {
        let keep = if self.provisional { 2 } else { 1 };
        self.points.drain(..self.points.len().saturating_sub(keep));
        if let Some(first) = self.points.front_mut() {
            first.segment = Segment::None;
        }
        self.steps = 0;
    }
}

/// Whether the other clock may have shown `other_ns` between `a` and `b`, where it jumped.
fn in_step(a: &Point, b: &Point, other_ns: i64) -> bool {
    let run = b.snapshot.base_ns.saturating_sub(a.snapshot.base_ns);
    let reach = run.saturating_add(scaled(run, SLEW_PPM_MAX, 1_000_000));
    let (from, until) = (a.snapshot.other_ns, b.snapshot.other_ns);
    // Up to the jump it went on from `a`; from the jump on it went towards `b`; what it jumped over it never showed.
    (from..=until).contains(&other_ns)
        || (from..=from.saturating_add(reach)).contains(&other_ns)
        || (until.saturating_sub(reach)..until).contains(&other_ns)
}

fn interpolated(a: &Point, b: &Point, other_ns: i64) -> Reading {
    let (a, slack_ns, b) = match b.segment {
        Segment::Smooth { slack_ns } => (a.snapshot, slack_ns, b.snapshot),
        Segment::None | Segment::Step => (a.snapshot, 0, b.snapshot),
    };
    let (run, rise) = (i128::from(b.base_ns) - i128::from(a.base_ns), (i128::from(b.other_ns) - i128::from(a.other_ns)).max(1));
    let gone = i128::from(other_ns) - i128::from(a.other_ns);
    // To the nearest; both factors stay below 2^63.
    let base_ns = i128::from(a.base_ns) + (2 * gone * run + rise).div_euclid(2 * rise);
    let uncertainty_ns = a.half_width_ns.max(b.half_width_ns).saturating_add(slack_ns).saturating_add(1);
    Reading { base_ns: base_ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64, uncertainty_ns }
}

#[cfg(test)]
mod tests;
