//! `snapshots-node<k>.jsonl` and `snapshots-rank<r>.jsonl`: readings of a tracer's clock beside its host's, a line each.
//!
//! The agent of a node writes how `CLOCK_REALTIME`, which stamps traces, stands to its host clock. A process that profiles a
//! device writes how the device's clock stands to `CLOCK_REALTIME` (as the origin does) and to `CLOCK_MONOTONIC_RAW`, which
//! nobody sets. An agent begins with the header of its windows, whenever it starts. Field names are those of the origin's snapshot pairs, its JSON names and our own additions are read alike.

use std::collections::BTreeMap;

use rankscope_time::Knot;
use serde::{Deserialize, Serialize};

use super::lines::{DamagedLine, each_line, line};
use super::nanos::Nanos;
use super::witness::Witness;

/// All readings of one tracer's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotSeries {
    /// From the tracer's clock to the one the file counts in.
    pub pairs: Vec<Knot>,
    /// From the tracer's clock to `CLOCK_MONOTONIC_RAW`, for those lines that say so.
    pub raw: Vec<Knot>,
    /// Whether the clock stamps the events of devices only.
    pub devices_only: bool,
}

/// A file of snapshot pairs, as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SnapshotsFile {
    /// By the name of the tracer's clock; one without a name is `realtime`.
    pub clocks: BTreeMap<String, SnapshotSeries>,
    /// Lines passed over.
    pub damaged: Vec<DamagedLine>,
}

/// What a clock without a name is: the one that traces are stamped with.
pub const REALTIME: &str = "realtime";

/// A pair of the wall clock and the host clock, as a line.
pub fn encode_snapshot(knot: &Knot) -> String {
    encode(None, knot)
}

/// A pair of what `witness` says it is and the host clock, as a line. What the witness may be wrong by is the uncertainty.
pub fn encode_witness(witness: Witness, knot: &Knot) -> String {
    encode(Some(witness.name()), knot)
}

fn encode(clock: Option<String>, knot: &Knot) -> String {
    line(&Row {
        clock,
        scope: None,
        tracer_clock_ns: Nanos(knot.from_ns),
        sys_clock_ns: Nanos(knot.to_ns),
        half_width_ns: Some(knot.uncertainty_ns),
        raw_clock_ns: None,
    })
}

/// Reads a file of snapshot pairs.
pub fn read_snapshots(bytes: &[u8]) -> SnapshotsFile {
    let mut clocks: BTreeMap<String, SnapshotSeries> = BTreeMap::new();
    let mut constant_ns = None;
    let damaged = each_line(bytes, |text| {
        let row = match serde_json::from_slice::<Row>(text) {
            Ok(row) => row,
            Err(not_a_pair) => {
                let header = serde_json::from_slice::<Header>(text).ok().filter(|header| header.meta);
                let told_ns = header.ok_or_else(|| not_a_pair.to_string())?.host_minus_raw_ns.map(|ns| ns.0);
                // An agent that is started again counts anew: what came before is moved to where it counts now.
                if let (Some(before_ns), Some(now_ns)) = (constant_ns, told_ns) {
                    let pairs = clocks.values_mut().flat_map(|series| &mut series.pairs);
                    pairs.for_each(|pair| pair.to_ns = pair.to_ns.saturating_add(now_ns.saturating_sub(before_ns)));
                }
                constant_ns = told_ns.or(constant_ns);
                return Ok(());
            }
        };
        let series = clocks.entry(row.clock.unwrap_or_else(|| REALTIME.to_owned())).or_default();
        let uncertainty_ns = row.half_width_ns.unwrap_or(UNSAID_NS);
        let to = |ns: Nanos| Knot { from_ns: row.tracer_clock_ns.0, to_ns: ns.0, uncertainty_ns };
        series.pairs.push(to(row.sys_clock_ns));
        series.raw.extend(row.raw_clock_ns.map(to));
        series.devices_only |= row.scope.as_deref() == Some("devices");
        Ok(())
    });
    SnapshotsFile { clocks, damaged }
}

/// The origin's goal for a pair: within 5 us. Its files say nothing better.
const UNSAID_NS: u64 = 5_000;

#[derive(Serialize, Deserialize)]
struct Row {
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(alias = "rocm_ns", alias = "tracer_ns")]
    tracer_clock_ns: Nanos,
    #[serde(alias = "sys_ns")]
    sys_clock_ns: Nanos,
    #[serde(skip_serializing_if = "Option::is_none")]
    half_width_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_clock_ns: Option<Nanos>,
}

#[derive(Deserialize)]
struct Header {
    meta: bool,
    host_minus_raw_ns: Option<Nanos>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let knots: Vec<Knot> =
            (0..5).map(|i| Knot { from_ns: 1_790_857_026_000_000_000 + i, to_ns: i * 7, uncertainty_ns: i as u64 }).collect();
        let text: String = knots.iter().map(encode_snapshot).collect();
        let file = read_snapshots(text.as_bytes());
        assert!(file.damaged.is_empty());
        assert_eq!(file.clocks[REALTIME].pairs, knots);
        let witness: String = knots.iter().map(|knot| encode_witness(Witness::Chrony, knot)).collect();
        let both = read_snapshots((text + &witness).as_bytes());
        assert_eq!((&both.clocks[REALTIME].pairs, &both.clocks["chrony"].pairs), (&knots, &knots));
    }

    #[test]
    fn an_agent_that_is_started_again_leaves_no_jump() {
        let header = |ns: i64| format!("{{\"meta\":true,\"host_minus_raw_ns\":{ns}}}\n");
        let knots = |constant_ns: i64| [1, 2].map(|i| Knot { from_ns: i, to_ns: i + constant_ns, uncertainty_ns: 3 });
        let part = |ns: i64| header(ns) + &knots(ns).iter().map(encode_snapshot).collect::<String>();
        let file = read_snapshots((part(100) + &part(-7) + &part(40)).as_bytes());
        assert_eq!(file.clocks[REALTIME].pairs, [knots(40), knots(40), knots(40)].concat());
        assert_eq!(file.damaged, []);
    }

    #[test]
    fn every_dialect_is_read() {
        let text = concat!(
            "{\"meta\":true,\"sampling_period_ns\":100000000}\n",
            "{\"sys_ns\":10,\"rocm_ns\":20}\n",
            "{\"clock\":\"cupti\",\"scope\":\"devices\",\"tracer_clock_ns\":5,\"sys_clock_ns\":9,\"half_width_ns\":3,\"raw_clock_ns\":7}\n",
            "{\"tracer_clock_ns\":1}\n",
            "{\"tracer_clock_ns\":2,\"sys_cl"
        );
        let file = read_snapshots(text.as_bytes());
        assert_eq!(file.clocks[REALTIME].pairs, [Knot { from_ns: 20, to_ns: 10, uncertainty_ns: UNSAID_NS }]);
        let cupti = &file.clocks["cupti"];
        assert_eq!(cupti.raw, [Knot { from_ns: 5, to_ns: 7, uncertainty_ns: 3 }]);
        assert!(cupti.devices_only);
        assert_eq!(file.damaged.len(), 2);
    }
}
