//! Which part of a recording is asked for. A session is no more than that: a stretch of ticks, and the categories in it.

use super::device::DEVICE_STREAM;

/// A session, as the recording marks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionMark {
    /// Its number.
    pub id: u64,
    /// When it began.
    pub start_tick: u64,
    /// When it ended; none if the recording ended first.
    pub stop_tick: Option<u64>,
    /// The categories that were on, a bit each, from a tick on. The first entry is the start.
    pub changes: Vec<(u64, u32)>,
}

/// A part of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Its first tick.
    pub from_tick: u64,
    /// Its last tick.
    pub to_tick: u64,
    /// The categories that are in it, a bit each, from a tick on; all of them if the list is empty. What lies before the first
    /// entry falls under it.
    pub changes: Vec<(u64, u32)>,
    /// Its streams; all of them if there is no list.
    pub streams: Option<Vec<u32>>,
}

impl Cut {
    /// All there is.
    pub const fn everything() -> Self {
        Self { from_tick: 0, to_tick: u64::MAX, changes: Vec::new(), streams: None }
    }

    /// What belongs to `session`.
    pub fn of(session: &SessionMark) -> Self {
        Self {
            from_tick: session.start_tick,
            to_tick: session.stop_tick.unwrap_or(u64::MAX),
            changes: session.changes.clone(),
            streams: None,
        }
    }

    /// Whether `stream` is in it; device work is of no thread, and always is.
    pub fn has_stream(&self, stream: u32) -> bool {
        stream == DEVICE_STREAM || self.streams.as_ref().is_none_or(|streams| streams.contains(&stream))
    }
}

/// The categories that are on, as ticks go by.
#[derive(Clone, Debug)]
pub(super) struct Mask {
    /// Entries of the cut's changes behind the one in force.
    next: usize,
    mask: u32,
    /// From which tick on the entry `next` is in force.
    until: u64,
}

impl Mask {
    pub(super) fn new(changes: &[(u64, u32)]) -> Self {
        let until = changes.get(1).map_or(u64::MAX, |change| change.0);
        Self { next: 1, mask: changes.first().map_or(u32::MAX, |change| change.1), until }
    }

    /// Whether a name of `category` counts at `tick`. Ticks do not fall from call to call.
    #[inline]
    pub(super) fn is_on(&mut self, changes: &[(u64, u32)], tick: u64, category: impl FnOnce() -> u8) -> bool {
        while tick >= self.until && self.next < changes.len() {
            self.mask = changes[self.next].1;
            self.next += 1;
            self.until = changes.get(self.next).map_or(u64::MAX, |change| change.0);
        }
        // Categories beyond 31 have no bit; they are on wherever everything is.
        self.mask == u32::MAX || 1_u32.checked_shl(u32::from(category())).is_some_and(|bit| self.mask & bit != 0)
    }
}
