//! How what a device's library hands over lies in a recording until somebody opens it: as instants on the source's own thread.
//!
//! An instant called [`DEVICE_RECORD`] has one argument, whose key is the name of the work and whose value is a list: the source, its
//! clock, start and end on that clock, device, stream, the library's number, and the graph and the node where there is one. An instant
//! called [`DEVICE_TIES`] has a list under the same key: the source, and three numbers for each tie. Numbers of calls mean something
//! within one source only.

use super::record::{CorrelationKind, DeviceRecord, ExternalCorrelation, GraphNode};
use crate::event::ClockId;

/// What an instant is called that has a record.
pub const DEVICE_RECORD: &str = "device_record";

/// What an instant is called that has ties, and the key of their list.
pub const DEVICE_TIES: &str = "device_ties";

/// Ties that one list has at most.
pub const TIES_MAX: usize = 256;

/// Who handed something over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// `record` of `source`, whose times are of `clock`, as the list that is recorded; its name and kind are those of the list's key.
pub fn record_list(source: SourceId, clock: ClockId, record: &DeviceRecord) -> Vec<i64> {
    let DeviceRecord { start_ns, end_ns, device, stream, correlation, graph, .. } = record;
    let mut list = vec![source.0.into(), clock.0.into(), *start_ns, *end_ns, i64::from(*device)];
    list.extend([stream.cast_signed(), correlation.cast_signed()]);
    list.extend(graph.iter().flat_map(|graph| [graph.graph.cast_signed(), graph.node.cast_signed()]));
    list
}

/// `ties` of `source` as the list that is recorded.
pub fn ties_list(source: SourceId, ties: &[ExternalCorrelation]) -> Vec<i64> {
    let three = |tie: &ExternalCorrelation| {
        let kind = match tie.kind {
            CorrelationKind::Default => 0,
            CorrelationKind::UserAnnotation => 1,
        };
        [kind, tie.external_id.cast_signed(), tie.correlation.cast_signed()]
    };
    std::iter::once(source.0.into()).chain(ties.iter().flat_map(three)).collect()
}

/// The record that such a list is, but for its name and its kind; none where it is another list.
pub(super) fn record_of(
    mut list: impl Iterator<Item = i64>,
    named: impl FnOnce() -> DeviceRecord,
) -> Option<(SourceId, ClockId, DeviceRecord)> {
    let source = SourceId(u32::try_from(list.next()?).ok()?);
    let clock = ClockId(u32::try_from(list.next()?).ok()?);
    let (start_ns, end_ns) = (list.next()?, list.next()?);
    let device = u32::try_from(list.next()?).ok()?;
    let (stream, correlation) = (list.next()?.cast_unsigned(), list.next()?.cast_unsigned());
    let graph = match (list.next(), list.next()) {
        (None, _) => None,
        (Some(graph), node) => Some(GraphNode { graph: graph.cast_unsigned(), node: node?.cast_unsigned() }),
    };
    Some((source, clock, DeviceRecord { start_ns, end_ns, device, stream, correlation, graph, ..named() }))
}

/// The ties that such a list has; none where it is another list.
pub(super) fn ties_of(mut list: impl Iterator<Item = i64>) -> Option<(SourceId, Vec<ExternalCorrelation>)> {
    let source = SourceId(u32::try_from(list.next()?).ok()?);
    let mut ties = Vec::new();
    while let Some(kind) = list.next() {
        let kind = match kind {
            0 => CorrelationKind::Default,
            1 => CorrelationKind::UserAnnotation,
            _ => return None,
        };
        let (external_id, correlation) = (list.next()?.cast_unsigned(), list.next()?.cast_unsigned());
        ties.push(ExternalCorrelation { kind, external_id, correlation });
    }
    Some((source, ties))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Category;

    const SOURCE: SourceId = SourceId(u32::MAX);

    fn record(graph: Option<GraphNode>) -> DeviceRecord {
        DeviceRecord {
            kind: Category::KERNEL,
            name: "gemm".into(),
            start_ns: i64::MIN,
            end_ns: i64::MAX,
            device: u32::MAX,
            stream: u64::MAX,
            correlation: u64::MAX,
            graph,
        }
    }

    #[test]
    fn records_survive_being_lists() {
        for graph in [None, Some(GraphNode { graph: 0, node: u64::MAX })] {
            let list = record_list(SOURCE, ClockId::REALTIME, &record(graph));
            let read = record_of(list.iter().copied(), || record(None));
            assert_eq!(read, Some((SOURCE, ClockId::REALTIME, record(graph))));
            let shorter = record_of(list[..list.len() - 1].iter().copied(), || record(None));
            assert_eq!(shorter, None, "a list that was cut");
        }
    }

    #[test]
    fn ties_survive_being_lists() {
        let tie = |kind| ExternalCorrelation { kind, external_id: u64::MAX, correlation: 7 };
        let ties = [tie(CorrelationKind::UserAnnotation), tie(CorrelationKind::Default)];
        let list = ties_list(SOURCE, &ties);
        assert_eq!(ties_of(list.iter().copied()), Some((SOURCE, ties.to_vec())));
        assert_eq!(ties_of(list[..list.len() - 1].iter().copied()), None);
        assert_eq!(ties_of([1, 2, 3, 4].into_iter()), None, "no such stack of ops");
    }
}
