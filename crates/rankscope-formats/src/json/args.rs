//! The arguments that analysis has columns for, from their raw text.

use rankscope_trace::{Awaited, CategoryKind, CollectiveArgs, CopyDirection, SpanId};

use super::arguments::Argument;
use super::builder::Builder;
use super::event::RawEvent;
use super::number::{unquoted, unsigned};
use super::text::decode;
use crate::kineto::{
    DIRECTION, DeviceFacts, PeerArgument, RECORDED_BY, SIZE, WAITS, collective_of_annotation, elements, first_type,
    peer_of_operator, third_value,
};

/// Files the wanted arguments of `span` into the piece's columns. Returns the rank, where they name it.
pub(super) fn extract<'a>(
    builder: &mut Builder<'a>,
    span: SpanId,
    kind: CategoryKind,
    event: &RawEvent<'a>,
    arguments: &[Argument<'a>],
) -> Option<u32> {
    let mut collective = CollectiveArgs::of(span);
    let mut rank = None;
    let (mut facts, mut awaited) = (DeviceFacts::default(), Awaited::default());
    let (mut dims, mut types, mut concrete): (&[u8], &[u8], &[u8]) = (&[], &[], &[]);
    for &(key, value) in arguments {
        match key {
            b"correlation" => push(unsigned(value), |id| builder.piece.trace.correlations.push(span, id)),
            b"External id" | b"external id" => push(unsigned(value), |id| builder.piece.trace.external_ids.push(span, id)),
            b"bytes" | b"Bytes" if kind.is_device_work() => push(unsigned(value), |n| builder.piece.trace.bytes.push(span, n)),
            b"Collective name" => collective.name = builder.string(unquoted(value)),
            b"dtype" => collective.dtype = builder.string(unquoted(value)),
            b"In msg nelems" => collective.in_elements = unsigned(value),
            b"Out msg nelems" => collective.out_elements = unsigned(value),
            b"Group size" => collective.group_size = small(value),
            b"Process Group Name" => collective.group_name = builder.string(unquoted(value)),
            b"Process Group Description" => collective.group_description = builder.string(unquoted(value)),
            // Written as a quoted string or as an array; its text is the same between the quotes.
            b"Process Group Ranks" => collective.group_ranks = builder.string(unquoted(value)),
            b"Seq" | b"Sequence" => collective.sequence = unsigned(value),
            b"Comms Id" | b"Comm Id" => collective.communicator = builder.string(unquoted(value)),
            b"Src Rank" => collective.source_rank = small(value),
            b"Dst Rank" => collective.destination_rank = small(value),
            b"In split size" => collective.in_split = builder.string(unquoted(value)),
            b"Out split size" => collective.out_split = builder.string(unquoted(value)),
            b"Rank" => rank = small(value),
            b"Input Dims" => dims = value,
            b"Input type" => types = value,
            b"Concrete Inputs" => concrete = value,
            key if kind == CategoryKind::Sync && key == WAITS[0].as_bytes() => awaited.stream = small(value),
            key if kind == CategoryKind::Sync && key == RECORDED_BY.as_bytes() => awaited.recorded_by = unsigned(value),
            _ if !kind.is_device_work() => {}
            key if key == DIRECTION.as_bytes() && value.first() == Some(&b'"') => {
                facts.direction = Some(CopyDirection::of_text(&decode(unquoted(value))));
            }
            key if key == SIZE.as_bytes() => facts.size = unsigned(value),
            key if WAITS.iter().any(|wait| key == wait.as_bytes()) => facts.waits = true,
            _ => {}
        }
    }
    if kind.is_device_work() {
        builder.file_device(span, kind, event, &facts);
    }
    if !awaited.is_empty() {
        builder.piece.trace.awaited.push(span, awaited);
    }
    if collective.name.is_empty() && kind == CategoryKind::UserAnnotation {
        from_annotation(builder, &mut collective, event.name, dims, types);
    }
    if collective.name.is_empty() && kind == CategoryKind::CpuOp {
        from_operator(builder, &mut collective, event.name, concrete);
    }
    if !collective.name.is_empty() {
        builder.piece.trace.collectives.push(collective);
    }
    rank
}

/// A backend's annotation says what it does in its name and how much in the shapes of its inputs.
fn from_annotation<'a>(builder: &mut Builder<'a>, to: &mut CollectiveArgs, name: &'a [u8], dims: &[u8], types: &'a [u8]) {
    let Some(collective) = collective_of_annotation(unquoted(name)) else { return };
    to.name = builder.string(collective);
    to.in_elements = elements(dims);
    if let Some(dtype) = first_type(types) {
        to.dtype = builder.string(dtype);
    }
}

/// An operator that sends or receives says with which rank of its group.
fn from_operator<'a>(builder: &mut Builder<'a>, to: &mut CollectiveArgs, name: &'a [u8], concrete: &[u8]) {
    let name = unquoted(name);
    let (Some(argument), Some(peer)) = (peer_of_operator(name), third_value(concrete)) else { return };
    to.name = builder.string(name);
    match argument {
        PeerArgument::Destination => to.destination_rank = Some(peer),
        PeerArgument::Source => to.source_rank = Some(peer),
    }
}

fn small(value: &[u8]) -> Option<u32> {
    unsigned(value).and_then(|value| u32::try_from(value).ok())
}

fn push(value: Option<u64>, to: impl FnOnce(u64)) {
    if let Some(value) = value {
        to(value);
    }
}
