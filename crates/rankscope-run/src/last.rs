//! The last moments of a recording that goes on, as a packed recording of their own.
//!
//! The file is read from outside while its process writes it, so no rank waits or knows. What a ring hands out again meanwhile is
//! older than what is wanted. Spans that are open are ended where the recording is at that moment, and marked, as those of a
//! process that was killed are.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use rankscope_formats::recording::{Chunks, Cut, LiveFile, Recording, packed};

use crate::live::open_live;
use crate::{Error, write_file};

/// What was kept of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptLast {
    /// Its last moments.
    Last {
        /// Events in it; a span is one.
        events: u64,
        /// How long it is. Shorter than asked where the recording is, or where its ring had no room for more.
        span: Duration,
    },
    /// All of it: its process is over and has packed it.
    Whole,
}

/// Writes what the live file `path` holds of its last `last` into `into`; a packed recording is copied.
///
/// # Errors
/// As [`open_live`], and what the file system refuses.
pub fn keep_last(path: &Path, last: Duration, into: &Path) -> Result<KeptLast, Error> {
    let ends = match open_live(path) {
        Err(Error::Packed { .. }) => {
            return fs::copy(path, into).map(|_| KeptLast::Whole).map_err(|error| Error::io(path, error));
        }
        opened => Ends::of(&opened?),
    };
    // Opened again, because names are read at the beginning: now there are those of all events up to there.
    let recording = open_live(path)?;
    let from_tick = tick_before(&recording, ends.last, last);
    let cut = Cut { from_tick, to_tick: ends.last, ..Cut::everything() };
    let mut events = 0;
    write_file(into, |output| {
        let written = packed::write(&recording, &cut, output);
        events = written.map_err(|reason| Error::Live { path: path.to_owned(), reason })?.events;
        Ok::<(), Error>(())
    })?;
    let ns = |tick| recording.ticks().ns(tick);
    let span_ns = ns(ends.last).saturating_sub(ns(from_tick.max(ends.first)));
    Ok(KeptLast::Last { events, span: Duration::from_nanos(u64::try_from(span_ns).unwrap_or(0)) })
}

/// The first and the last tick that a recording knows of.
struct Ends {
    first: u64,
    last: u64,
}

impl Ends {
    fn of(recording: &Recording<LiveFile<File>>) -> Self {
        let mut ends = Self { first: recording.last_tick(), last: recording.last_tick() };
        for thread in recording.threads() {
            let mut replay = recording.replay(thread, &Cut::everything());
            while let Some((event, _)) = replay.next() {
                ends.first = ends.first.min(event.tick);
                ends.last = ends.last.max(event.tick);
            }
        }
        ends
    }
}

/// The tick at which the recording was `last` younger than at `tick`.
fn tick_before<C: Chunks>(recording: &Recording<C>, tick: u64, last: Duration) -> u64 {
    let ticks = recording.ticks();
    let wanted_ns = ticks.ns(tick).saturating_sub(i64::try_from(last.as_nanos()).unwrap_or(i64::MAX));
    // Ticks rise with time.
    let (mut low, mut high) = (0, tick);
    while low < high {
        let middle = low + (high - low) / 2;
        if ticks.ns(middle) < wanted_ns {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use rankscope_formats::recording::{Category, ClockId, LiveAuthor};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A hundred seconds: a short span in each, in one that begins after fifty and does not end.
    fn recording() -> Vec<u8> {
        let mut author = LiveAuthor::new();
        author.anchor(ClockId::REALTIME, 0, 1_790_860_000_000_000_000, 1);
        for second in [0, 100] {
            author.anchor(ClockId::MONOTONIC_RAW, second * SECOND, (second * SECOND) as i64, 1);
        }
        author.thread(1, 100, "main");
        let [outer, inner] = ["outer", "inner"].map(|name| author.name(name, Category::USER_ANNOTATION.number(), 0));
        for second in 0..100 {
            if second == 50 {
                author.begin(1, second * SECOND, outer);
            }
            author.begin(1, second * SECOND + 1, inner);
            author.end(1, second * SECOND + SECOND / 2);
        }
        author.finish()
    }

    #[test]
    fn what_overlaps_the_last_seconds_is_kept_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let [live, kept, again] = ["rank-0.rkr", "kept.rkr", "again.rkr"].map(|name| folder.path().join(name));
        fs::write(&live, recording()).unwrap();
        let keep = |seconds: u64| keep_last(&live, Duration::from_secs(seconds), &kept).unwrap();
        for (seconds, spans) in [(10, 11), (40, 41), (60, 61), (3_600, 101)] {
            let span = Duration::from_secs(seconds.min(100));
            let KeptLast::Last { events, span: found } = keep(seconds) else { panic!("it is live") };
            assert_eq!(events, spans, "{seconds} s");
            assert!(found.abs_diff(span) < Duration::from_micros(1), "{found:?} of {span:?}");
        }
        assert_eq!(keep_last(&kept, Duration::from_secs(1), &again).unwrap(), KeptLast::Whole, "it is packed");
        assert_eq!(fs::read(&kept).unwrap(), fs::read(&again).unwrap());
        fs::write(&live, b"no recording").unwrap();
        assert!(matches!(keep_last(&live, Duration::from_secs(1), &kept), Err(Error::Live { .. })));
    }
}
