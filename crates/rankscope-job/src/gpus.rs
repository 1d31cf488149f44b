//! [`HostGpus`]: what slowed GPUs of a host down, as counters beside a job tell.
//!
//! A rank's device is a GPU of the counters by its UUID, and by nothing else: numbers of devices are each process's own, and places on the
//! bus each host's. A rank that worked on several devices, and a UUID that several have, as partitions of one chip do, tie nothing. Both
//! sides are brought together by the counter of the host (`CLOCK_MONOTONIC_RAW`), which both have read.

use std::collections::BTreeMap;

use rankscope_trace::{ClockReading, HostClock, Trace};
use rustc_hash::FxHashMap;

/// What slows a GPU down against its will.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SlowedBy {
    PowerLimit,
    Heat,
    PowerSupply,
    Board,
}

impl SlowedBy {
    pub(crate) const ALL: [Self; 4] = [Self::PowerLimit, Self::Heat, Self::PowerSupply, Self::Board];

    /// The end of its track's name, which sentences have, too.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::PowerLimit => "slowed by its power limit",
            Self::Heat => "slowed by heat",
            Self::PowerSupply => "slowed by the power supply",
            Self::Board => "slowed by the board",
        }
    }
}

/// The GPUs of one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostGpus {
    gpus: Vec<HostGpu>,
}

/// One GPU. Times are the host's counter's, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HostGpu {
    uuid: String,
    /// When it was watched last.
    until_ns: i64,
    /// What slowed it from when on: 0 and 1, or how much of the time.
    slowed: BTreeMap<SlowedBy, Vec<(i64, f64)>>,
}

impl HostGpus {
    /// Those that `counters`, the recording of a host's counters, tells of with a UUID. None where it does not tell when it was.
    pub fn of(counters: &Trace) -> Option<Self> {
        let ahead_ns = ahead_of_counter_ns(&counters.provenance.clock_readings)?;
        let on_counter = |ns: i64| ns.saturating_sub(ahead_ns);
        let until_ns = on_counter(counters.counters.iter().map(|sample| sample.time_ns).max()?);
        let mut gpus: BTreeMap<i64, HostGpu> = BTreeMap::new();
        for (number, uuid) in uuids_of(counters, "counters.gpu.") {
            gpus.extend(uuid.map(|uuid| (number, HostGpu { uuid, until_ns, slowed: BTreeMap::new() })));
        }
        let mut tracks = BTreeMap::new();
        for sample in &counters.counters {
            let track = *tracks.entry(sample.name).or_insert_with(|| track_of(counters.strings.text(sample.name)));
            let Some((number, by)) = track else { continue };
            if let Some(gpu) = gpus.get_mut(&number) {
                gpu.slowed.entry(by).or_default().push((on_counter(sample.time_ns), sample.value));
            }
        }
        let mut gpus: Vec<HostGpu> = gpus.into_values().collect();
        gpus.iter_mut().flat_map(|gpu| gpu.slowed.values_mut()).for_each(|track| track.sort_by_key(|(ns, _)| *ns));
        Some(Self { gpus })
    }

    /// Their UUIDs, and whether it is known of each what slowed it down.
    pub fn known(&self) -> impl Iterator<Item = (&str, bool)> {
        self.gpus.iter().map(|gpu| (gpu.uuid.as_str(), !gpu.slowed.is_empty()))
    }
}

/// The GPUs of hosts by their UUIDs.
pub(crate) struct GpusByUuid<'a>(FxHashMap<&'a str, Option<&'a HostGpu>>);

impl<'a> GpusByUuid<'a> {
    pub(crate) fn of(hosts: &'a [HostGpus]) -> Self {
        let mut by_uuid = FxHashMap::default();
        for gpu in hosts.iter().flat_map(|host| &host.gpus) {
            by_uuid.entry(gpu.uuid.as_str()).and_modify(|known| *known = None).or_insert(Some(gpu));
        }
        Self(by_uuid)
    }

    /// The one of this UUID, if no other of any host has it.
    pub(crate) fn get(&self, uuid: &str) -> Option<&'a HostGpu> {
        self.0.get(uuid).copied().flatten()
    }
}

impl HostGpu {
    /// How much of the time from `from_ns` to `to_ns` it was slowed; none where it was not watched all that time.
    pub(crate) fn slowed(&self, by: SlowedBy, (from_ns, to_ns): (i64, i64)) -> Option<f64> {
        let track = self.slowed.get(&by)?;
        let begins = track.partition_point(|(ns, _)| *ns <= from_ns).checked_sub(1)?;
        if to_ns > self.until_ns || from_ns >= to_ns {
            return None;
        }
        let mut sum = 0.0;
        for (at, (ns, value)) in track.iter().enumerate().skip(begins).take_while(|(_, (ns, _))| *ns < to_ns) {
            let next_ns = track.get(at + 1).map_or(to_ns, |(ns, _)| *ns);
            sum += value.clamp(0.0, 1.0) * next_ns.min(to_ns).saturating_sub((*ns).max(from_ns)) as f64;
        }
        Some(sum / to_ns.saturating_sub(from_ns) as f64)
    }
}

/// How far a trace's own time is ahead of its host's counter; none where that was not read.
pub fn ahead_of_counter_ns(readings: &[ClockReading]) -> Option<i64> {
    let of_counter = readings.iter().filter(|reading| reading.clock == HostClock::MonotonicRaw);
    let surest = of_counter.min_by_key(|reading| reading.width_ns)?;
    Some(surest.trace_ns.saturating_sub(surest.ns))
}

/// UUIDs that a header has under `KEY N .uuid`, by the number; none of a number that has several.
pub(crate) fn uuids_of(trace: &Trace, key: &str) -> BTreeMap<i64, Option<String>> {
    let mut uuids = BTreeMap::new();
    for (known, json) in &trace.provenance.header {
        let number = known.strip_prefix(key).and_then(|rest| rest.strip_suffix(".uuid"));
        let Some(number) = number.and_then(|number| number.parse().ok()) else { continue };
        add_uuid(&mut uuids, number, json.trim_matches('"'));
    }
    uuids
}

/// Adds what somebody says of `number`; one of which something else was said has none.
pub(crate) fn add_uuid(uuids: &mut BTreeMap<i64, Option<String>>, number: i64, uuid: &str) {
    let one = uuids.entry(number).or_insert_with(|| Some(uuid.to_owned()));
    *one = one.take().filter(|one| one == uuid);
}

/// Which GPU, and which cause, a track of this name is of.
fn track_of(name: &str) -> Option<(i64, SlowedBy)> {
    let (number, words) = name.strip_prefix("GPU ")?.split_once(' ')?;
    Some((number.parse().ok()?, SlowedBy::ALL.into_iter().find(|by| by.words() == words)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_the_time_and_only_where_it_was_watched() {
        let track = vec![(100, 0.0), (200, 1.0), (260, 0.5)];
        let gpu = HostGpu { uuid: String::new(), until_ns: 400, slowed: [(SlowedBy::Heat, track)].into() };
        for (window, expected) in [
            ((100, 200), Some(0.0)),
            ((200, 260), Some(1.0)),
            ((150, 300), Some((60.0 + 20.0) / 150.0)),
            ((300, 400), Some(0.5)),
            ((90, 200), None),
            ((300, 401), None),
            ((300, 300), None),
        ] {
            assert_eq!(gpu.slowed(SlowedBy::Heat, window), expected, "{window:?}");
        }
        assert_eq!(gpu.slowed(SlowedBy::Board, (100, 200)), None);
    }

    #[test]
    fn a_uuid_that_two_have_is_no_ones() {
        let host = |uuids: &[&str]| HostGpus {
            gpus: uuids.iter().map(|uuid| HostGpu { uuid: (*uuid).to_owned(), ..HostGpu::default() }).collect(),
        };
        let hosts = [host(&["a", "b", "b"]), host(&["c"])];
        let by_uuid = GpusByUuid::of(&hosts);
        assert_eq!(["a", "b", "c", "d"].map(|uuid| by_uuid.get(uuid).is_some()), [true, false, true, false]);
    }

    #[test]
    fn tracks_are_told_by_their_names() {
        assert_eq!(track_of("GPU 12 slowed by heat"), Some((12, SlowedBy::Heat)));
        for name in ["GPU 1 power (W)", "GPU x slowed by heat", "slowed by heat", "GPU 1 slowed by heat (%)"] {
            assert_eq!(track_of(name), None, "{name}");
        }
    }
}
