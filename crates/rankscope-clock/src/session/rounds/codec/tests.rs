use proptest::prelude::*;

use super::*;
use crate::{ClockEvent, Edge, EdgeFit, EdgeRecord, LinkCounts, NoFit, NodeWindow, StampSource, Transport};

fn floats() -> impl Strategy<Value = f64> {
    -1e9..1e9f64
}

fn spans() -> impl Strategy<Value = Span> {
    any::<i64>().prop_map(Span::from_nanos)
}

fn instants() -> impl Strategy<Value = HostInstant> {
    any::<i64>().prop_map(HostInstant::from_nanos_since_epoch)
}

fn intervals() -> impl Strategy<Value = Interval> {
    (spans(), spans()).prop_map(|(a, b)| Interval { lo: a.min(b), hi: a.max(b) })
}

fn fits() -> impl Strategy<Value = Result<EdgeFit, NoFit>> {
    let fit = (
        prop::array::uniform3(any::<i64>()),
        spans(),
        intervals(),
        prop::array::uniform4(floats()),
        spans(),
        any::<(u32, u32, bool)>(),
    );
    let fit = fit.prop_map(
        |(mut instants, offset, bound, [skew_ppb, lo, hi, sigma_ns], rtt_min, (points_forward, points_reverse, degraded))| {
            instants.sort_unstable();
            let [start, mid, end] = instants.map(HostInstant::from_nanos_since_epoch);
            let skew_bound_ppb = (lo, hi);
            EdgeFit {
                start,
                end,
                mid,
                offset,
                skew_ppb,
                bound,
                skew_bound_ppb,
                sigma_ns,
                rtt_min,
                points_forward,
                points_reverse,
                degraded,
            }
        },
    );
    prop_oneof![
        fit.prop_map(Ok),
        any::<u32>().prop_map(|count| Err(NoFit::TooFewExchanges(count))),
        Just(Err(NoFit::OneDirection)),
        Just(Err(NoFit::Contradiction)),
    ]
}

fn records() -> impl Strategy<Value = EdgeRecord> {
    let event = prop_oneof![
        (instants(), spans()).prop_map(|(at, size)| ClockEvent::Step { at, size }),
        (instants(), floats()).prop_map(|(at, by_ppb)| ClockEvent::RateChange { at, by_ppb }),
    ];
    let source = prop_oneof![Just(StampSource::Hardware), Just(StampSource::Kernel), Just(StampSource::User)];
    let lists = (prop::collection::vec(fits(), 0..4), prop::collection::vec(event, 0..4));
    let transport = prop_oneof![Just(Transport::Udp), Just(Transport::Tcp)];
    (any::<(u32, u32)>(), lists, prop::array::uniform7(any::<u32>()), (source, transport)).prop_map(
        |((src, dst), (fits, events), counts, (stamps, transport))| {
            let [complete, lost_forward, lost_reverse, reordered, duplicated, unstamped, filtered] = counts;
            let counts = LinkCounts { complete, lost_forward, lost_reverse, reordered, duplicated, unstamped, filtered };
            EdgeRecord { edge: Edge { src: NodeId(src), dst: NodeId(dst) }, fits, events, counts, stamps, transport }
        },
    )
}

pub(in crate::session::rounds) fn windows() -> impl Strategy<Value = NodeWindow> {
    let round = prop_oneof![Just(None), (0..u64::MAX).prop_map(Some)];
    (any::<u32>(), any::<u64>(), round, any::<(i64, i64)>(), prop::collection::vec(records(), 0..6)).prop_map(
        |(node, window_id, round, (a, b), edges)| {
            let [start, end] = [a.min(b), a.max(b)].map(HostInstant::from_nanos_since_epoch);
            NodeWindow { node: NodeId(node), window_id, round, start, end, edges }
        },
    )
}

proptest! {
    #[test]
    fn windows_come_out_as_they_went_in(window in windows()) {
        let mut bytes = Vec::new();
        prop_assert_eq!(write_window(&mut bytes, &window, usize::MAX), 0);
        prop_assert_eq!(read_window(&bytes), Some(window));
    }

    #[test]
    fn a_window_that_is_cut_is_none(window in windows(), keep in 0.0..1.0f64) {
        let mut bytes = Vec::new();
        write_window(&mut bytes, &window, usize::MAX);
        bytes.truncate((bytes.len() as f64 * keep) as usize);
        prop_assert_eq!(read_window(&bytes), None);
    }

    #[test]
    fn edges_that_do_not_fit_are_left_out(window in windows(), room in 50..600usize) {
        let mut bytes = Vec::new();
        let left_out = write_window(&mut bytes, &window, room);
        prop_assert!(bytes.len() <= room.max(50));
        let kept = window.edges.len() - left_out;
        let read = read_window(&bytes).unwrap();
        prop_assert_eq!(&read.edges[..], &window.edges[..kept]);
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Some(window) = read_window(&bytes) {
            let mut again = Vec::new();
            write_window(&mut again, &window, usize::MAX);
            prop_assert_eq!(again, bytes);
        }
    }
}

#[test]
fn a_list_longer_than_its_bytes_allocates_nothing() {
    let window = NodeWindow {
        node: NodeId(0),
        window_id: 0,
        round: None,
        start: HostInstant::from_nanos_since_epoch(0),
        end: HostInstant::from_nanos_since_epoch(0),
        edges: Vec::new(),
    };
    let mut bytes = Vec::new();
    write_window(&mut bytes, &window, usize::MAX);
    let count_at = bytes.len() - 4;
    bytes[count_at..].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(read_window(&bytes), None);
}

#[test]
fn what_is_not_a_number_is_refused() {
    let estimate = NodeEstimate {
        node: NodeId(1),
        at: HostInstant::from_nanos_since_epoch(5),
        offset: Span::ZERO,
        skew_ppb: f64::NAN,
        bound: Interval { lo: Span::ZERO, hi: Span::ZERO },
        skew_bound_ppb: (-3.5, 4.25),
        sigma_ns: 0.0,
        residual_ns: 0.0,
        degraded: false,
    };
    let mut bytes = Vec::new();
    write_estimate(&mut bytes, &estimate);
    assert_eq!(read_estimate(&mut Reader(&bytes)), None);
    bytes.clear();
    let estimate = NodeEstimate { skew_ppb: 4.0, ..estimate };
    write_estimate(&mut bytes, &estimate);
    assert_eq!(read_estimate(&mut Reader(&bytes)), Some(estimate));
}
