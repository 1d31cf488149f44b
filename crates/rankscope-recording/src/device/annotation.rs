//! The program's ranges as the device saw them: on each stream, from the first to the last work launched under a range.

use std::collections::HashMap;
use std::sync::Arc;

use super::join::Activity;
use super::record::{HostOp, Role};

/// A range of the program on one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuAnnotation {
    /// The correlation id of the range on the host.
    pub op: u64,
    /// Its name.
    pub name: Arc<str>,
    /// The device.
    pub device: u32,
    /// The stream.
    pub stream: u64,
    /// When the first of its work started.
    pub start_ns: i64,
    /// When the last of it ended. No later than the start only if the records say so themselves.
    pub end_ns: i64,
}

/// One range for each annotation, device and stream with work, by start.
pub(super) fn annotations(activities: &[Activity], ops: &HashMap<u64, HostOp>) -> Vec<GpuAnnotation> {
    let mut places: HashMap<(u64, u32, u64), usize> = HashMap::new();
    let mut spans: Vec<GpuAnnotation> = Vec::new();
    for Activity { record, annotation, .. } in activities.iter().filter(|activity| activity.record.role() == Role::Work) {
        let Some((op, host)) = annotation.and_then(|op| Some((op, ops.get(&op)?))) else { continue };
        let (device, stream, start_ns, end_ns) = (record.device, record.stream, record.start_ns, record.end_ns);
        let place = *places.entry((op, device, stream)).or_insert(spans.len());
        match spans.get_mut(place) {
            Some(span) => {
                span.start_ns = span.start_ns.min(start_ns);
                span.end_ns = span.end_ns.max(end_ns);
            }
            None => spans.push(GpuAnnotation { op, name: Arc::clone(&host.name), device, stream, start_ns, end_ns }),
        }
    }
    spans.sort_unstable_by_key(|span| (span.start_ns, span.device, span.stream, span.op));
    spans
}
