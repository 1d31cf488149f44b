//! What is handed to libraries: the calls of all ranks put together must be the exchange.

#![expect(clippy::unwrap_used, reason = "a law that cannot be set up has failed")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use rankscope_dispatch::export::{Alltoallv, GroupCall, PutList, TaskLengths, UNIT_BYTES, group_calls};
use rankscope_dispatch::{Batch, Direction, Error, Exchange, Message, RankExchange, Rows, Shard, causal_cells};
use rankscope_time::Rank;

const ROWS: Rows = Rows { hidden_q: 24, hidden_kv: 8, lse: 1, element_bytes: 2 };

fn exchange() -> impl Strategy<Value = Exchange> {
    (crate::batches::batch(), 0..Direction::ALL.len())
        .prop_map(|(batch, direction)| Exchange::new(&batch, &ROWS, Direction::ALL[direction]).unwrap())
}

proptest! {
    #[test]
    fn counts_agree_between_ranks_and_displacements_tile(exchange in exchange()) {
        let world_size = exchange.world_size();
        let rows: Vec<_> = exchange.ranks.iter().map(|part| Alltoallv::new(part, world_size)).collect();
        for (i, row) in rows.iter().enumerate() {
            for (j, other) in rows.iter().enumerate() {
                prop_assert_eq!(row.send_counts[j], other.receive_counts[i]);
            }
            for (counts, displacements) in [
                (&row.send_counts, &row.send_displacements),
                (&row.receive_counts, &row.receive_displacements),
            ] {
                let ends = counts.iter().scan(0, |end, count| Some(std::mem::replace(end, *end + count)));
                prop_assert_eq!(displacements, &ends.collect::<Vec<_>>());
            }
            let units = row.narrowed(UNIT_BYTES).unwrap();
            prop_assert!(units.send_counts.iter().zip(&row.send_counts).all(|(units, bytes)| *units as u64 * UNIT_BYTES == *bytes));
        }
    }

    #[test]
    fn every_send_of_a_group_meets_its_receive(exchange in exchange()) {
        let calls: Vec<_> = exchange.ranks.iter().map(|part| group_calls(part, exchange.world_size())).collect();
        let mut met = BTreeMap::new();
        for (rank, calls) in calls.iter().enumerate() {
            for call in calls {
                match *call {
                    GroupCall::Send { peer, bytes, .. } => *met.entry((rank, peer.0 as usize)).or_insert(0) += bytes as i64,
                    GroupCall::Receive { peer, bytes, .. } => *met.entry((peer.0 as usize, rank)).or_insert(0) -= bytes as i64,
                }
            }
        }
        prop_assert!(met.values().all(|bytes| *bytes == 0));
        prop_assert_eq!(met.len(), exchange.traffic().pairs().len());
        // No two ranks send to the same rank in the same place of their lists, where all pairs have bytes.
        let sends = |calls: &[GroupCall]| calls.iter().filter(|call| matches!(call, GroupCall::Send { .. })).map(|call| call.peer()).collect();
        let rounds: Vec<Vec<Rank>> = calls.iter().map(|calls| sends(calls)).collect();
        if rounds.iter().all(|sends| sends.len() == rounds.len()) {
            for round in 0..rounds.len() {
                let mut peers: Vec<_> = rounds.iter().map(|sends| sends[round]).collect();
                peers.sort_unstable();
                peers.dedup();
                prop_assert_eq!(peers.len(), rounds.len());
            }
        }
    }

    #[test]
    fn what_is_put_is_what_is_awaited(exchange in exchange()) {
        let lists: Vec<_> = exchange.ranks.iter().map(PutList::new).collect();
        for (part, list) in exchange.ranks.iter().zip(&lists) {
            for put in &list.puts {
                let peer = &exchange.ranks[put.peer.0 as usize];
                prop_assert!(put.remote_offset + put.bytes <= peer.receive_bytes && put.peer != part.rank);
            }
            for wait in &list.waits {
                let arriving = lists[wait.peer.0 as usize].puts.iter().filter(|put| put.peer == part.rank);
                prop_assert_eq!(arriving.map(|put| put.signal_value).sum::<u64>(), wait.signal_value);
            }
            let bytes = list.puts.iter().chain(&list.own).map(|put| put.bytes).sum::<u64>();
            prop_assert_eq!(bytes, part.send_bytes);
            prop_assert_eq!(list.waits.len() + usize::from(list.own.is_some()), part.receives.len());
        }
    }

    #[test]
    fn tasks_are_as_long_as_the_rows_that_arrive(batch in crate::batches::batch()) {
        let exchange = Exchange::new(&batch, &ROWS, Direction::Forward).unwrap();
        let cells = batch.cells().unwrap();
        for ((part, tasks), cells) in exchange.ranks.iter().zip(TaskLengths::of_ranks(&batch)).zip(cells) {
            prop_assert_eq!(tasks.cu_seqlens_q.last(), Some(&part.output_rows[0]));
            prop_assert_eq!(tasks.cu_seqlens_kv.last(), Some(&part.output_rows[1]));
            let lengths = |ends: &[u64]| ends.windows(2).map(|ends| ends[1] - ends[0]).collect::<Vec<_>>();
            let (queries, keys) = (lengths(&tasks.cu_seqlens_q), lengths(&tasks.cu_seqlens_kv));
            prop_assert_eq!(queries.iter().copied().max().unwrap_or(0), tasks.max_seqlen_q);
            prop_assert_eq!(keys.iter().copied().max().unwrap_or(0), tasks.max_seqlen_kv);
            prop_assert_eq!(queries.iter().zip(&keys).map(|(q, k)| causal_cells(*q, *k)).sum::<u64>(), cells);
            prop_assert_eq!(tasks.narrowed().unwrap().cu_seqlens_q.len(), tasks.cu_seqlens_q.len());
        }
    }
}

#[test]
fn counts_past_32_bits_are_refused_with_the_unit_that_fits() {
    let message = |bytes| Message { peer: Rank(0), at: 0, peer_at: 0, bytes };
    let part = |bytes| RankExchange {
        rank: Rank(0),
        sends: vec![message(bytes)],
        receives: vec![message(bytes)],
        send_bytes: bytes,
        receive_bytes: bytes,
        input_rows: Vec::new(),
        output_rows: Vec::new(),
        pack: Vec::new(),
        unpack: Vec::new(),
        sums_before: Vec::new(),
        sums_after: Vec::new(),
    };
    let row = Alltoallv::new(&part(1 << 31), 1);
    let refused = row.narrowed(1).unwrap_err().to_string();
    assert!(refused.contains("a send count of 2147483648 bytes") && refused.contains("datatype of 16 bytes"), "{refused}");
    assert_eq!(row.narrowed(UNIT_BYTES).unwrap().send_counts, [1 << 27]);
    let refused = Alltoallv::new(&part(1 << 36), 1).narrowed(UNIT_BYTES).unwrap_err().to_string();
    assert!(refused.contains("MPI 4"), "{refused}");
    assert!(matches!(row.narrowed(0), Err(Error::Options { .. })));
}

#[test]
fn lengths_past_32_bits_are_refused() {
    let mut batch = Batch::new(1).unwrap();
    batch.push(&[Shard { linear: Rank(0), attention: Rank(0), tokens: u32::MAX }]).unwrap();
    assert_eq!(TaskLengths::of_ranks(&batch)[0].narrowed(), Err(Error::Tokens { tokens: u64::from(u32::MAX) }));
}
