//! What torch's profiler writes into arguments, whatever the container: JSON, Perfetto.
//!
//! Which events are worth looking into is decided by category and name alone, so that the arguments of the many (operators,
//! Python frames) are never looked at.

use rankscope_trace::{CategoryKind, CopyDirection};

/// Kineto floors its base time to multiples of this many seconds, about three months, so that relative stamps stay exact.
const BASE_GRID_NS: i64 = 7_889_238 * 1_000_000_000;

/// No profiler can have measured a length of two decades: it is a negative one that wrapped.
pub(crate) const DECADES_NS: i64 = 1_000_000_000 * 3_600 * 24 * 365 * 20;

/// What a file whose first stamp is `start_ns` counts its stamps from.
pub fn base_ns(start_ns: i64) -> i64 {
    start_ns.div_euclid(BASE_GRID_NS) * BASE_GRID_NS
}

/// What an event's arguments may hold for analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Nothing.
    Nothing,
    /// Correlation, external id, bytes; on kernels also collective parameters.
    Links,
    /// The parameters of a collective.
    Collective,
}

/// What to look for in an event of this kind and name.
pub(crate) fn wanted(kind: CategoryKind, name: &[u8]) -> Wanted {
    match kind {
        CategoryKind::CpuOp if name == b"record_param_comms" || peer_of_operator(name).is_some() => Wanted::Collective,
        CategoryKind::UserAnnotation if collective_of_annotation(name).is_some() => Wanted::Collective,
        CategoryKind::CollectiveComm => Wanted::Collective,
        _ if kind.is_on_device() || kind.is_launch() => Wanted::Links,
        _ => Wanted::Nothing,
    }
}

/// What the arguments of a device event tell about its nature.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeviceFacts {
    pub(crate) direction: Option<CopyDirection>,
    /// Bytes.
    pub(crate) size: Option<u64>,
    /// It names what it waits for.
    pub(crate) waits: bool,
}

/// The arguments that [`DeviceFacts`] are told by: which way, how much, and what is waited for.
pub(crate) const DIRECTION: &str = "direction";
pub(crate) const SIZE: &str = "size";
pub(crate) const WAITS: [&str; 2] = ["wait_on_stream", "wait_on_event"];

/// The argument by which a synchronisation names the call that recorded the event it waits for; [`WAITS`] has its stream's.
pub(crate) const RECORDED_BY: &str = "wait_on_cuda_event_record_corr_id";

/// What a device event is whose category says `kind`. Some accelerators have one category for all their events: what has a
/// direction and a size is a copy, and what waits for another stream computes nothing.
pub(crate) fn device_kind(kind: CategoryKind, name: &[u8], facts: &DeviceFacts) -> CategoryKind {
    const WAITING: [&[u8]; 6] =
        [b"event_wait", b"wait_event", b"wait_on_event", b"wait_on_stream", b"stream_wait", b"stream_wait_event"];
    match kind {
        CategoryKind::Kernel if facts.waits || WAITING.contains(&name) => CategoryKind::Sync,
        CategoryKind::Kernel if facts.direction.is_some() && facts.size.is_some() => CategoryKind::Memcpy,
        _ => kind,
    }
}

/// Whether a span of this kind is device work or gives it meaning ([`crate::Scope::Device`]).
pub(crate) fn kept_in_device_scope(kind: CategoryKind, wanted: Wanted) -> bool {
    let annotation =
        matches!(kind, CategoryKind::UserAnnotation | CategoryKind::GpuUserAnnotation | CategoryKind::CollectiveComm);
    kind.is_on_device() || kind.is_launch() || annotation || wanted == Wanted::Collective
}

/// The collective that an annotation of a communication backend names: `all_reduce` of `gloo:all_reduce`.
pub(crate) fn collective_of_annotation(name: &[u8]) -> Option<&[u8]> {
    const BACKENDS: [&[u8]; 7] = [b"nccl", b"gloo", b"mpi", b"ucc", b"xccl", b"hccl", b"rccl"];
    let colon = name.iter().position(|byte| *byte == b':')?;
    (BACKENDS.contains(&&name[..colon]) && name.get(colon + 1) != Some(&b':')).then(|| &name[colon + 1..])
}

/// Which end of a message the third argument of a `c10d` operator is. Backends that annotate sends and receives do not say whom
/// they are with; the operator around the annotation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerArgument {
    /// The rank within the group that is sent to.
    Destination,
    /// The rank within the group that is received from.
    Source,
}

/// The peer that the operator called `name` takes, if it takes one.
pub(crate) fn peer_of_operator(name: &[u8]) -> Option<PeerArgument> {
    match name {
        b"c10d::send" => Some(PeerArgument::Destination),
        b"c10d::recv_" => Some(PeerArgument::Source),
        _ => None,
    }
}

/// The third of `values`, the JSON text of a list of quoted values: `["", "", "1", "0"]` is 1.
pub(crate) fn third_value(values: &[u8]) -> Option<u32> {
    let third = values.split(|byte| *byte == b'"').nth(5)?;
    std::str::from_utf8(third).ok()?.parse().ok()
}

/// Elements in the tensors whose shapes `dims` (JSON text) lists: the sum over the innermost lists of the product of their
/// numbers. Scalars (empty lists) count nothing.
pub(crate) fn elements(dims: &[u8]) -> Option<u64> {
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
                let number = std::str::from_utf8(&dims[at..at + len]).ok()?.parse::<u64>().ok()?;
                product = Some(product.unwrap_or(1).checked_mul(number)?);
                at += len;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    total
}

/// The first name in `types`, the JSON text of a list of type names.
pub(crate) fn first_type(types: &[u8]) -> Option<&[u8]> {
    let start = types.iter().position(|byte| *byte == b'"')? + 1;
    let len = types[start..].iter().position(|byte| *byte == b'"')?;
    Some(&types[start..start + len])
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
        assert_eq!(first_type(br#"["c10::BFloat16", ""]"#), Some(&b"c10::BFloat16"[..]));
        assert_eq!(first_type(b"[]"), None);
    }

    #[test]
    fn operators_say_whom_they_send_to() {
        assert_eq!(peer_of_operator(b"c10d::send"), Some(PeerArgument::Destination));
        assert_eq!(peer_of_operator(b"c10d::recv_"), Some(PeerArgument::Source));
        assert_eq!(peer_of_operator(b"c10d::allreduce_"), None);
        assert_eq!(third_value(br#"["", "", "12", "0"]"#), Some(12));
        assert_eq!(third_value(br#"["", "", "-1", "0"]"#), None);
        assert_eq!(third_value(br#"[""]"#), None);
    }

    #[test]
    fn copies_and_waits_of_one_category_are_told_apart() {
        let copy = DeviceFacts { direction: Some(CopyDirection::DeviceToHost), size: Some(64), waits: false };
        let unsized_copy = DeviceFacts { size: None, ..copy };
        let wait = DeviceFacts { waits: true, ..DeviceFacts::default() };
        let kind = |name: &str, facts: &DeviceFacts| device_kind(CategoryKind::Kernel, name.as_bytes(), facts);
        assert_eq!(kind("dma_request", &copy), CategoryKind::Memcpy);
        assert_eq!(kind("dma_request", &unsized_copy), CategoryKind::Kernel);
        assert_eq!(kind("anything", &wait), CategoryKind::Sync);
        assert_eq!(kind("event_wait", &DeviceFacts::default()), CategoryKind::Sync);
        assert_eq!(device_kind(CategoryKind::Runtime, b"event_wait", &wait), CategoryKind::Runtime);
    }

    #[test]
    fn only_backends_annotate_collectives() {
        assert_eq!(collective_of_annotation(b"gloo:all_reduce"), Some(&b"all_reduce"[..]));
        assert_eq!(collective_of_annotation(b"Optimizer.step#SGD.step"), None);
        assert_eq!(collective_of_annotation(b"autograd::engine"), None);
        assert_eq!(collective_of_annotation(b"nccl::something"), None);
    }
}
