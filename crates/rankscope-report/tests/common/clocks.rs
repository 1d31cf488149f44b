//! The clocks of nodes over a run, as the solver would find them.

use rankscope_document::{ClockDocument, ClockPoint, NodeClock, Note, NoteLevel, PairAgreement};

fn point(round: u64, offset_ns: i64) -> ClockPoint {
    ClockPoint {
        round,
        at_ns: 1_700_000_000_000_000_000 + round as i64 * 4_000_000_000,
        elapsed_s: round as f64 * 4.0,
        offset_ns,
        skew_ppb: 12_345.678,
        bound_lo_ns: Some(offset_ns - 191),
        bound_hi_ns: Some(offset_ns + 181),
        sigma_ns: Some(6.0),
        smoothed_ns: Some(offset_ns + 3),
        smoothed_sigma_ns: Some(2.0),
        residual_ns: 3.2,
        stray_ns: offset_ns % 17,
        degraded: round == 3,
        step: round == 5,
    }
}

/// One that is off by much is suspect; one without a surplus is in no loop.
fn pair(first: u32, second: u32, surplus_ns: Option<f64>) -> PairAgreement {
    let suspect = surplus_ns.is_some_and(|surplus| surplus.abs() > 100.0);
    PairAgreement { first, second, measured: 18, surplus_ns, chance_ns: 3.1, suspect }
}

/// Node by node further off, with a degraded round and a step.
pub(crate) fn document(rounds: u64, nodes: u32) -> ClockDocument {
    let clock = |node: u32| NodeClock {
        node,
        unreachable: node % 2,
        path_sigma_ns: Some(4.0),
        points: (0..rounds).map(|round| point(round, i64::from(node) * 5_000_034_692 + round as i64 * 49_382)).collect(),
    };
    ClockDocument {
        schema: 1,
        rankscope_version: "0.1.0".to_owned(),
        title: "runs/a".to_owned(),
        reference: Some(0),
        rounds: rounds as u32,
        notes: vec![Note { level: NoteLevel::Caution, text: "node 2 sent no window in 1 of 9 rounds".to_owned() }],
        nodes: (0..nodes).map(clock).collect(),
        pairs: vec![pair(0, 1, Some(-8.4)), pair(0, 2, Some(412.4)), pair(1, 2, None)],
    }
}
