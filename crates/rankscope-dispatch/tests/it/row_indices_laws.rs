//! Row numbers, carried out by nothing but them, put every token where its attention is computed, and bring it back.

#![expect(clippy::unwrap_used, reason = "a law that cannot be set up has failed")]

use proptest::prelude::*;
use rankscope_dispatch::export::{RowIndices, RowMoves};
use rankscope_dispatch::{Batch, Error};
use rankscope_time::Rank;

/// A token: its document and its place there.
type Token = (u32, u32);

fn ranks(batch: &Batch) -> Vec<RowIndices> {
    (0..batch.world_size()).map(|rank| RowIndices::new(batch, Rank(rank)).unwrap()).collect()
}

/// What every rank receives of `tensors`, by nothing but the counts.
fn exchanged(tensors: &[Vec<Token>], moves: &[&RowMoves]) -> Vec<Vec<Token>> {
    let sent: Vec<Vec<Token>> = tensors
        .iter()
        .zip(moves)
        .map(|(rows, moves)| moves.send_rows.iter().map(|row| rows[*row as usize]).collect())
        .collect();
    let start = |rank: usize, to: usize| moves[rank].send_counts[..to].iter().sum::<u64>() as usize;
    (0..moves.len())
        .map(|to| (0..moves.len()).flat_map(|from| sent[from][start(from, to)..start(from, to + 1)].to_vec()).collect())
        .collect()
}

/// What every rank receives where rows that stay are last in both buffers: those that cross, and then what was copied.
fn kept(tensors: &[Vec<Token>], moves: &[&RowMoves]) -> Vec<Vec<Token>> {
    let received = exchanged(tensors, moves);
    let ranks = received.into_iter().zip(tensors).zip(moves);
    let with_kept = |((mut received, rows), moves): ((Vec<Token>, &Vec<Token>), &&RowMoves)| {
        let crossing = moves.send_rows.len() - moves.kept as usize;
        received.extend(moves.send_rows[crossing..].iter().map(|row| rows[*row as usize]));
        received
    };
    ranks.map(with_kept).collect()
}

fn laid_out(received: &[Token], moves: &RowMoves) -> Vec<Token> {
    moves.receive_rows.iter().map(|row| received[*row as usize]).collect()
}

fn tokens(places: &rankscope_dispatch::export::TokenPlaces) -> Vec<Token> {
    places.documents.iter().copied().zip(places.positions.iter().copied()).collect()
}

proptest! {
    #[test]
    fn every_task_finds_its_queries_and_all_keys_up_to_their_end(batch in crate::batches::batch()) {
        let ranks = ranks(&batch);
        let held: Vec<Vec<Token>> = ranks.iter().map(|rank| tokens(&rank.held)).collect();
        let queries = exchanged(&held, &ranks.iter().map(|rank| &rank.queries).collect::<Vec<_>>());
        let keys = exchanged(&held, &ranks.iter().map(|rank| &rank.keys).collect::<Vec<_>>());
        for (at, rank) in ranks.iter().enumerate() {
            prop_assert_eq!(rank.queries.receive_counts.iter().sum::<u64>() as usize, queries[at].len());
            prop_assert_eq!(rank.queries.rows as usize, held[at].len());
            let (queries, keys) = (laid_out(&queries[at], &rank.queries), laid_out(&keys[at], &rank.keys));
            prop_assert_eq!(&queries, &tokens(&rank.computed));
            let tasks = rank.tasks.cu_seqlens_q.windows(2).zip(rank.tasks.cu_seqlens_kv.windows(2));
            for (own, context) in tasks {
                let (own, context) = (&queries[own[0] as usize..own[1] as usize], &keys[context[0] as usize..context[1] as usize]);
                if let Some(last) = own.last() {
                    prop_assert_eq!(context, (0..=last.1).map(|place| (last.0, place)).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn rows_that_stay_are_in_no_message_and_arrive(batch in crate::batches::batch()) {
        let ranks = ranks(&batch);
        let held: Vec<Vec<Token>> = ranks.iter().map(|rank| tokens(&rank.held)).collect();
        for of in [|rank: &RowIndices| rank.queries.clone(), |rank: &RowIndices| rank.keys.clone()] {
            let moves: Vec<RowMoves> = ranks.iter().map(of).collect();
            let apart: Vec<RowMoves> = (0..).zip(&moves).map(|(rank, moves)| moves.clone().kept_last(Rank(rank))).collect();
            for (rank, (moves, apart)) in moves.iter().zip(&apart).enumerate() {
                prop_assert_eq!((apart.send_counts[rank], apart.receive_counts[rank]), (0, 0));
                prop_assert_eq!(apart.kept, moves.send_counts[rank]);
                prop_assert_eq!(apart.send_rows.len() as u64, apart.send_counts.iter().sum::<u64>() + apart.kept);
                prop_assert_eq!(&apart.clone().kept_last(Rank(rank as u32)), apart);
            }
            let whole = exchanged(&held, &moves.iter().collect::<Vec<_>>());
            let parts = kept(&held, &apart.iter().collect::<Vec<_>>());
            for rank in 0..moves.len() {
                prop_assert_eq!(laid_out(&whole[rank], &moves[rank]), laid_out(&parts[rank], &apart[rank]));
            }
        }
    }

    #[test]
    fn a_query_is_sent_once_and_a_key_once_to_each_rank(batch in crate::batches::batch()) {
        for rank in ranks(&batch) {
            let mut rows = rank.queries.send_rows.clone();
            rows.sort_unstable();
            prop_assert_eq!(rows, (0..rank.queries.rows).collect::<Vec<_>>());
            let mut start = 0;
            for count in &rank.keys.send_counts {
                let message = &rank.keys.send_rows[start..start + *count as usize];
                let mut once = message.to_vec();
                once.sort_unstable();
                once.dedup();
                prop_assert_eq!(once.len(), message.len());
                start += *count as usize;
            }
        }
    }
}

#[test]
fn a_rank_that_there_is_not_is_refused() {
    let batch = Batch::new(2).unwrap();
    assert_eq!(RowIndices::new(&batch, Rank(2)), Err(Error::NoSuchRank { rank: Rank(2), world_size: 2 }));
}
