//! What a recording says about itself, as a trace has it.

use rankscope_time::Rank;
use rankscope_trace::{ClockReading, HostClock, Provenance, RankSource, SourceFormat};
use serde_json::Value;

use super::super::{Anchor, ClockId, DropReason, TickMap};
use crate::ReadOptions;

/// Metadata and clocks, of a live or a packed recording.
pub(in crate::recording) struct Facts<'a> {
    pub(in crate::recording) meta: &'a [(String, String)],
    pub(in crate::recording) anchors: &'a [Anchor],
    pub(in crate::recording) ticks: &'a TickMap,
}

impl Facts<'_> {
    /// Files them. Keys of the user lose their prefix, so that they stand in other formats as the user wrote them.
    pub(in crate::recording) fn file(&self, to: &mut Provenance, options: &ReadOptions) {
        to.file.clone_from(&options.label);
        to.format = SourceFormat::Recording;
        for (key, json) in self.meta {
            let value = serde_json::from_str(json).unwrap_or(Value::Null);
            let text = || value.as_str().map(str::to_owned);
            let number = || value.as_u64().and_then(|number| u32::try_from(number).ok());
            match key.as_str() {
                "rank" => to.rank = number().map(|rank| (Rank(rank), RankSource::Header)),
                "world_size" => to.world_size = number(),
                "host_name" => to.host = text(),
                "trace_id" => to.trace_id = text(),
                _ => {}
            }
            to.header.push((key.strip_prefix("user.").unwrap_or(key).to_owned(), json.clone()));
        }
        let mut cursor = self.ticks.cursor();
        to.clock_readings = self.anchors.iter().map(|anchor| reading(anchor, cursor.ns(anchor.tick), self.ticks)).collect();
    }
}

fn reading(anchor: &Anchor, trace_ns: i64, ticks: &TickMap) -> ClockReading {
    let clock = match anchor.clock {
        ClockId::MONOTONIC_RAW => HostClock::MonotonicRaw,
        ClockId::MONOTONIC => HostClock::Monotonic,
        ClockId::REALTIME => HostClock::Realtime,
        ClockId::BOOTTIME => HostClock::Boottime,
        ClockId(other) => HostClock::Other(other),
    };
    ClockReading { clock, trace_ns, ns: anchor.ns, width_ns: ticks.length_ns(anchor.tick, anchor.width_ticks) }
}

/// How many events were lost, and in words: `dropped: 12 (full), dropped: 3 (reentrant)`. None if nothing was lost; what a ring has
/// overwritten is no loss.
pub(in crate::recording) fn losses(drops: &[(DropReason, u32, u64)]) -> Option<(u64, String)> {
    let counts =
        |reason: &DropReason| drops.iter().filter(|drop| drop.0 == *reason).map(|drop| drop.2).fold(0, u64::saturating_add);
    let lost: Vec<(u64, &str)> = DropReason::ALL
        .iter()
        .filter(|reason| reason.is_loss())
        .map(|reason| (counts(reason), reason.name()))
        .filter(|(count, _)| *count > 0)
        .collect();
    let said: Vec<String> = lost.iter().map(|(count, name)| format!("dropped: {count} ({name})")).collect();
    let all = lost.iter().map(|(count, _)| *count).fold(0, u64::saturating_add);
    (all > 0).then(|| (all, said.join(", ")))
}
