//! Every function answers what its rule, written down a second time entry by entry, says.

use proptest::prelude::*;
use rankscope_dispatch::Rows;
use rankscope_dispatch::alltoall::{PlannerOptions, compute_e2e_fa2a_metadata, from_planner_output};
use rankscope_dispatch::metadata::{Compat, RawDispatch, compute_metadata};
use rankscope_dispatch::properties::rules;

use crate::batches::{batches, replicas};
use crate::dense::dispatches;

fn rows() -> impl Strategy<Value = Rows> {
    (0..40_u32, 0..5_u32, 0..4_u32, prop::sample::select(vec![1, 2, 4, 8])).prop_map(|(hidden_q, keys, lse, element_bytes)| {
        // Keys of a planner's output are whole multiples of 16 bytes.
        Rows { hidden_q, hidden_kv: keys * 16 / element_bytes, lse, element_bytes }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn padded_dispatches_follow_their_rule((lengths, dispatch) in dispatches()) {
        prop_assert_eq!(compute_metadata(&lengths, &dispatch).unwrap(), rules::compute_metadata(&lengths, &dispatch).unwrap());
    }

    #[test]
    fn whole_dispatches_follow_their_rule(batch in batches(6)) {
        let copies = replicas(&batch);
        let raw = RawDispatch::new(&batch, copies).unwrap();
        prop_assert_eq!(&raw, &rules::raw_dispatch(&batch, copies).unwrap());
        prop_assert_eq!(raw.metadata(Compat::Exact).unwrap(), rules::whole(&raw).unwrap());
    }

    #[test]
    fn bytes_follow_their_rule(batch in batches(6), rows in rows()) {
        let raw = RawDispatch::new(&batch, replicas(&batch)).unwrap();
        let logical = compute_e2e_fa2a_metadata(&raw, &rows).unwrap();
        prop_assert_eq!(logical, rules::compute_e2e_fa2a_metadata(&raw, &rows).unwrap());
        for (is_pipeline_tick, is_resend_qkv) in [(false, false), (true, false), (false, true)] {
            let options = PlannerOptions { is_pipeline_tick, is_resend_qkv };
            let planned = from_planner_output(&batch, &rows, options).unwrap();
            prop_assert_eq!(planned, rules::from_planner_output(&batch, &rows, options));
        }
    }
}
