//! What happened to the wall clock while a recording ran: somebody set it, or a daemon bent it.
//!
//! The times of a recording do not follow it; this is for the reader who compares them with logs that did.

use super::event::ClockId;
use super::system::Anchor;
use super::ticks::TickMap;

/// A time in which the wall clock did not keep step with the recording's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallChange {
    /// The reading before it.
    pub from_tick: u64,
    /// The reading after it.
    pub to_tick: u64,
    /// How much further the wall clock went.
    pub by_ns: i64,
    /// It was set, for no bending goes that fast.
    pub step: bool,
}

/// The changes between readings of the wall clock. Those in a row that bend it the same way are one.
pub fn wall_changes(anchors: &[Anchor], ticks: &TickMap) -> Vec<WallChange> {
    let mut readings: Vec<&Anchor> = anchors.iter().filter(|anchor| anchor.clock == ClockId::REALTIME).collect();
    readings.sort_by_key(|anchor| anchor.tick);
    let mut changes: Vec<WallChange> = Vec::new();
    for pair in readings.windows(2) {
        let Some(change) = change(pair[0], pair[1], ticks) else { continue };
        match changes.last_mut() {
            Some(last)
                if !last.step
                    && !change.step
                    && last.to_tick == change.from_tick
                    && last.by_ns.signum() == change.by_ns.signum() =>
            {
                last.to_tick = change.to_tick;
                last.by_ns = last.by_ns.saturating_add(change.by_ns);
            }
            _ => changes.push(change),
        }
    }
    changes
}

fn change(a: &Anchor, b: &Anchor, ticks: &TickMap) -> Option<WallChange> {
    let elapsed_ns = i128::from(ticks.ns(b.tick)) - i128::from(ticks.ns(a.tick));
    let by = i128::from(b.ns) - i128::from(a.ns) - elapsed_ns;
    let widths = i128::from(ticks.length_ns(a.tick, a.width_ticks.saturating_add(b.width_ticks)));
    if by.abs() <= widths + elapsed_ns * SLEW_PPM / 1_000_000 {
        return None;
    }
    let step = by.abs() > widths + elapsed_ns * STEP_PPM / 1_000_000 + STEP_NS;
    let by_ns = by.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    Some(WallChange { from_tick: a.tick, to_tick: b.tick, by_ns, step })
}

/// The raw oscillator is off by some tens of parts in a million, which a disciplined wall clock corrects all the time. What
/// goes faster is on purpose.
const SLEW_PPM: i128 = 150;
/// The kernel bends by half a thousandth at most, beside as much of correction.
const STEP_PPM: i128 = 1_100;
/// Two readings close together: what their order alone may do.
const STEP_NS: i128 = 1_000;
