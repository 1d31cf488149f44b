use proptest::prelude::*;

use super::super::Damage;
use super::*;
use crate::Interval;

fn estimates() -> impl Strategy<Value = NodeEstimate> {
    let times = -4_000_000_000_000_000_000..4_000_000_000_000_000_000i64;
    let spans = -4_000_000_000_000_000i64..4_000_000_000_000_000;
    let floats = -1e6..1e6f64;
    (any::<u32>(), times, spans, floats.clone(), prop::option::of((0..1_000_000i64, 0..1_000_000i64)), floats, any::<bool>())
        .prop_map(|(node, at, offset_ns, skew_ppb, bound, sigma_ns, degraded)| NodeEstimate {
            node: NodeId(node),
            at: HostInstant::from_nanos_since_epoch(at),
            offset: Span::from_nanos(offset_ns),
            skew_ppb,
            bound: match bound {
                Some((below, above)) => {
                    Interval { lo: Span::from_nanos(offset_ns - below), hi: Span::from_nanos(offset_ns + above) }
                }
                None => Interval { lo: Span::from_nanos(i64::MIN), hi: Span::MAX },
            },
            skew_bound_ppb: bound.map_or((-5e8, 5e8), |_| (skew_ppb - 1.0, skew_ppb + 1.0)),
            sigma_ns: sigma_ns.abs(),
            residual_ns: sigma_ns / 3.0,
            degraded,
        })
}

fn rows() -> impl Strategy<Value = OffsetRow> {
    (any::<u64>(), any::<u64>(), 0..60_000_000_000i64, estimates(), any::<(bool, bool)>()).prop_map(
        |(round, window_id, window_ns, estimate, (reachable, over_tcp))| OffsetRow {
            round,
            window_id,
            window: Span::from_nanos(window_ns),
            node: estimate.node,
            estimate: reachable.then_some(estimate),
            over_tcp,
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_exactly(rows in prop::collection::vec(rows(), 0..6)) {
        let text: String = rows.iter().map(encode_offset).collect();
        let file = read_offsets(text.as_bytes());
        prop_assert_eq!(file.damaged, []);
        prop_assert_eq!(file.rows, rows);
    }

    #[test]
    fn the_middle_of_the_window_is_where_the_offset_holds(row in rows()) {
        let value: serde_json::Value = serde_json::from_str(&encode_offset(&row)).unwrap();
        let ns = |key: &str| value[key].as_i64();
        if let Some(estimate) = row.estimate {
            let (start, end) = (ns("window_start_ns").unwrap(), ns("window_end_ns").unwrap());
            prop_assert_eq!(start + (end - start) / 2, estimate.at.nanos_since_epoch());
            prop_assert_eq!(ns("offset_ns"), Some(estimate.offset.as_nanos()));
        } else {
            prop_assert_eq!(value["reachable"].as_bool(), Some(false));
        }
    }
}

#[test]
fn a_header_goes_round() {
    let header = OffsetsHeader {
        nodes: vec![NodeOrigin { node: NodeId(4), start_walltime_ns: Some(1_700_000_000_000_000_001), start_gpu_ns: None }],
        reference: Some(NodeId(0)),
        run_id: Some("r".to_owned()),
    };
    assert_eq!(read_offsets(encode_offsets_header(&header).as_bytes()).header, Some(header));
}

#[test]
fn rows_of_the_origin_and_its_older_ones() {
    let text = "{\"meta\": true, \"nodes\": [{\"node_id\": 0}, {\"node_id\": 1, \"start_gpu_ns\": 5}]}\n\
        {\"round_id\": 7, \"window_id\": 3, \"window_start_ns\": 1000, \"window_end_ns\": 5000, \"node_id\": 1, \
         \"offset_ns\": 1.00001e+09, \"drift_ppm\": 2.5, \"residual\": 12.5, \"reachable\": true, \"converged\": true}\n\
        {\"round_id\": 7, \"window_start_ns\": 0, \"window_end_ns\": 0, \"node_id\": 2, \"offset_ns\": 0, \"reachable\": false}\n\
        {\"midpoint_sys_ns\": 42, \"offset_ns\": -5, \"node_id\": 3}\n\
        {\"midpoint_sys_ns\": 43, \"offset_ns\": -6, \"node_id\": 3}\n\
        {\"offset_ns\": -6, \"node_id\": 3}\n\
        {\"offset_ns\": -6, \"no";
    let file = read_offsets(text.as_bytes());
    assert_eq!(file.header.unwrap().nodes[1].start_gpu_ns, Some(5));
    let seen: Vec<_> = file
        .rows
        .iter()
        .map(|row| (row.node.0, row.round, row.estimate.map(|e| (e.at.nanos_since_epoch(), e.offset.as_nanos(), e.skew_ppb))))
        .collect();
    let expected =
        [(1, 7, Some((3_000, 1_000_010_000, 2_500.0))), (2, 7, None), (3, 0, Some((42, -5, 0.0))), (3, 1, Some((43, -6, 0.0)))];
    assert_eq!(seen, expected);
    assert_eq!(file.damaged.len(), 2);
    assert_eq!((file.damaged[0].line, file.damaged[1].damage == Damage::CutOff), (6, true));
}

#[test]
fn a_bound_of_days_is_none() {
    let span = Span::from_nanos;
    let estimate = NodeEstimate {
        node: NodeId(1),
        at: HostInstant::from_nanos_since_epoch(0),
        offset: span(5),
        skew_ppb: 0.0,
        bound: Interval { lo: span(-(1 << 50)), hi: span(9) },
        skew_bound_ppb: (-1.0, 1.0),
        sigma_ns: 1.0,
        residual_ns: 0.0,
        degraded: false,
    };
    let solution = Solution { nodes: vec![estimate], unreachable: vec![NodeId(2)], ..Solution::default() };
    let rows: Vec<_> = OffsetRow::of_solution(7, span(4), &solution).collect();
    assert_eq!(rows[0].estimate.map(|estimate| estimate.bound), Some(Interval { lo: span(i64::MIN), hi: span(9) }));
    assert_eq!((rows[1].node, rows[1].estimate), (NodeId(2), None));
}
