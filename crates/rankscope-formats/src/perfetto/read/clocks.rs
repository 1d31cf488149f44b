//! Packet times to nanoseconds of the trace's own clock.
//!
//! A snapshot lists simultaneous readings of several clocks. A clock that stands in a snapshot beside the trace's clock, or
//! beside one already tied to it, is tied to it from there on: a time moves by the difference that the last snapshot at or
//! before it says (the first snapshot, for earlier times). All of it is integers. Clocks from 64 to 127 belong to their
//! sequence. An incremental clock counts from the packet before, the first time from the snapshot.

use rustc_hash::FxHashMap;

use crate::perfetto::schema::{clock, snapshot};
use crate::wire::Fields;

/// Snapshots kept until a later one ties their clocks to the trace's.
const WAITING_MAX: usize = 64;

/// All clocks of a file.
#[derive(Debug)]
pub(super) struct Clocks {
    trace_clock: u64,
    list: Vec<Clock>,
    index: FxHashMap<(u32, u64), usize>,
    /// The clock asked for last, with its place: packets of a sequence come in runs.
    last: Option<((u32, u64), usize)>,
    waiting: Vec<Vec<((u32, u64), i64)>>,
    /// What to add to the trace's clock for time since the Unix epoch.
    unix_offset_ns: Option<i64>,
}

#[derive(Debug)]
struct Clock {
    unit_ns: i64,
    incremental: bool,
    /// The last time, of an incremental clock.
    last_ns: i64,
    /// Readings of this clock and of the trace's, in ascending order of the first.
    ties: Vec<(i64, i64)>,
}

/// What became of a packet's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// On the trace's clock.
    Known(i64),
    /// The clock was never tied to the trace's; taken for it.
    Untied(i64),
    /// The clock belongs to the sequence, which has not introduced it.
    Unknown,
}

impl Default for Clocks {
    fn default() -> Self {
        Self {
            trace_clock: clock::BOOTTIME,
            list: Vec::new(),
            index: FxHashMap::default(),
            last: None,
            waiting: Vec::new(),
            unix_offset_ns: None,
        }
    }
}

impl Clocks {
    /// The trace's own clock.
    pub(super) fn trace_clock(&self) -> u64 {
        self.trace_clock
    }

    /// What to add to the trace's clock for time since the Unix epoch, if the file says.
    pub(super) fn unix_offset_ns(&self) -> Option<i64> {
        if self.trace_clock == clock::REALTIME { Some(0) } else { self.unix_offset_ns }
    }

    /// A packet's time.
    pub(super) fn read(&mut self, sequence: u32, id: u64, ticks: u64) -> Reading {
        let ticks = i64::try_from(ticks).unwrap_or(i64::MAX);
        if id == self.trace_clock {
            return Reading::Known(ticks);
        }
        let key = key(sequence, id);
        let known = self.last.filter(|(last, _)| *last == key).map(|(_, at)| at).or_else(|| self.index.get(&key).copied());
        self.last = known.map(|at| (key, at));
        let Some(clock) = known.map(|at| &mut self.list[at]) else {
            return if is_of_sequence(id) { Reading::Unknown } else { Reading::Untied(ticks) };
        };
        let mut ns = ticks.saturating_mul(clock.unit_ns);
        if clock.incremental {
            ns = clock.last_ns.saturating_add(ns);
            clock.last_ns = ns;
        }
        tied(&clock.ties, ns).map_or(Reading::Untied(ns), Reading::Known)
    }

    /// Takes a `ClockSnapshot` in. Returns whether it was well formed.
    pub(super) fn snapshot(&mut self, sequence: u32, message: &[u8]) -> bool {
        let mut readings: Vec<((u32, u64), i64)> = Vec::new();
        for field in Fields::of(message) {
            let Ok((number, value)) = field else { return false };
            match number {
                snapshot::CLOCKS => match self.reading(sequence, value.bytes()) {
                    Some(reading) => readings.push(reading),
                    None => return false,
                },
                snapshot::PRIMARY => self.trace_clock = value.u64(),
                _ => {}
            }
        }
        if self.tie(&readings) {
            let waiting = std::mem::take(&mut self.waiting);
            for readings in waiting {
                if !self.tie(&readings) {
                    self.waiting.push(readings);
                }
            }
        } else if self.waiting.len() < WAITING_MAX {
            self.waiting.push(readings);
        }
        true
    }

    fn reading(&mut self, sequence: u32, message: &[u8]) -> Option<((u32, u64), i64)> {
        let (mut id, mut ticks, mut incremental, mut unit) = (0, 0, false, 1);
        for field in Fields::of(message) {
            match field.ok()? {
                (clock::ID, value) => id = value.u64(),
                (clock::TIMESTAMP, value) => ticks = value.u64(),
                (clock::IS_INCREMENTAL, value) => incremental = value.u64() != 0,
                (clock::UNIT_NS, value) => unit = value.u64().max(1),
                _ => {}
            }
        }
        let unit_ns = i64::try_from(unit).unwrap_or(i64::MAX);
        let ns = i64::try_from(ticks).unwrap_or(i64::MAX).saturating_mul(unit_ns);
        let key = key(sequence, id);
        let next = self.list.len();
        let at = *self.index.entry(key).or_insert(next);
        if at == next {
            self.list.push(Clock { unit_ns, incremental, last_ns: ns, ties: Vec::new() });
        }
        let clock = &mut self.list[at];
        (clock.unit_ns, clock.incremental, clock.last_ns) = (unit_ns, incremental, ns);
        Some((key, ns))
    }

    /// Ties every clock of a snapshot to the trace's clock. `false` if none of them is tied yet.
    fn tie(&mut self, readings: &[((u32, u64), i64)]) -> bool {
        let direct = readings.iter().find(|((_, id), _)| *id == self.trace_clock).map(|(_, ns)| *ns);
        let known = || readings.iter().find_map(|(key, ns)| tied(&self.list[*self.index.get(key)?].ties, *ns));
        let Some(trace_ns) = direct.or_else(known) else { return false };
        for (key, ns) in readings {
            if key.1 == clock::REALTIME {
                self.unix_offset_ns.get_or_insert(ns.saturating_sub(trace_ns));
            }
            let Some(clock) = self.index.get(key).map(|at| &mut self.list[*at]) else { continue };
            // A clock that steps back has no map; its first course holds.
            if clock.ties.last().is_none_or(|(last, _)| last < ns) {
                clock.ties.push((*ns, trace_ns));
            }
        }
        true
    }
}

/// `ns` of a clock with these ties, on the trace's clock.
fn tied(ties: &[(i64, i64)], ns: i64) -> Option<i64> {
    let after = ties.partition_point(|(from, _)| *from <= ns);
    let (from, to) = ties.get(after.saturating_sub(1))?;
    Some(ns.saturating_add(to.saturating_sub(*from)))
}

fn is_of_sequence(id: u64) -> bool {
    (clock::FIRST_OF_SEQUENCE..=clock::LAST_OF_SEQUENCE).contains(&id)
}

fn key(sequence: u32, id: u64) -> (u32, u64) {
    (if is_of_sequence(id) { sequence } else { 0 }, id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Encoder;

    fn message(readings: &[(u64, u64, u64)]) -> Vec<u8> {
        let mut encoder = Encoder::default();
        for (id, ticks, unit) in readings {
            encoder.message(snapshot::CLOCKS, |body| {
                body.varint(clock::ID, *id).varint(clock::TIMESTAMP, *ticks).varint(clock::UNIT_NS, *unit);
            });
        }
        encoder.bytes().to_vec()
    }

    #[test]
    fn a_clock_moves_by_the_last_snapshot_before() {
        let mut clocks = Clocks::default();
        assert!(clocks.snapshot(0, &message(&[(3, 100, 1), (6, 1_100, 1)])));
        assert!(clocks.snapshot(0, &message(&[(3, 200, 1), (6, 1_205, 1)])));
        let read: Vec<_> = [50, 199, 200, 300].map(|ticks| clocks.read(9, 3, ticks)).into();
        assert_eq!(read, [1_050, 1_199, 1_205, 1_305].map(Reading::Known));
    }

    #[test]
    fn a_clock_is_reached_through_another_even_when_that_comes_later() {
        let mut clocks = Clocks::default();
        assert!(clocks.snapshot(5, &message(&[(70, 10, 1_000), (3, 500, 1)])));
        assert_eq!(clocks.read(5, 70, 11), Reading::Untied(11_000));
        assert!(clocks.snapshot(0, &message(&[(3, 400, 1), (6, 1_000_400, 1)])));
        assert_eq!(clocks.read(5, 70, 11), Reading::Known(1_001_500));
        assert_eq!(clocks.read(6, 70, 11), Reading::Unknown);
    }
}
