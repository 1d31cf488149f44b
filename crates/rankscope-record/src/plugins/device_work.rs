//! Device work into the recording: joined to the spans that caused it, and told by instants that carry it ([`DeviceWork`]).
//!
//! What a plugin collected is joined once, when the session ends, over spans as the recording has them; spans are looked up only
//! where a tie names them. Times are brought from the plugin's clock on to the recording's by its own readings of both.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rankscope_recording::{
    Anchor, Arrow, Category, Chunks, ClockId, Cut, DEVICE_WORK, DeviceWork, Recording, TickMap, What, WorkPlace,
};

use crate::events::instant;
use crate::kineto::device::{Activity, DeviceItem, DeviceRecord, HostOp, Joined, join};
use crate::names::{Site, intern};
use crate::recorded::Recorded;
use crate::scope::Scope;
use crate::ticks::ticks;
use crate::value::Value;
use crate::{anchors, control};

/// Joins what is in `buffers`, whose times are of `clock`, and records it. Nothing, where no recording runs or it cannot be read.
pub(super) fn record(mut buffers: Vec<Vec<DeviceItem>>, clock: ClockId, since_tick: u64) -> Option<Joined> {
    let lease = control::lock().current.clone()?;
    let now = anchors::take(lease.store().test_clock.as_ref());
    lease.store().system(|system| system.anchors(&now));
    let recording = Recorded::new(lease, Cut::everything()).open().ok()?;
    let onto = OntoRecording::new(recording.anchors(), recording.ticks(), clock);
    for item in buffers.iter_mut().flatten() {
        if let DeviceItem::Record(record) = item {
            // Zero is no time.
            for ns in [&mut record.start_ns, &mut record.end_ns].into_iter().filter(|ns| **ns != 0) {
                *ns = onto.ns(*ns);
            }
        }
    }
    let window = recording.ticks().ns(since_tick)..=recording.ticks().ns(ticks());
    let ops = ops(&recording, &wanted(&buffers));
    let joined = join(buffers, &ops, &window);
    write(&joined);
    Some(joined)
}

/// The spans that ties speak of, by their correlation ids.
fn wanted(buffers: &[Vec<DeviceItem>]) -> HashSet<u64> {
    let ids = buffers.iter().flatten().filter_map(|item| match item {
        DeviceItem::Tie(tie) => Some(tie.external_id),
        DeviceItem::Record(_) => None,
    });
    ids.filter(|id| *id != 0).collect()
}

fn ops<C: Chunks>(recording: &Recording<C>, wanted: &HashSet<u64>) -> HashMap<u64, HostOp> {
    let mut ops = HashMap::new();
    if wanted.is_empty() {
        return ops;
    }
    for thread in recording.threads() {
        let mut events = recording.replay(thread, &Cut::everything());
        while let Some((event, _)) = events.next() {
            let What::Begin { id, .. } = event.what else { continue };
            if wanted.contains(&id)
                && let Some(name) = recording.names().get(event.name.0 as usize)
            {
                let is_user_annotation = name.category == Category::USER_ANNOTATION.number();
                ops.insert(id, HostOp { name: Arc::from(&*name.text), is_user_annotation });
            }
        }
    }
    ops
}

fn write(joined: &Joined) {
    let starts: HashSet<usize> = joined.pairs.iter().map(|pair| pair.0).collect();
    let ends: HashSet<usize> = joined.pairs.iter().map(|pair| pair.1).collect();
    let annotations = joined.annotations.iter().map(|annotation| Activity {
        record: DeviceRecord {
            kind: Category::GPU_USER_ANNOTATION,
            name: annotation.name.clone(),
            start_ns: annotation.start_ns,
            end_ns: annotation.end_ns,
            device: annotation.device,
            stream: annotation.stream,
            correlation: 0,
            graph: None,
        },
        op: Some(annotation.op),
        annotation: None,
    });
    let arrow = |place: usize| match (starts.contains(&place), ends.contains(&place)) {
        (true, _) => Arrow::Starts,
        (_, true) => Arrow::Ends,
        _ => Arrow::None,
    };
    let activities = joined.activities.iter().cloned().enumerate().map(|(place, activity)| (activity, arrow(place)));
    let mut all: Vec<(Activity, Arrow)> = annotations.map(|activity| (activity, Arrow::None)).chain(activities).collect();
    // What encloses others comes before them.
    all.sort_by_key(|(activity, _)| (activity.record.start_ns, Reverse(activity.record.end_ns)));
    all.iter().for_each(|(activity, arrow)| write_one(activity, *arrow));
}

fn write_one(activity: &Activity, arrow: Arrow) {
    static WORK: Site = Site::key(DEVICE_WORK);
    static OP: Site = Site::key("External id");
    static GRAPH: Site = Site::key("graph id");
    static NODE: Site = Site::key("graph node id");
    let record = &activity.record;
    let (start_ns, end_ns) = (record.start_ns, record.end_ns.max(record.start_ns));
    let place = if record.is_call() {
        WorkPlace::Thread { tid: record.stream }
    } else {
        WorkPlace::Stream { device: record.device, stream: record.stream }
    };
    let list = DeviceWork { start_ns, end_ns, place, correlation: record.correlation, arrow }.to_list();
    let mut args = vec![(WORK.id(), Value::I64s(&list))];
    args.extend(activity.op.or(activity.annotation).map(|op| (OP.id(), Value::U64(op))));
    args.extend(record.graph.map(|graph| (GRAPH.id(), Value::U64(graph.graph))));
    args.extend(record.graph.map(|graph| (NODE.id(), Value::U64(graph.node))));
    instant(intern(&record.name, record.kind, Scope::Function), &args);
}

/// From a clock of the host on to the recording's time.
struct OntoRecording {
    /// What both showed at one moment: the clock, the recording. The clock's rise.
    knots: Vec<(i64, i64)>,
}

impl OntoRecording {
    fn new(anchors: &[Anchor], ticks: &TickMap, clock: ClockId) -> Self {
        let readings = anchors.iter().filter(|anchor| anchor.clock == clock);
        let mut knots: Vec<(i64, i64)> = readings.map(|anchor| (anchor.ns, ticks.ns(anchor.tick))).collect();
        knots.sort_unstable();
        knots.dedup_by_key(|knot| knot.0);
        Self { knots }
    }

    fn ns(&self, theirs: i64) -> i64 {
        let at = self.knots.partition_point(|knot| knot.0 <= theirs);
        let (before, after) = (at.checked_sub(1).map(|at| self.knots[at]), self.knots.get(at));
        match (before, after) {
            (Some(a), Some(b)) => {
                let part = i128::from(theirs - a.0) * i128::from(b.1 - a.1) / i128::from(b.0 - a.0);
                a.1.saturating_add(part as i64)
            }
            (Some(knot), None) | (None, Some(&knot)) => theirs.saturating_add(knot.1.saturating_sub(knot.0)),
            (None, None) => theirs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_the_readings_between_them_and_keep_their_distance_beyond() {
        let onto = OntoRecording { knots: vec![(100, 1_000), (200, 1_200), (300, 1_200)] };
        let pairs = [(0, 900), (100, 1_000), (150, 1_100), (250, 1_200), (300, 1_200), (310, 1_210)];
        for (theirs, ours) in pairs {
            assert_eq!(onto.ns(theirs), ours, "{theirs}");
        }
        assert_eq!(OntoRecording { knots: Vec::new() }.ns(7), 7);
    }
}
