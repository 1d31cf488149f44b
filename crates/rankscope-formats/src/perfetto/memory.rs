//! The memory events of torch's profiler as counters: bytes allocated and reserved, by device.
//!
//! `profile_memory` leaves an instant called `[memory]` for each allocation and release, with the device's totals after it among
//! the arguments. The instants stay as they are; without arguments there is nothing to draw.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_trace::{ArgValue, StrId, Trace};

use super::derived::{Derived, Unit};
use crate::recording::MEMORY_KIND;

/// The host, among torch's device types.
const HOST: i64 = 0;

/// What a counter shows, in the order counters are drawn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Total {
    kind: i64,
    id: i64,
    what: &'static str,
    /// Told by the device's library, and not by an allocator of the program, which has its memory out of that.
    of_driver: bool,
}

/// What the counter of a device's memory is called: of this type and number, and what of it (allocated, reserved).
pub(crate) fn counter_name(kind: i64, id: i64, what: &str) -> String {
    if kind == HOST { format!("host memory {what}") } else { format!("device {id} memory {what}") }
}

/// The counters of `trace`: name, and values by time. A total that is zero throughout is left out.
pub(super) fn counters(trace: &Trace) -> Vec<(String, Derived)> {
    let Some(name) = trace.strings.find("[memory]") else { return Vec::new() };
    let keys = ["Device Type", "Device Id", "Total Allocated", "Total Reserved", MEMORY_KIND];
    let [kind, id, allocated, reserved, driver] = keys.map(|key| trace.strings.find(key));
    let value = |at: usize, key: Option<StrId>| match trace.instant_args.value(at, key?)? {
        ArgValue::I64(value) => Some(value),
        ArgValue::U64(value) => i64::try_from(value).ok(),
        _ => None,
    };
    let mut totals: BTreeMap<Total, Vec<(i64, f64)>> = BTreeMap::new();
    for (at, mark) in trace.instants.iter().enumerate().filter(|(_, mark)| mark.name == name) {
        let kind = value(at, kind).unwrap_or(HOST);
        let id = if kind == HOST { 0 } else { value(at, id).unwrap_or(0) };
        let of_driver = driver.is_some_and(|key| trace.instant_args.value(at, key).is_some());
        for (what, key) in [("allocated", allocated), ("reserved", reserved)] {
            if let Some(bytes) = value(at, key) {
                totals.entry(Total { kind, id, what, of_driver }).or_default().push((mark.time_ns, bytes as f64));
            }
        }
    }
    totals.retain(|_, samples| samples.iter().any(|(_, bytes)| *bytes != 0.0));
    let known: BTreeSet<Total> = totals.keys().copied().collect();
    let counter = |(total, mut samples): (Total, Vec<(i64, f64)>)| {
        samples.sort_by_key(|(time_ns, _)| *time_ns);
        let has_both = total.of_driver && known.contains(&Total { of_driver: false, ..total });
        let name = counter_name(total.kind, total.id, total.what);
        (if has_both { format!("{name} (driver)") } else { name }, Derived { unit: Unit::Bytes, samples })
    };
    totals.into_iter().map(counter).collect()
}

#[cfg(test)]
mod tests {
    use rankscope_trace::{CategoryKind, InstantMark, InstantScope, TrackKey, TrackKind};

    use super::*;

    fn event(trace: &mut Trace, time_ns: i64, device: (i64, i64), totals: [i64; 2]) {
        let track = trace.tracks.find_or_add(TrackKind::Thread, None, TrackKey::Number(1));
        let (name, category) = (trace.strings.intern("[memory]"), trace.category("cpu_instant_event", CategoryKind::Other));
        trace.instants.push(InstantMark { time_ns, name, track, category, scope: InstantScope::Thread });
        let keys = ["Device Type", "Device Id", "Total Allocated", "Total Reserved"];
        for (key, value) in keys.into_iter().zip([device.0, device.1, totals[0], totals[1]]) {
            let key = trace.strings.intern(key);
            trace.instant_args.push(key, ArgValue::I64(value));
        }
        trace.instant_args.end_row();
    }

    #[test]
    fn each_device_has_its_totals_in_order_of_time() {
        let mut trace = Trace::default();
        event(&mut trace, 30, (0, -1), [512, 0]);
        event(&mut trace, 10, (0, -1), [64, 0]);
        event(&mut trace, 20, (1, 3), [7, 4096]);
        let counters = counters(&trace);
        let seen: Vec<_> = counters.iter().map(|(name, counter)| (&name[..], &counter.samples[..])).collect();
        assert_eq!(
            seen,
            [
                ("host memory allocated", &[(10, 64.0), (30, 512.0)][..]),
                ("device 3 memory allocated", &[(20, 7.0)]),
                ("device 3 memory reserved", &[(20, 4096.0)]),
            ]
        );
    }

    #[test]
    fn what_a_driver_told_is_apart_where_an_allocator_told_too() {
        let mut trace = Trace::default();
        let drivers = |trace: &mut Trace, time_ns, device| {
            let (key, value) = (trace.strings.intern(MEMORY_KIND), trace.strings.intern("device"));
            trace.instant_args.push(key, ArgValue::Text(value));
            event(trace, time_ns, device, [8_192, 8_192]);
        };
        event(&mut trace, 10, (1, 0), [100, 8_192]);
        drivers(&mut trace, 20, (1, 0));
        drivers(&mut trace, 30, (1, 1));
        let counters = counters(&trace);
        let names: Vec<_> = counters.iter().map(|(name, counter)| (&name[..], counter.samples.len())).collect();
        let device = |what: &str| format!("device 0 memory {what}");
        let expected = [
            device("allocated"),
            device("allocated (driver)"),
            device("reserved"),
            device("reserved (driver)"),
            "device 1 memory allocated".to_owned(),
            "device 1 memory reserved".to_owned(),
        ];
        assert_eq!(names, expected.each_ref().map(|name| (name.as_str(), 1)));
    }

    #[test]
    fn without_arguments_there_are_no_counters() {
        let mut trace = Trace::default();
        event(&mut trace, 30, (0, -1), [512, 0]);
        trace.instant_args = rankscope_trace::ArgColumn::default();
        assert!(counters(&trace).is_empty());
    }
}
