//! Exchanges against what they are for: each rank must find, byte for byte, the rows that its part of the plan is about.

#![expect(clippy::unwrap_used, reason = "a law that cannot be set up has failed")]

use proptest::prelude::*;
use rankscope_dispatch::movement::{self, ElementType};
use rankscope_dispatch::{Batch, Contexts, Direction, Exchange, RankExchange, Rows};
use rankscope_time::Rank;

/// Query rows of 8 bytes need padding, output rows of 24 bytes too, key rows of 16 bytes do not.
const ROWS: Rows = Rows { hidden_q: 1, hidden_kv: 2, lse: 2, element_bytes: 8 };

/// A token of a batch: document and position.
type Token = (usize, u64);

/// Tokens of each rank in the linear layout.
fn linear(batch: &Batch) -> Vec<Vec<Token>> {
    layout(batch, |shard| shard.linear.0, |start, tokens| start..start + tokens)
}

/// Tokens whose attention a rank computes.
fn tasks(batch: &Batch) -> Vec<Vec<Token>> {
    layout(batch, |shard| shard.attention.0, |start, tokens| start..start + tokens)
}

/// The keys that those tokens need, task by task.
fn contexts(batch: &Batch) -> Vec<Vec<Token>> {
    layout(batch, |shard| shard.attention.0, |start, tokens| 0..start + tokens)
}

/// The keys that a rank needs, document by document.
fn shared_contexts(batch: &Batch) -> Vec<Vec<Token>> {
    let mut ranks = vec![Vec::new(); batch.world_size() as usize];
    for (document, shards) in batch.documents().enumerate() {
        for (rank, tokens) in ranks.iter_mut().enumerate() {
            let last = shards.iter().rposition(|shard| shard.attention.0 as usize == rank).map_or(0, |last| last + 1);
            let reach: u64 = shards[..last].iter().map(|shard| u64::from(shard.tokens)).sum();
            tokens.extend((0..reach).map(|position| (document, position)));
        }
    }
    ranks
}

fn layout(
    batch: &Batch,
    rank: impl Fn(&rankscope_dispatch::Shard) -> u32,
    positions: impl Fn(u64, u64) -> std::ops::Range<u64>,
) -> Vec<Vec<Token>> {
    let mut ranks = vec![Vec::new(); batch.world_size() as usize];
    for (document, shards) in batch.documents().enumerate() {
        let mut start = 0;
        for shard in shards {
            let tokens = u64::from(shard.tokens);
            ranks[rank(shard) as usize].extend(positions(start, tokens).map(|position| (document, position)));
            start += tokens;
        }
    }
    ranks
}

/// A row of `elements` that says which token and which tensor it is.
fn row(token: Token, tensor: i64, elements: usize) -> Vec<i64> {
    (0..elements as i64).map(|element| ((token.0 as i64 * 1000 + token.1 as i64) * 10 + tensor) * 10 + element + 1).collect()
}

fn bytes(rows: impl IntoIterator<Item = Vec<i64>>) -> Vec<u8> {
    rows.into_iter().flatten().flat_map(i64::to_le_bytes).collect()
}

fn tensor(tokens: &[Token], name: i64, elements: usize) -> Vec<u8> {
    bytes(tokens.iter().map(|token| row(*token, name, elements)))
}

fn values(bytes: &[u8]) -> Vec<i64> {
    bytes.as_chunks().0.iter().map(|value| i64::from_le_bytes(*value)).collect()
}

/// Query, key and value tensors of every rank.
fn query_key_value(queries: &[Vec<Token>], keys: &[Vec<Token>], query_elements: usize) -> Vec<Vec<Vec<u8>>> {
    let tensors = |(queries, keys): (&Vec<Token>, &Vec<Token>)| {
        vec![tensor(queries, 0, query_elements), tensor(keys, 1, 2), tensor(keys, 2, 2)]
    };
    queries.iter().zip(keys).map(tensors).collect()
}

fn execute(exchange: &Exchange, inputs: &[Vec<Vec<u8>>]) -> Vec<Vec<Vec<u8>>> {
    movement::execute(exchange, ElementType::I64, inputs).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_task_finds_its_queries_and_its_whole_context(batch in crate::batches::batch()) {
        for (direction, elements) in [(Direction::Forward, 1), (Direction::Resend, 5)] {
            let exchange = Exchange::new(&batch, &ROWS, direction).unwrap();
            let arrived = execute(&exchange, &query_key_value(&linear(&batch), &linear(&batch), elements));
            prop_assert_eq!(arrived, query_key_value(&tasks(&batch), &contexts(&batch), elements));
        }
    }

    #[test]
    fn documents_can_share_one_range_of_keys(batch in crate::batches::batch()) {
        let exchange = Exchange::with_contexts(&batch, &ROWS, Direction::Forward, Contexts::PerDocument).unwrap();
        let arrived = execute(&exchange, &query_key_value(&linear(&batch), &linear(&batch), 1));
        prop_assert_eq!(arrived, query_key_value(&tasks(&batch), &shared_contexts(&batch), 1));
        let per_task = Exchange::new(&batch, &ROWS, Direction::Forward).unwrap();
        prop_assert_eq!(exchange.traffic(), per_task.traffic());
    }

    #[test]
    fn outputs_return_to_where_their_tokens_live_and_their_gradients_follow(batch in crate::batches::batch()) {
        let one = |tokens: Vec<Vec<Token>>, elements| -> Vec<Vec<Vec<u8>>> {
            tokens.iter().map(|tokens| vec![tensor(tokens, 3, elements)]).collect()
        };
        let exchange = Exchange::new(&batch, &ROWS, Direction::Output).unwrap();
        prop_assert_eq!(execute(&exchange, &one(tasks(&batch), 3)), one(linear(&batch), 3));
        let exchange = Exchange::new(&batch, &ROWS, Direction::OutputGradient).unwrap();
        prop_assert_eq!(execute(&exchange, &one(linear(&batch), 1)), one(tasks(&batch), 1));
    }

    #[test]
    fn gradients_of_keys_are_the_sums_over_their_copies(batch in crate::batches::batch()) {
        for (layout, contexts) in [(contexts(&batch), Contexts::PerTask), (shared_contexts(&batch), Contexts::PerDocument)] {
            let exchange = Exchange::with_contexts(&batch, &ROWS, Direction::Backward, contexts).unwrap();
            // Copies of one token differ, so that a copy that is left out or added twice is seen.
            let gradients = |rank: usize| {
                let key = |tensor| bytes(layout[rank].iter().enumerate().map(move |(at, token)| {
                    row(*token, tensor, 2).iter().map(|value| value * 7 + (at * 31 + rank) as i64).collect()
                }));
                vec![tensor(&tasks(&batch)[rank], 0, 1), key(1), key(2)]
            };
            let inputs: Vec<_> = (0..layout.len()).map(gradients).collect();
            let arrived = execute(&exchange, &inputs);
            for (rank, tokens) in linear(&batch).iter().enumerate() {
                prop_assert_eq!(&arrived[rank][0], &tensor(tokens, 0, 1));
                for name in [1, 2] {
                    let summed = values(&arrived[rank][name])[..tokens.len() * 2].to_vec();
                    let expected = tokens.iter().flat_map(|token| {
                        let mut sum = [0, 0];
                        for (tokens, input) in layout.iter().zip(&inputs) {
                            let copies = tokens.iter().zip(values(&input[name]).as_chunks::<2>().0.to_vec());
                            copies.filter(|(other, _)| *other == token).for_each(|(_, values)| {
                                sum[0] += values[0];
                                sum[1] += values[1];
                            });
                        }
                        sum
                    });
                    prop_assert_eq!(summed, expected.collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn buffers_are_tiled_and_the_way_back_is_the_way_there(batch in crate::batches::batch()) {
        for direction in Direction::ALL {
            for contexts in [Contexts::PerTask, Contexts::PerDocument] {
                let exchange = Exchange::with_contexts(&batch, &ROWS, direction, contexts).unwrap();
                exchange.validate().unwrap();
                for part in &exchange.ranks {
                    prop_assert_eq!(part.sends.iter().map(|message| message.bytes).sum::<u64>(), part.send_bytes);
                    prop_assert_eq!(part.receives.iter().map(|message| message.bytes).sum::<u64>(), part.receive_bytes);
                    let packed = part.pack.iter().map(|copy| copy.rows * exchange.tensors[copy.tensor as usize].wire_row_bytes);
                    prop_assert_eq!(packed.sum::<u64>(), part.send_bytes);
                }
            }
        }
        let [forward, backward] = [Direction::Forward, Direction::Backward]
            .map(|direction| Exchange::new(&batch, &ROWS, direction).unwrap().traffic());
        prop_assert_eq!(forward.reversed(), backward);
    }

    #[test]
    fn one_ranks_part_built_alone_is_that_of_the_whole(batch in crate::batches::batch()) {
        for direction in Direction::ALL {
            for contexts in [Contexts::PerTask, Contexts::PerDocument] {
                let whole = Exchange::with_contexts(&batch, &ROWS, direction, contexts).unwrap();
                for part in whole.ranks {
                    let alone = RankExchange::new(&batch, &ROWS, direction, contexts, part.rank).unwrap();
                    prop_assert_eq!(alone, part);
                }
            }
        }
    }
}

#[test]
fn a_rank_that_does_not_exist_has_no_part() {
    let batch = Batch::new(2).unwrap();
    let refused = RankExchange::new(&batch, &ROWS, Direction::Forward, Contexts::PerTask, Rank(2));
    assert_eq!(refused.unwrap_err().to_string(), "rank 2 is not one of 0 to 1");
}
