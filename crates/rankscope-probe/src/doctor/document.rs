//! An examination as one JSON document. Keys are only added.

use serde_json::{Value, json};

use super::{Advice, Examination, Expectation, InterfaceFacts};
use crate::stamps::{Capability, LoopbackReport};

/// All of it: what was seen, what is said of it, and what can be expected.
pub fn document(seen: &Examination, advice: &[Advice], expected: &Expectation) -> Value {
    let steering = match &seen.steering {
        Ok(state) => json!({
            "synchronised": state.synchronised,
            "frequency_ppm": state.frequency_ppm,
            "pending_ns": state.pending_ns,
            "estimated_error_us": state.estimated_error_us,
            "maximum_error_us": state.maximum_error_us,
        }),
        Err(error) => json!({ "error": error }),
    };
    let widths = seen.sandwich_ns;
    json!({
        "schema": 1,
        "kernel": seen.kernel,
        "advice": advice.iter().map(|advice| json!({
            "grade": advice.grade.name(),
            "topic": advice.topic,
            "finding": advice.finding,
            "remedy": advice.remedy,
        })).collect::<Vec<_>>(),
        "expectation": {
            "stamps": expected.stamping.name(),
            "idle_ns": expected.idle_ns,
            "loaded_ns": expected.loaded_ns,
            "reasons": expected.reasons,
        },
        "interfaces": seen.interfaces.iter().map(interface).collect::<Vec<_>>(),
        "self_tests": seen.loopback.iter().map(|(ip, result)| self_test(&ip.to_string(), result)).collect::<Vec<_>>(),
        "clocks": {
            "clocksource": seen.clocksource,
            "available": seen.clocksources,
            "tsc_invariant": seen.tsc_invariant,
            "resolution_ns": seen.resolution_ns,
            "sandwich_ns": { "min": widths.min, "p50": widths.p50, "p99": widths.p99, "max": widths.max },
        },
        "steering": steering,
        "chrony": seen.chrony.as_ref().map(|chrony| json!({
            "stratum": chrony.stratum,
            "synchronised": chrony.synchronised,
            "correction_ns": chrony.correction.as_nanos(),
            "root_delay_ns": chrony.root_delay.as_nanos(),
            "root_dispersion_ns": chrony.root_dispersion.as_nanos(),
            "error_max_ns": chrony.error_max().as_nanos(),
        })),
        "ptp": seen.ptp.as_ref().map(|ptp| json!({
            "grandmaster": ptp.grandmaster.to_string(),
            "steps_removed": ptp.steps_removed,
            "ahead_ns": ptp.ahead.as_nanos(),
            "path_delay_ns": ptp.path_delay.as_nanos(),
            "interface": ptp.clock.interface(),
            "error_max_ns": ptp.error_max(ptp.compared_ns.unwrap_or_default()).as_nanos(),
        })),
        "daemons": seen.daemons.iter().map(|daemon| json!({ "name": daemon.name, "pid": daemon.pid })).collect::<Vec<_>>(),
        "permissions": { "net_admin": seen.permissions.net_admin, "realtime": seen.permissions.realtime },
        "virtualisation": seen.virtualisation,
    })
}

fn interface(facts: &InterfaceFacts) -> Value {
    let Capability { transmit_software, receive_software, transmit_hardware, receive_hardware, phc } =
        facts.capability.as_ref().copied().unwrap_or_default();
    json!({
        "name": facts.interface.name,
        "addresses": facts.interface.addresses,
        "transmit_software": transmit_software,
        "receive_software": receive_software,
        "transmit_hardware": transmit_hardware,
        "receive_hardware": receive_hardware,
        "phc": phc,
        "error": facts.capability.as_ref().err().or(facts.bound.as_ref().err()),
    })
}

fn self_test(ip: &str, result: &Result<LoopbackReport, String>) -> Value {
    let report = match result {
        Ok(report) => report,
        Err(error) => return json!({ "address": ip, "error": error }),
    };
    let at = |percent| report.percentile_ns(percent);
    json!({
        "address": ip,
        "sent": report.sent,
        "stamped": report.stamped,
        "received": report.received,
        "passage_ns": { "min": at(0), "p50": at(50), "p99": at(99), "max": at(100) },
    })
}
