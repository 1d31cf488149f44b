use proptest::prelude::*;

use super::super::Damage;
use super::*;
use crate::{ClockEvent, Interval, NoFit};

const NS: std::ops::Range<i64> = -4_000_000_000_000_000_000..4_000_000_000_000_000_000;

fn instants() -> impl Strategy<Value = HostInstant> {
    NS.prop_map(HostInstant::from_nanos_since_epoch)
}

fn spans() -> impl Strategy<Value = Span> {
    NS.prop_map(Span::from_nanos)
}

fn floats() -> impl Strategy<Value = f64> {
    prop_oneof![-1e6..1e6f64, any::<f64>().prop_filter("finite", |x| x.is_finite()), Just(0.0)]
}

/// A limit that may be missing.
fn intervals() -> impl Strategy<Value = Interval> {
    (spans(), spans(), any::<bool>(), any::<bool>()).prop_map(|(a, b, below, above)| Interval {
        lo: if below { a.min(b) } else { Span::from_nanos(i64::MIN) },
        hi: if above { a.max(b) } else { Span::MAX },
    })
}

fn fits() -> impl Strategy<Value = Result<EdgeFit, NoFit>> {
    let slopes = (floats(), -1e6..1e6f64, prop::option::of(-1e6..1e6f64));
    let good = (instants(), instants(), instants(), spans(), slopes, intervals(), 0.0..1e6, any::<(u32, u32, bool)>());
    let good = good.prop_map(
        |(a, b, mid, offset, (skew_ppb, lo, hi), bound, sigma_ns, (points_forward, points_reverse, degraded))| {
            Ok(EdgeFit {
                start: a.min(b),
                end: a.max(b),
                mid,
                offset,
                skew_ppb,
                bound,
                skew_bound_ppb: (lo, hi.unwrap_or(5e8)),
                sigma_ns,
                rtt_min: if degraded { Span::MAX } else { offset.abs() },
                points_forward,
                points_reverse,
                degraded,
            })
        },
    );
    let none =
        prop_oneof![any::<u32>().prop_map(NoFit::TooFewExchanges), Just(NoFit::OneDirection), Just(NoFit::Contradiction)];
    prop_oneof![3 => good, 1 => none.prop_map(Err)]
}

fn events() -> impl Strategy<Value = ClockEvent> {
    prop_oneof![
        (instants(), spans()).prop_map(|(at, size)| ClockEvent::Step { at, size }),
        (instants(), floats()).prop_map(|(at, by_ppb)| ClockEvent::RateChange { at, by_ppb }),
    ]
}

fn records(src: NodeId) -> impl Strategy<Value = EdgeRecord> {
    let sources = prop_oneof![Just(StampSource::Hardware), Just(StampSource::Kernel), Just(StampSource::User)];
    let counts = prop::collection::vec(0u32..2_000_000_000, 7);
    let carried = (sources, prop_oneof![Just(Transport::Udp), Just(Transport::Tcp)]);
    let parts = (any::<u32>(), prop::collection::vec(fits(), 0..3), prop::collection::vec(events(), 0..2), counts, carried);
    parts.prop_map(move |(dst, fits, events, counts, (stamps, transport))| EdgeRecord {
        edge: Edge { src, dst: NodeId(dst) },
        fits,
        events,
        counts: LinkCounts {
            complete: counts[0],
            lost_forward: counts[1],
            lost_reverse: counts[2],
            reordered: counts[3],
            duplicated: counts[4],
            unstamped: counts[5],
            filtered: counts[6],
        },
        stamps,
        transport,
    })
}

fn windows() -> impl Strategy<Value = NodeWindow> {
    (any::<u32>().prop_map(NodeId), any::<u64>(), prop::option::of(any::<u64>()), instants(), instants()).prop_flat_map(
        |(node, window_id, round, a, b)| {
            prop::collection::vec(records(node), 0..4).prop_map(move |edges| NodeWindow {
                node,
                window_id,
                round,
                start: a.min(b),
                end: a.max(b),
                edges,
            })
        },
    )
}

fn header() -> WindowsHeader {
    WindowsHeader {
        node: Some(NodeId(3)),
        start_walltime_ns: Some(1_700_000_000_123_456_789),
        start_gpu_ns: None,
        run_id: Some("run \"7\"\n".to_owned()),
        host_minus_raw_ns: Some(1_700_000_000_000_000_001),
        host: Some("node-7".to_owned()),
        clock: Some("REALTIME".to_owned()),
        stamps: Some(StampSource::Hardware),
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_exactly(windows in prop::collection::vec(windows(), 0..4)) {
        let lines: String = windows.iter().map(encode_window).collect();
        prop_assert_eq!(lines.lines().count(), windows.len());
        let file = read_windows("x", (encode_windows_header(&header()) + &lines).as_bytes());
        prop_assert_eq!(file.damaged, []);
        prop_assert_eq!(file.header, Some(header()));
        prop_assert!(!file.foreign);
        prop_assert_eq!(file.windows, windows);
    }

    #[test]
    fn a_file_cut_anywhere_keeps_its_whole_lines(windows in prop::collection::vec(windows(), 1..4), at in 0.0..1.0f64) {
        let text: String = windows.iter().map(encode_window).collect();
        let cut = &text.as_bytes()[..(text.len() as f64 * at) as usize];
        let whole = cut.iter().filter(|byte| **byte == b'\n').count();
        let file = read_windows("x", cut);
        // The last line may lack nothing but its end.
        prop_assert!(file.windows.len() == whole || file.windows.len() == whole + 1);
        prop_assert_eq!(&file.windows, &windows[..file.windows.len()]);
        prop_assert!(file.damaged.iter().all(|line| line.damage == Damage::CutOff && line.line == whole + 1));
    }

    #[test]
    fn no_bytes_panic(text in "[\\[\\]{}\",:0-9a-z_ \n.-]{0,200}", window in windows(), at in 0usize..2_000, byte in any::<u8>()) {
        let _ = read_windows("node1", text.as_bytes());
        let mut bytes = encode_window(&window).into_bytes();
        let place = at % bytes.len();
        bytes[place] = byte;
        let file = read_windows("node1", &bytes);
        prop_assert!(file.windows.len() + file.damaged.len() <= 2);
    }
}

/// What the origin writes.
fn origin_line(window_id: u32, edges: &str) -> String {
    format!(
        "{{\"window_start_ns\": 1700000000000000000, \"window_end_ns\": 1700000004000000000, \"window_id\": {window_id}, \
         \"round_id\": 0, \"node_id\": 2, \"edges\": [{edges}]}}\n"
    )
}

fn origin_edge(alpha: &str, beta: i64, pairs: u32, lost: u32) -> String {
    format!("{{\"dst\": 5, \"alpha\": {alpha}, \"beta\": {beta}, \"pairs\": {pairs}, \"lost\": {lost}}}")
}

#[test]
fn the_origins_line_starts_at_the_window_and_bounds_nothing() {
    let text = origin_line(4, &origin_edge("0.0000023000", -123_456_789, 4_900, 3));
    let file = read_windows("probe_windows_node2.jsonl", text.as_bytes());
    assert!(file.foreign && file.damaged.is_empty());
    let window = &file.windows[0];
    assert_eq!((window.node, window.window_id, window.round), (NodeId(2), 4, Some(0)));
    let record = &window.edges[0];
    assert_eq!(record.edge, Edge { src: NodeId(2), dst: NodeId(5) });
    let fit = record.fits[0].unwrap();
    assert_eq!((fit.mid, fit.offset.as_nanos()), (window.start, -123_456_789));
    assert!((fit.skew_ppb - 2_300.0).abs() < 1e-9);
    assert_eq!((fit.bound.lo.as_nanos(), fit.bound.hi), (i64::MIN, Span::MAX));
    assert_eq!(fit.skew_bound_ppb, (-5e8, 5e8));
    assert!(fit.sigma_ns > 0.0 && fit.sigma_ns.is_finite());
    assert_eq!((record.counts.complete, record.counts.lost_forward), (4_900, 3));
}

#[test]
fn a_line_of_zeros_is_a_line_only_if_the_edge_never_says_otherwise() {
    let zero = |pairs| origin_line(0, &origin_edge("0.0000000000", 0, pairs, 0));
    let read = |text: &str| {
        let file = read_windows("node2", text.as_bytes());
        file.windows.iter().map(|window| window.edges[0].fits[0].map(|fit| fit.offset)).collect::<Vec<_>>()
    };
    assert_eq!(read(&zero(11)), [Err(NoFit::TooFewExchanges(11))]);
    assert_eq!(read(&zero(4_000)), [Ok(Span::ZERO)]);
    let other = origin_line(1, &origin_edge("1e-9", 70, 4_000, 0));
    assert_eq!(read(&(zero(4_000) + &other)), [Err(NoFit::OneDirection), Ok(Span::from_nanos(70))]);
}

#[test]
fn the_origin_counts_losses_from_the_start_of_the_run() {
    let lost = [3, 3, 10, 2].map(|lost| origin_line(0, &origin_edge("1e-9", 1, 99, lost))).concat();
    let counts: Vec<_> =
        read_windows("node2", lost.as_bytes()).windows.iter().map(|w| w.edges[0].counts.lost_forward).collect();
    assert_eq!(counts, [3, 0, 7, 2]);
}

#[test]
fn the_node_is_named_by_the_line_the_header_or_the_file() {
    let nameless = "{\"window_start_ns\":1,\"window_end_ns\":2,\"edges\":[]}\n";
    let node = |name: &str, text: &str| read_windows(name, text.as_bytes()).windows.first().map(|window| window.node.0);
    assert_eq!(node("windows-node12.jsonl", nameless), Some(12));
    assert_eq!(node("windows-node12.jsonl", &format!("{{\"meta\":true,\"node_id\":4}}\n{nameless}")), Some(4));
    assert_eq!(node("windows.jsonl", nameless), None);
    let damaged = read_windows("windows.jsonl", nameless.as_bytes()).damaged;
    assert!(damaged[0].to_string().contains("the node is given neither"), "{}", damaged[0]);
    assert_eq!(node_of_name("node7/probe_windows_node03.jsonl"), Some(NodeId(3)));
    assert_eq!(node_of_name("node.jsonl"), None);
}

#[test]
fn damaged_lines_are_numbered_and_passed_over() {
    let good = origin_line(0, "");
    let text = format!(
        "{good}not json\n\n{good}{{\"window_start_ns\":9,\"window_end_ns\":1,\"edges\":[]}}\n{}{{\"window_sta",
        origin_line(0, &origin_edge("nan", 1, 99, 0))
    );
    let file = read_windows("node2", text.as_bytes());
    assert_eq!(file.windows.len(), 2);
    let lines: Vec<_> = file.damaged.iter().map(|line| (line.line, line.damage == Damage::CutOff)).collect();
    assert_eq!(lines, [(2, false), (5, false), (6, false), (7, true)]);
    assert_eq!(file.damaged[1].to_string(), "line 5: the window ends before it starts");
}

#[test]
fn a_stepped_edge_shows_the_origin_its_better_half() {
    let part = |start, points: u32, offset_ns| {
        Ok(EdgeFit {
            start: HostInstant::from_nanos_since_epoch(start),
            end: HostInstant::from_nanos_since_epoch(start + 2_000),
            mid: HostInstant::from_nanos_since_epoch(start + 1_000_000_000),
            offset: Span::from_nanos(offset_ns),
            skew_ppb: 1_000.0,
            bound: Interval { lo: Span::ZERO, hi: Span::from_nanos(9_000) },
            skew_bound_ppb: (0.0, 2_000.0),
            sigma_ns: 1.0,
            rtt_min: Span::from_nanos(9),
            points_forward: points,
            points_reverse: points,
            degraded: false,
        })
    };
    let window = NodeWindow {
        node: NodeId(0),
        window_id: 0,
        round: None,
        start: HostInstant::from_nanos_since_epoch(0),
        end: HostInstant::from_nanos_since_epoch(4_000_000_000),
        edges: vec![EdgeRecord::new(
            Edge { src: NodeId(0), dst: NodeId(1) },
            vec![part(0, 10, 5), part(2_000_000_000, 20, 7_000)],
        )],
    };
    let row: serde_json::Value = serde_json::from_str(&encode_window(&window)).unwrap();
    let edge = &row["edges"][0];
    // A microsecond a second, three seconds before the middle of the second half.
    assert_eq!((edge["alpha"].as_f64(), edge["beta"].as_i64()), (Some(1e-6), Some(4_000)));
    assert_eq!(edge["parts"].as_array().map(Vec::len), Some(2));
}
