//! [`OwnGpu`]: the one GPU that a rank worked on, and how its stamps stand to the counter of its host.
//!
//! Recordings tell both by themselves. Of torch.profiler's traces those do that rankscope's handler wrote, in the member `rankscope` of
//! their header: UUIDs by the numbers that the process had for its devices, and the wall clock, which such a trace is stamped with, beside
//! the counter, read before the profile and after it. Two readings minutes apart are too few to align by, and are no clock readings of
//! the trace; they place steps among samples that are tenths of a second apart. Readings that do not enclose the trace are of some other
//! clock than its stamps, and tie nothing.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_trace::{Trace, TrackId, TrackKey, TrackKind};
use serde::Deserialize;

use crate::gpus::{add_uuid, ahead_of_counter_ns, uuids_of};

/// The one GPU that a rank worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnGpu {
    /// As whoever numbers it tells it.
    pub uuid: String,
    /// How far stamps of the rank are ahead of the counter of its host, `CLOCK_MONOTONIC_RAW`.
    pub ahead_of_counter_ns: i64,
}

impl OwnGpu {
    /// That of the rank in `trace`; none where its work ran on several, where its process did not know them, or where the host's counter
    /// was not read.
    pub(crate) fn of(trace: &Trace) -> Option<Self> {
        let handler = OfHandler::of(trace);
        let mut uuids = uuids_of(trace, "device.");
        for device in handler.iter().flat_map(|told| &told.devices) {
            device.uuid.iter().for_each(|uuid| add_uuid(&mut uuids, device.index, uuid));
        }
        let uuid = worked_on(trace, &uuids)?;
        let by_handler = || handler.as_ref()?.ahead_of_counter_ns(trace.bounds_ns()?);
        let ahead_of_counter_ns = ahead_of_counter_ns(&trace.provenance.clock_readings).or_else(by_handler)?;
        Some(Self { uuid, ahead_of_counter_ns })
    }
}

/// What the handler of torch.profiler's traces says of its process.
#[derive(Deserialize)]
struct OfHandler {
    #[serde(default)]
    clock: Vec<Reading>,
    #[serde(default)]
    devices: Vec<Device>,
}

/// The wall clock beside the counter.
#[derive(Deserialize)]
struct Reading {
    sys_clock_ns: i64,
    raw_clock_ns: i64,
}

#[derive(Deserialize)]
struct Device {
    index: i64,
    uuid: Option<String>,
}

/// The first reading is before the profiler was made and the last one after it stopped: stamps are between them, but for how their clocks
/// were converted.
const CONVERTED_WITHIN_NS: i64 = 1_000_000_000;

impl OfHandler {
    fn of(trace: &Trace) -> Option<Self> {
        let (_, json) = trace.provenance.header.iter().find(|(key, _)| key == "rankscope")?;
        serde_json::from_str(json).ok()
    }

    /// By the last reading, which is closer to the trace: a schedule may wait for hours first, and the wall clock is steered meanwhile.
    fn ahead_of_counter_ns(&self, (from_ns, to_ns): (i64, i64)) -> Option<i64> {
        let ([first, ..], [.., last]) = (self.clock.as_slice(), self.clock.as_slice()) else { return None };
        let begins = first.sys_clock_ns.saturating_sub(CONVERTED_WITHIN_NS) <= from_ns;
        let ends = to_ns <= last.sys_clock_ns.saturating_add(CONVERTED_WITHIN_NS);
        (begins && ends).then(|| last.sys_clock_ns.saturating_sub(last.raw_clock_ns))
    }
}

/// The UUID, by the numbers of devices, of the one that the work in `trace` ran on.
fn worked_on(trace: &Trace, uuids: &BTreeMap<i64, Option<String>>) -> Option<String> {
    if uuids.is_empty() {
        return None;
    }
    let mut tracks: BTreeSet<TrackId> = BTreeSet::new();
    let mut last = None;
    for span in trace.spans.ids().filter(|span| trace.kind(*span).is_device_work()) {
        let track = trace.spans.track[span.0 as usize];
        if last != Some(track) {
            tracks.insert(track);
            last = Some(track);
        }
    }
    let devices: Option<BTreeSet<i64>> = tracks.into_iter().map(|track| device_of(trace, track)).collect();
    let devices = devices?;
    let only = devices.first().filter(|_| devices.len() == 1)?;
    uuids.get(only)?.clone()
}

/// The number of the device that a track belongs to.
fn device_of(trace: &Trace, mut track: TrackId) -> Option<i64> {
    loop {
        let own = trace.tracks.get(track);
        match (own.kind, own.key, own.parent) {
            (TrackKind::Device, TrackKey::Number(number), _) => return Some(number),
            (_, _, Some(parent)) => track = parent,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn handler(clock: &[(i64, i64)]) -> OfHandler {
        let clock: Vec<_> =
            clock.iter().map(|(wall, raw)| json!({"sys_clock_ns": wall, "raw_clock_ns": raw, "half_width_ns": 9})).collect();
        let mut trace = Trace::default();
        trace.provenance.header.push(("rankscope".to_owned(), json!({"rank": 3, "clock": clock}).to_string()));
        OfHandler::of(&trace).unwrap()
    }

    proptest! {
        #[test]
        fn a_moment_between_the_readings_comes_out_where_the_last_one_puts_it(
            boot_ns in 1_600_000_000_000_000_000..1_900_000_000_000_000_000_i64,
            first_ns in 0..1_000_000_000_000_i64,
            waited_ns in 0..100_000_000_000_000_i64,
            steered_ns in -1_000_000..1_000_000_i64,
            length_ns in 0..10_000_000_000_i64,
        ) {
            let last_ns = first_ns + waited_ns + length_ns;
            let readings = [(boot_ns + first_ns, first_ns), (boot_ns + last_ns + steered_ns, last_ns)];
            let to_ns = readings[1].0;
            let ahead_ns = handler(&readings).ahead_of_counter_ns((to_ns - length_ns, to_ns)).unwrap();
            prop_assert_eq!(to_ns - ahead_ns, last_ns);
        }
    }

    #[test]
    fn readings_that_do_not_enclose_the_trace_tie_nothing() {
        let (first, last) = ((5_000_000_000, 1_000_000_000), (95_000_000_000, 91_000_000_000));
        let both = handler(&[first, last]);
        assert_eq!(both.ahead_of_counter_ns((6_000_000_000, 94_000_000_000)), Some(4_000_000_000));
        for (what, bounds) in
            [("it counts from boot", (2_000_000_000, 90_000_000_000)), ("it is of later", (6_000_000_000, 97_000_000_000))]
        {
            assert_eq!(both.ahead_of_counter_ns(bounds), None, "{what}");
        }
        assert_eq!(handler(&[]).ahead_of_counter_ns((6_000_000_000, 94_000_000_000)), None);
    }

    #[test]
    fn what_is_no_word_of_the_handler_says_nothing() {
        for member in ["7", "\"a\"", "{\"clock\": 3}", "{\"devices\": [{}]}", "{\"clock\": [{\"sys_clock_ns\": 1e30}]}", "{"] {
            let mut trace = Trace::default();
            trace.provenance.header.push(("rankscope".to_owned(), member.to_owned()));
            assert!(OfHandler::of(&trace).is_none(), "{member}");
            assert_eq!(OwnGpu::of(&trace), None, "{member}");
        }
    }
}
