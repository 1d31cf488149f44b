//! Steps and changes of rate in a file, each tagged with its kind.

use rankscope_time::Span;
use serde::{Deserialize, Serialize};

use super::nanos::Nanos;
use crate::{ClockEvent, HostInstant};

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum EventRow {
    Step { at_ns: Nanos, size_ns: Nanos },
    RateChange { at_ns: Nanos, by_ppb: f64 },
}

impl EventRow {
    pub(super) fn of(event: &ClockEvent) -> Self {
        match *event {
            ClockEvent::Step { at, size } => {
                Self::Step { at_ns: Nanos(at.nanos_since_epoch()), size_ns: Nanos(size.as_nanos()) }
            }
            ClockEvent::RateChange { at, by_ppb } => Self::RateChange { at_ns: Nanos(at.nanos_since_epoch()), by_ppb },
        }
    }

    pub(super) fn event(&self) -> ClockEvent {
        let instant = |ns: Nanos| HostInstant::from_nanos_since_epoch(ns.0);
        match *self {
            Self::Step { at_ns, size_ns } => ClockEvent::Step { at: instant(at_ns), size: Span::from_nanos(size_ns.0) },
            Self::RateChange { at_ns, by_ppb } => ClockEvent::RateChange { at: instant(at_ns), by_ppb },
        }
    }
}
