//! Exchanges of batches that split keys, against what they are for.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rankscope_dispatch::movement::{self, ElementType, proof};
use rankscope_dispatch::{Batch, Direction, Exchange, RankExchange, Rows, Shard, SplitBatch, SplitTask, TensorName, Traffic};
use rankscope_time::Rank;

const ROWS: Rows = Rows { hidden_q: 4, hidden_kv: 2, lse: 2, element_bytes: 4 };

/// Rank and row of every token of every document.
fn places(batch: &SplitBatch) -> Vec<Vec<(u32, u32)>> {
    let mut next = vec![0; batch.world_size() as usize];
    let mut place = |rank: u32| {
        next[rank as usize] += 1;
        (rank, next[rank as usize] - 1)
    };
    let tokens = |shards: &[Shard]| -> Vec<u32> {
        shards.iter().flat_map(|shard| std::iter::repeat_n(shard.linear.0, shard.tokens as usize)).collect()
    };
    batch.documents().map(|(shards, _)| tokens(shards).into_iter().map(&mut place).collect()).collect()
}

fn keys(task: &SplitTask) -> std::ops::Range<u32> {
    task.keys.clone()
}

fn queries(task: &SplitTask) -> std::ops::Range<u32> {
    task.queries.clone()
}

/// What ranks send each other, by tokens: each once to every rank that has a task for it.
fn traffic(batch: &SplitBatch, query_bytes: u64, key_bytes: u64) -> Traffic {
    let mut sent = BTreeSet::new();
    for task in batch.tasks() {
        sent.extend(queries(task).map(|token| (task.document, token, task.rank, true)));
        sent.extend(keys(task).map(|token| (task.document, token, task.rank, false)));
    }
    let places = places(batch);
    let send = |(document, token, to, is_query): (usize, u32, Rank, bool)| {
        (Rank(places[document][token as usize].0), to, if is_query { query_bytes } else { key_bytes })
    };
    Traffic::new(batch.world_size(), sent.into_iter().map(send))
}

/// Rows that say where they are from: the rank, then the row, as whole numbers.
fn named(exchange: &Exchange) -> Vec<Vec<Vec<u8>>> {
    let tensor = |rank: Rank, row_bytes: u64, rows: u64| -> Vec<u8> {
        let name = |row: u64| [rank.0 as u8, row as u8].into_iter().cycle().take(row_bytes as usize);
        (0..rows).flat_map(name).collect()
    };
    let rank = |part: &RankExchange| {
        let tensors = exchange.tensors.iter().zip(&part.input_rows);
        tensors.map(|(shape, rows)| tensor(part.rank, shape.row_bytes, *rows)).collect()
    };
    exchange.ranks.iter().map(rank).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn tasks_get_their_queries_and_keys(batch in crate::batches::split_batch()) {
        let places = places(&batch);
        for direction in [Direction::Forward, Direction::Resend, Direction::OutputGradient] {
            let exchange = Exchange::of_split(&batch, &ROWS, direction).unwrap();
            let arrived = movement::execute(&exchange, ElementType::F32, &named(&exchange)).unwrap();
            for (rank, tensors) in arrived.iter().enumerate() {
                let tasks = || batch.tasks().iter().filter(|task| task.rank.0 as usize == rank);
                for (tensor, (shape, bytes)) in exchange.tensors.iter().zip(tensors).enumerate() {
                    let range = if tensor == 0 { queries } else { keys };
                    let expected: Vec<u8> = tasks()
                        .flat_map(|task| range(task).map(|token| places[task.document][token as usize]))
                        .flat_map(|(rank, row)| [rank as u8, row as u8].into_iter().cycle().take(shape.row_bytes as usize))
                        .collect();
                    prop_assert_eq!(bytes, &expected, "{} of rank {}", shape.name, rank);
                }
            }
        }
    }

    #[test]
    fn what_is_sent_is_counted_by_tokens(batch in crate::batches::split_batch()) {
        for direction in Direction::ALL {
            let exchange = Exchange::of_split(&batch, &ROWS, direction).unwrap();
            exchange.validate().unwrap();
            let key_bytes: u64 = exchange.tensors[1..].iter().map(|tensor| tensor.wire_row_bytes).sum();
            let there = traffic(&batch, exchange.tensors[0].wire_row_bytes, key_bytes);
            prop_assert_eq!(exchange.traffic(), if direction.to_attention() { there } else { there.reversed() });
        }
    }

    #[test]
    fn gradients_of_ones_count_the_tasks(batch in crate::batches::split_batch()) {
        let exchange = Exchange::of_split(&batch, &ROWS, Direction::Backward).unwrap();
        let ones = |part: &RankExchange| {
            let tensors = exchange.tensors.iter().zip(&part.input_rows);
            tensors.map(|(shape, rows)| 1_f32.to_le_bytes().repeat((shape.row_bytes / 4 * rows) as usize)).collect()
        };
        let inputs: Vec<Vec<Vec<u8>>> = exchange.ranks.iter().map(ones).collect();
        let arrived = movement::execute(&exchange, ElementType::F32, &inputs).unwrap();
        for (document, places) in places(&batch).iter().enumerate() {
            for (token, &(rank, row)) in (0..).zip(places) {
                for (tensor, shape) in exchange.tensors.iter().enumerate() {
                    let range = if tensor == 0 { queries } else { keys };
                    let of_token = |task: &&SplitTask| task.document == document && range(task).contains(&token);
                    let uses = batch.tasks().iter().filter(of_token).count() as f32;
                    let bytes = shape.row_bytes as usize;
                    let row = &arrived[rank as usize][tensor][row as usize * bytes..][..bytes];
                    prop_assert_eq!(row, uses.to_le_bytes().repeat(bytes / 4), "{} of token {}", shape.name, token);
                }
            }
        }
    }

    #[test]
    fn a_rank_alone_makes_the_same_part(batch in crate::batches::split_batch(), direction in 0..5_usize) {
        let direction = Direction::ALL[direction];
        let exchange = Exchange::of_split(&batch, &ROWS, direction).unwrap();
        for part in &exchange.ranks {
            prop_assert_eq!(part, &RankExchange::of_split(&batch, &ROWS, direction, part.rank).unwrap());
        }
    }

    /// Two ways to the same exchange, where contexts are whole. Tasks without queries have contexts only unsplit.
    #[test]
    fn whole_contexts_move_as_they_do_unsplit(drawn in crate::batches::batch()) {
        let mut batch = Batch::new(drawn.world_size()).unwrap();
        for document in drawn.documents() {
            batch.push(&document.iter().copied().filter(|shard| shard.tokens > 0).collect::<Vec<_>>()).unwrap();
        }
        let whole = SplitBatch::of_whole(&batch);
        for direction in Direction::ALL {
            let (split, known) = (Exchange::of_split(&whole, &ROWS, direction).unwrap(), Exchange::new(&batch, &ROWS, direction).unwrap());
            prop_assert_eq!(&split.tensors, &known.tensors);
            prop_assert_eq!(split.traffic(), known.traffic());
            let inputs = named(&known);
            let arrived = [&split, &known].map(|exchange| movement::execute(exchange, ElementType::I32, &inputs).unwrap());
            let rows = batch.linear_tokens();
            for (rank, rows) in rows.iter().enumerate() {
                for (tensor, shape) in known.tensors.iter().enumerate() {
                    // What returns is compared in its first plane, where it is joined.
                    let all = arrived[1][rank][tensor].len();
                    let bytes = if direction.to_attention() { all } else { (rows * shape.row_bytes) as usize };
                    prop_assert_eq!(&arrived[0][rank][tensor][..bytes], &arrived[1][rank][tensor][..bytes]);
                }
            }
        }
    }
}

#[test]
fn outputs_that_are_merged_need_their_log_sum_exp() {
    let batch = two_halves();
    let without = Rows { lse: 0, ..ROWS };
    assert!(Exchange::of_split(&batch, &without, Direction::Output).is_err());
    let broken = Rows { hidden_q: 5, ..ROWS };
    assert!(Exchange::of_split(&batch, &broken, Direction::Output).is_err());
    let exchange = Exchange::of_split(&batch, &ROWS, Direction::OutputGradient).unwrap();
    assert_eq!((exchange.tensors[0].name, exchange.tensors[0].row_bytes), (TensorName::OutputGradient, 4 * (4 + 2 + 2)));
}

/// A document whose later half takes the keys of the earlier one on another rank.
fn two_halves() -> SplitBatch {
    let mut layout = Batch::new(2).expect("two ranks");
    let shard = |rank| Shard { linear: Rank(rank), attention: Rank(rank), tokens: 4 };
    layout.push(&[shard(0), shard(1)]).expect("ranks in range");
    let task = |queries, keys, rank| SplitTask { document: 0, queries, keys, rank: Rank(rank) };
    SplitBatch::new(&layout, vec![task(0..4, 0..4, 0), task(4..8, 0..4, 0), task(4..8, 4..8, 1)]).expect("every score once")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// What `simulate` says of a plan, and that it would not say so of another.
    #[test]
    fn the_proof_holds_and_notices_a_changed_byte(
        batch in crate::batches::split_batch(),
        direction in 0..5_usize,
        element in prop::sample::select(&[ElementType::F64, ElementType::F32, ElementType::F16, ElementType::Bf16][..]),
        at in any::<prop::sample::Index>(),
    ) {
        let direction = Direction::ALL[direction];
        let rows = Rows { lse: 0, element_bytes: element.bytes() as u32, ..ROWS }.with_lse_of(2);
        let exchange = Exchange::of_split(&batch, &rows, direction).unwrap();
        let inputs = proof::inputs(&batch, &exchange, direction, element);
        let mut arrived = movement::execute(&exchange, element, &inputs).unwrap();
        let check = |arrived: &[Vec<Vec<u8>>]| proof::verify(&batch, &exchange, direction, element, &inputs, arrived);
        prop_assert_eq!(check(&arrived), Ok(()));
        // The first plane, in which everything counts.
        let tokens = batch.layout().linear_tokens();
        let mut bytes: Vec<&mut u8> = Vec::new();
        for (rank, tensors) in arrived.iter_mut().enumerate() {
            for (shape, tensor) in exchange.tensors.iter().zip(tensors) {
                let all = tensor.len();
                let counts = if direction.to_attention() { all } else { (tokens[rank] * shape.row_bytes) as usize };
                // Of log-sum-exps, which have 32 bits beside elements of any size, the lowest bytes may be any as well.
                let beside = if direction == Direction::Output { 2 * Rows::lse_bytes(element.bytes() as u32) as usize } else { 0 };
                let row = shape.row_bytes as usize;
                let own = tensor[..counts].iter_mut().enumerate().filter(|(place, _)| place % row < row - beside);
                bytes.extend(own.map(|(_, byte)| byte));
            }
        }
        prop_assume!(!bytes.is_empty());
        let place = at.index(bytes.len());
        *bytes[place] ^= 0x41;
        // Of what was rounded the lowest bytes may be any.
        let rounded = direction == Direction::Output && element.bytes() > 2;
        prop_assert!(rounded || check(&arrived).is_err());
    }
}
