//! The arguments that analysis has columns for.
//!
//! Which events are worth looking into is decided by category and name alone, so that the arguments of the many (operators,
//! Python frames) are never looked at.

use rankscope_trace::{CategoryKind, CollectiveArgs, SpanId};

use super::event::RawEvent;
use super::number::{unquoted, unsigned};
use super::piece::Builder;
use super::scan::{Members, Mode, skip_space, string_end};

/// What an event's arguments may hold for analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Nothing.
    Nothing,
    /// Correlation, external id, bytes; on kernels also collective parameters.
    Links,
    /// The parameters of a collective.
    Collective,
}

/// What to look for in an event of this kind and (quoted) name.
pub(super) fn wanted(kind: CategoryKind, name: &[u8]) -> Wanted {
    match kind {
        CategoryKind::CpuOp if name == b"\"record_param_comms\"" => Wanted::Collective,
        CategoryKind::UserAnnotation if is_backend_annotation(unquoted(name)) => Wanted::Collective,
        CategoryKind::CollectiveComm => Wanted::Collective,
        _ if kind.is_on_device() || kind.is_launch() => Wanted::Links,
        _ => Wanted::Nothing,
    }
}

/// `gloo:all_reduce`, `nccl:all_gather`, `mpi:...`: torch names its backends' ranges so.
fn is_backend_annotation(name: &[u8]) -> bool {
    let backend = name.iter().position(|byte| *byte == b':').map(|colon| &name[..colon]);
    matches!(backend, Some(b"nccl" | b"gloo" | b"mpi" | b"ucc" | b"xccl" | b"hccl" | b"rccl"))
}

/// Files the wanted arguments of `span` into the piece's columns. Returns the rank, where they name it.
pub(super) fn extract<'a>(
    builder: &mut Builder<'a>,
    span: SpanId,
    kind: CategoryKind,
    event: &RawEvent<'a>,
    mode: Mode,
) -> Option<u32> {
    if event.args.first() != Some(&b'{') {
        return None;
    }
    let mut collective = CollectiveArgs::of(span);
    let mut rank = None;
    let (mut dims, mut types): (&[u8], &[u8]) = (&[], &[]);
    for (key, value) in Members::of(event.args, 0, mode) {
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
            _ => {}
        }
    }
    if collective.name.is_empty() && kind == CategoryKind::UserAnnotation {
        from_annotation(builder, &mut collective, event.name, dims, types);
    }
    if !collective.name.is_empty() {
        builder.piece.trace.collectives.push(collective);
    }
    rank
}

/// A backend's annotation says what it does in its name and how much in the shapes of its inputs.
fn from_annotation<'a>(builder: &mut Builder<'a>, to: &mut CollectiveArgs, name: &'a [u8], dims: &[u8], types: &'a [u8]) {
    let name = unquoted(name);
    let colon = name.iter().position(|byte| *byte == b':').map_or(0, |colon| colon + 1);
    to.name = builder.string(&name[colon..]);
    to.in_elements = elements(dims);
    if let Some(quote) = types.iter().position(|byte| *byte == b'"')
        && let Some((end, _)) = string_end(types, quote, Mode::Strict)
    {
        to.dtype = builder.string(&types[quote + 1..end]);
    }
}

/// Elements in the tensors whose shapes `dims` lists: the sum over the innermost lists of the product of their numbers. Scalars
/// (empty lists) count nothing.
fn elements(dims: &[u8]) -> Option<u64> {
    let mut total = None;
    let mut product: Option<u64> = None;
    let mut at = 0;
    while at < dims.len() {
        match dims[at] {
            b'[' => product = None,
            b']' => {
                if let Some(count) = product.take() {
                    total = Some(total.unwrap_or(0u64).checked_add(count)?);
                }
            }
            b'0'..=b'9' => {
                let len = dims[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                product = Some(product.unwrap_or(1).checked_mul(unsigned(&dims[at..at + len])?)?);
                at += len;
                continue;
            }
            _ => {}
        }
        at = skip_space(dims, at + 1);
    }
    total
}

fn small(value: &[u8]) -> Option<u32> {
    unsigned(value).and_then(|value| u32::try_from(value).ok())
}

fn push(value: Option<u64>, to: impl FnOnce(u64)) {
    if let Some(value) = value {
        to(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_multiplied_and_lists_added() {
        assert_eq!(elements(b"[[1059850]]"), Some(1_059_850));
        assert_eq!(elements(b"[[[2, 3], [4]], [], []]"), Some(10));
        assert_eq!(elements(b"[[], []]"), None);
        assert_eq!(elements(b"[[99999999999, 99999999999]]"), None);
        assert_eq!(elements(b""), None);
    }

    #[test]
    fn only_backends_annotate_collectives() {
        assert!(is_backend_annotation(b"gloo:all_reduce"));
        assert!(!is_backend_annotation(b"Optimizer.step#SGD.step"));
        assert!(!is_backend_annotation(b"autograd::engine"));
    }
}
