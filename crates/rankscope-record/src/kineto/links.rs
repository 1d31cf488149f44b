//! What ties events together once all of them are known: parents' numbers, arrows, and toggles they lived through.

use rankscope_recording::Cut;

use super::event::{EventType, Flow, FlowType, KinetoEvent};
use super::flows::{Sequenced, forward_backward};
use super::tree::{EventTree, NodeId};
use rankscope_recording::Category;

/// What an arrow of this name means.
pub(super) fn flow_type(name: &str) -> FlowType {
    FlowType::ALL.iter().copied().find(|flow| flow.name() == name).unwrap_or(FlowType::None)
}

/// Parents' numbers, and arrows from forward to backward ops.
pub(super) fn link(events: &mut [KinetoEvent], tree: &EventTree) {
    for node in 0..events.len() {
        let parent = tree.parent(node as NodeId);
        events[node].linked_correlation_id = parent.map_or(0, |parent| events[parent as usize].correlation_id);
        // An open end may have been settled by the tree.
        events[node].end_ns = tree.interval_ns(node as NodeId).1;
    }
    let ops: Vec<Sequenced> = events.iter().map(sequenced).collect();
    let taken = events.iter().filter_map(|event| event.flow).map(|flow| flow.id).max().unwrap_or(0);
    for (id, (from, to)) in (taken.saturating_add(1)..).zip(forward_backward(&ops)) {
        let flow = |starts| Flow { id, flow_type: FlowType::ForwardBackward, starts };
        events[from].flow.get_or_insert(flow(true));
        events[to].flow.get_or_insert(flow(false));
    }
}

fn sequenced(event: &KinetoEvent) -> Sequenced {
    let sequence_nr = if event.kind == EventType::TorchOp { event.sequence_nr() } else { -1 };
    let KinetoEvent { start_ns, end_ns, start_tid: tid, .. } = *event;
    Sequenced { start_ns, end_ns, tid, forward_tid: event.fwd_thread_id(), sequence_nr }
}

/// Flags the spans that were open when their category went off.
pub(super) fn mark_toggles(events: &mut [KinetoEvent], cut: &Cut, ns: impl Fn(u64) -> i64) {
    let pairs = cut.changes.windows(2).map(|pair| (ns(pair[1].0), pair[0].1 & !pair[1].1));
    let toggles: Vec<(i64, u32)> = pairs.filter(|(_, off)| *off != 0).collect();
    if toggles.is_empty() {
        return;
    }
    for event in events {
        let bit = Category::of(event.category).map_or(0, |category| category.alone().0);
        let behind = toggles.partition_point(|(at_ns, _)| *at_ns <= event.start_ns);
        let within = toggles[behind..].iter().take_while(|(at_ns, _)| *at_ns <= event.end_ns);
        event.crosses_toggle = within.fold(0, |off, (_, mask)| off | mask) & bit != 0;
    }
}
