//! `TrackEvent`: the fields every event has, taken apart once. Arguments and flow ids are walked again where wanted.

use crate::perfetto::schema::{event, legacy};
use crate::wire::{Fields, Malformed, Value, packed_varints};

/// One event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Event<'a> {
    message: &'a [u8],
    pub(super) kind: u64,
    pub(super) name_iid: u64,
    pub(super) name: Option<&'a [u8]>,
    pub(super) category_iid: u64,
    pub(super) category: Option<&'a [u8]>,
    pub(super) track: Option<u64>,
    pub(super) delta_us: Option<i64>,
    pub(super) absolute_us: Option<i64>,
    pub(super) value: Option<Sample>,
    pub(super) has_args: bool,
    pub(super) has_flows: bool,
    pub(super) has_submissions: bool,
    pub(super) has_extra: bool,
    pub(super) legacy: Legacy,
}

/// A counter's value as sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sample {
    Int(i64),
    Double(f64),
}

/// `LegacyEvent`, of traces that were JSON once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Legacy {
    pub(super) name_iid: u64,
    /// The letter of the JSON format.
    pub(super) phase: u8,
    pub(super) duration_us: i64,
    pub(super) scope: u64,
    pub(super) pid: Option<i64>,
    pub(super) tid: Option<i64>,
}

impl<'a> Event<'a> {
    pub(super) fn parse(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut of = Self { message, ..Self::default() };
        for field in Fields::of(message) {
            let (number, value) = field?;
            match number {
                event::TYPE => of.kind = value.u64(),
                event::NAME_IID => of.name_iid = value.u64(),
                event::NAME => of.name = Some(value.bytes()),
                event::CATEGORY_IIDS if of.category_iid == 0 => of.category_iid = one_of(value),
                event::CATEGORIES if of.category.is_none() => of.category = Some(value.bytes()),
                event::TRACK_UUID => of.track = Some(value.u64()),
                event::DELTA_US => of.delta_us = Some(value.i64()),
                event::ABSOLUTE_US => of.absolute_us = Some(value.i64()),
                event::COUNTER_VALUE => of.value = Some(Sample::Int(value.i64())),
                event::DOUBLE_COUNTER_VALUE => of.value = Some(Sample::Double(value.f64())),
                event::DEBUG_ANNOTATIONS => of.has_args = true,
                event::FLOW_IDS | event::TERMINATING_FLOW_IDS => of.has_flows = true,
                event::OLD_FLOW_IDS | event::OLD_TERMINATING_FLOW_IDS => of.has_flows = true,
                event::GPU_CORRELATION => of.has_submissions = true,
                event::EXTRA_VALUES | event::EXTRA_DOUBLES => of.has_extra = true,
                event::LEGACY_EVENT => of.legacy = Legacy::parse(value.bytes())?,
                _ => {}
            }
        }
        Ok(of)
    }

    /// The debug annotations.
    pub(super) fn annotations(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let message = if self.has_args { self.message } else { &[] };
        fields(message, event::DEBUG_ANNOTATIONS).map(Value::bytes)
    }

    /// Flow ids, and whether each ends its flow here.
    pub(super) fn flows(&self) -> impl Iterator<Item = (u64, bool)> + use<'a> {
        let message = if self.has_flows { self.message } else { &[] };
        Fields::of(message).flatten().flat_map(|(number, value)| {
            let ends = match number {
                event::FLOW_IDS | event::OLD_FLOW_IDS => Some(false),
                event::TERMINATING_FLOW_IDS | event::OLD_TERMINATING_FLOW_IDS => Some(true),
                _ => None,
            };
            let fixed = matches!(number, event::FLOW_IDS | event::TERMINATING_FLOW_IDS);
            ends.into_iter().flat_map(move |ends| numbers(value, fixed).map(move |id| (id, ends)))
        })
    }

    /// Event ids of the render stages this host event submitted.
    pub(super) fn submissions(&self) -> impl Iterator<Item = u64> + use<'a> {
        let message = if self.has_submissions { self.message } else { &[] };
        let messages = fields(message, event::GPU_CORRELATION).map(Value::bytes);
        messages.flat_map(|message| fields(message, 1)).flat_map(|value| numbers(value, false))
    }

    /// Values of further counters, whole ones and others, in the order of their tracks.
    pub(super) fn extra(&self, doubles: bool) -> impl Iterator<Item = Sample> + use<'a> {
        let message = if self.has_extra { self.message } else { &[] };
        let number = if doubles { event::EXTRA_DOUBLES } else { event::EXTRA_VALUES };
        fields(message, number).flat_map(move |value| {
            numbers(value, doubles).map(move |bits| match doubles {
                true => Sample::Double(f64::from_bits(bits)),
                false => Sample::Int(bits as i64),
            })
        })
    }

    /// The tracks of further counters, where the event names them itself.
    pub(super) fn extra_tracks(&self, doubles: bool) -> impl Iterator<Item = u64> + use<'a> {
        extra_tracks(if self.has_extra { self.message } else { &[] }, doubles)
    }
}

/// The tracks of further counters that an event or the defaults of a sequence name.
pub(super) fn extra_tracks(message: &[u8], doubles: bool) -> impl Iterator<Item = u64> {
    let number = if doubles { event::EXTRA_DOUBLE_UUIDS } else { event::EXTRA_UUIDS };
    fields(message, number).flat_map(|value| numbers(value, false))
}

impl Legacy {
    fn parse(message: &[u8]) -> Result<Self, Malformed> {
        let mut of = Self::default();
        for field in Fields::of(message) {
            match field? {
                (legacy::NAME_IID, value) => of.name_iid = value.u64(),
                (legacy::PHASE, value) => of.phase = value.u64() as u8,
                (legacy::DURATION_US, value) => of.duration_us = value.i64(),
                (legacy::INSTANT_SCOPE, value) => of.scope = value.u64(),
                (legacy::PID_OVERRIDE, value) => of.pid = Some(i64::from(value.u64() as i32)),
                (legacy::TID_OVERRIDE, value) => of.tid = Some(i64::from(value.u64() as i32)),
                _ => {}
            }
        }
        Ok(of)
    }
}

fn fields<'a>(message: &'a [u8], wanted: u32) -> impl Iterator<Item = Value<'a>> + use<'a> {
    Fields::of(message).flatten().filter(move |(number, _)| *number == wanted).map(|(_, value)| value)
}

/// One number, or all of a packed list of varints or of eight bytes each.
fn numbers(value: Value<'_>, fixed: bool) -> impl Iterator<Item = u64> {
    let (one, list) = match value {
        Value::Bytes(list) => (None, list),
        other => (Some(other.u64()), &[][..]),
    };
    let (eights, varints) = if fixed { (list, &[][..]) } else { (&[][..], list) };
    let eights = eights.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("chunks of eight bytes")));
    one.into_iter().chain(eights).chain(packed_varints(varints))
}

fn one_of(value: Value<'_>) -> u64 {
    numbers(value, false).next().unwrap_or(0)
}
