//! The input arrays of keys and values against each other: which copies exist, and that every query gets its document up to its
//! own end.

use std::collections::BTreeMap;

use super::{Findings, Property, Violation};
use crate::Error;
use crate::metadata::KeyValueMapping;

/// A copy that serves a query: its place among the keys of that query; its rank, slot and number.
type Serving = (i64, [usize; 3]);

/// Everything in which the arrays contradict each other, or hold something where there is no shard or no copy.
///
/// # Errors
/// Those of [`compute_metadata_kv`](crate::metadata::compute_metadata_kv) for arrays that it refuses.
pub fn check_mapping(mapping: &KeyValueMapping<'_>) -> Result<Vec<Violation>, Error> {
    crate::metadata::compute_metadata_kv(mapping, crate::metadata::Compat::Exact)?;
    let mut findings = Findings::default();
    let &[ranks, slots, copies] = mapping.kv_to_q_rank.shape() else { return Ok(Vec::new()) };
    let mut served: BTreeMap<(usize, usize), Vec<Serving>> = BTreeMap::new();
    for rank in 0..ranks {
        let used = mapping.num_seqs.values()[rank];
        findings.expect(Property::Lengths, "num_shards", &[rank], used.clamp(0, slots as i64), used);
        for slot in 0..slots {
            if slot as i64 >= used {
                unused_slot(mapping, rank, slot, &mut findings);
            }
            for copy in 0..copies {
                let at = slot * copies + copy;
                let (pair, place) = (&mapping.kv_to_q_mapping.row(rank)[2 * at..][..2], mapping.kv_to_q_rank.row(rank)[at]);
                match (usize::try_from(pair[0]), usize::try_from(pair[1])) {
                    (Ok(query), Ok(of)) => served.entry((query, of)).or_default().push((place, [rank, slot, copy])),
                    _ => {
                        for (end, &found) in pair.iter().enumerate() {
                            findings.expect(Property::Padding, "kv_to_q_mapping", &[rank, slot, copy, end], -1, found);
                        }
                        findings.expect(Property::Padding, "kv_to_q_rank", &[rank, slot, copy], -1, place);
                    }
                }
            }
        }
    }
    for ((rank, slot), mut shards) in served {
        shards.sort_unstable();
        let mut context = 0_i64;
        for (nth, &(place, [from, of, copy])) in shards.iter().enumerate() {
            findings.expect(Property::Causality, "kv_to_q_rank", &[from, of, copy], nth as i64, place);
            findings.expect(
                Property::Causality,
                "kv_context_size",
                &[from, of],
                context,
                mapping.kv_context_size.row(from)[of],
            );
            context = context.saturating_add(mapping.seq_len.row(from)[of]);
        }
        let (count, tokens) = (mapping.q_to_num_kv_seq.row(rank)[slot], mapping.q_to_num_kv_token.row(rank)[slot]);
        findings.expect(Property::Causality, "q_to_num_kv_seq", &[rank, slot], shards.len() as i64, count);
        findings.expect(Property::Causality, "q_to_num_kv_token", &[rank, slot], context, tokens);
    }
    Ok(findings.found)
}

/// Beyond the shards of a rank there is nothing.
fn unused_slot(mapping: &KeyValueMapping<'_>, rank: usize, slot: usize, findings: &mut Findings) {
    for (what, array, padding) in [
        ("shard_len", mapping.seq_len, 0),
        ("q_dispatch", mapping.q_dispatch, -1),
        ("kv_context_size", mapping.kv_context_size, 0),
        ("q_to_num_kv_token", mapping.q_to_num_kv_token, 0),
    ] {
        findings.expect(Property::Padding, what, &[rank, slot], padding, array.row(rank)[slot]);
    }
    // From a planner's output the original pads this array, and only this one, with -1.
    let found = mapping.q_to_num_kv_seq.row(rank)[slot];
    findings.expect(Property::Padding, "q_to_num_kv_seq", &[rank, slot], found.clamp(-1, 0), found);
}
