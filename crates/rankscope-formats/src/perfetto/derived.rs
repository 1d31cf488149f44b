//! Counters that are in no source file but follow from its events: drawn, and passed over when a file of ours is read back.

/// One counter row, on the rank's own clock.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Derived {
    pub(super) unit: Unit,
    /// Times and values, in order of time.
    pub(super) samples: Vec<(i64, f64)>,
}

/// What values are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Bytes,
    /// Percent of the time in which a device worked.
    DeviceBusy,
    /// Percent of the time within an operator or runtime call.
    OperatorsBusy,
    /// Percent of the time within any span.
    SpansBusy,
}

impl Unit {
    /// As Perfetto's user interface shows it behind the value; none where Perfetto has a unit of its own.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Bytes => None,
            Self::DeviceBusy => Some("% device busy"),
            Self::OperatorsBusy => Some("% in operators"),
            Self::SpansBusy => Some("% in spans"),
        }
    }
}
