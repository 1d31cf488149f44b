//! A layer executed by exchanges, part by part, against attention over whole documents: outputs, and all three gradients.

use proptest::prelude::*;
use rankscope_dispatch::movement::{self, ElementType};
use rankscope_dispatch::{Direction, Exchange, Rows, SplitBatch, SplitTask, TorchRandom};

/// Heads of queries, of which all share one head of keys and values, and the size of a head.
const HEADS: usize = 2;
const SIZE: usize = 3;
const ROWS: Rows = Rows { hidden_q: 6, hidden_kv: 3, lse: 2, element_bytes: 8 };

/// Rows of a tensor on every rank.
type Tensor = Vec<Vec<Vec<f64>>>;

fn random(random: &mut TorchRandom, batch: &SplitBatch, width: usize) -> Tensor {
    let mut number = || 4.0 * f64::from(random.below(1 << 24)) / f64::from(1 << 23) - 4.0;
    let mut rows = |rows: u64| (0..rows).map(|_| (0..width).map(|_| number()).collect()).collect();
    batch.layout().linear_tokens().into_iter().map(&mut rows).collect()
}

/// Rows of every document, in order.
fn gathered(batch: &SplitBatch, tensor: &Tensor) -> Vec<Vec<Vec<f64>>> {
    let mut next = vec![0; batch.world_size() as usize];
    let mut take = |rank: usize| {
        next[rank] += 1;
        tensor[rank][next[rank] - 1].clone()
    };
    let mut document = |shards: &[rankscope_dispatch::Shard]| {
        let homes = shards.iter().flat_map(|shard| std::iter::repeat_n(shard.linear.0 as usize, shard.tokens as usize));
        homes.map(&mut take).collect::<Vec<_>>()
    };
    batch.documents().map(|(shards, _)| document(shards)).collect()
}

fn moved(batch: &SplitBatch, direction: Direction, tensors: &[&Tensor]) -> Vec<Tensor> {
    let exchange = Exchange::of_split(batch, &ROWS, direction).expect("an exchange");
    let bytes = |rows: &[Vec<f64>]| rows.iter().flatten().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let rank = |rank: usize| tensors.iter().map(|tensor| bytes(&tensor[rank])).collect();
    let inputs: Vec<Vec<Vec<u8>>> = (0..batch.world_size() as usize).map(rank).collect();
    let arrived = movement::execute(&exchange, ElementType::F64, &inputs).expect("it is executed");
    let rows = |bytes: &[u8], row_bytes: u64| -> Vec<Vec<f64>> {
        let row = |row: &[u8]| row.chunks(8).map(|value| f64::from_le_bytes(value.try_into().expect("eight bytes"))).collect();
        bytes.chunks(row_bytes as usize).map(row).collect()
    };
    let tensor = |(at, shape): (usize, &rankscope_dispatch::TensorRows)| {
        arrived.iter().map(|tensors| rows(&tensors[at], shape.row_bytes)).collect()
    };
    exchange.tensors.iter().enumerate().map(tensor).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The output of a query over keys, and the log-sum-exp of every head behind it.
fn attend(query: &[f64], keys: &[Vec<f64>], values: &[Vec<f64>]) -> Vec<f64> {
    let (mut output, mut lse) = (Vec::new(), Vec::new());
    for query in query.chunks(SIZE) {
        let scores: Vec<f64> = keys.iter().map(|key| dot(query, key)).collect();
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|score| (score - most).exp()).sum();
        let weight = |score: &f64| (score - most).exp() / sum;
        output
            .extend((0..SIZE).map(|at| scores.iter().zip(values).map(|(score, value)| weight(score) * value[at]).sum::<f64>()));
        lse.push(most + sum.ln());
    }
    [output, lse].concat()
}

/// Adds the gradients of a query over keys, given what a kernel has: the gradient of the output, the log-sum-exp over all keys,
/// and the product of output and gradient, each for every head.
fn differentiate(
    (query, keys, values): (&[f64], &[Vec<f64>], &[Vec<f64>]),
    gradient: &[f64],
    (d_query, d_keys, d_values): (&mut [f64], &mut [Vec<f64>], &mut [Vec<f64>]),
) {
    let (d_output, beside) = gradient.split_at(HEADS * SIZE);
    let (lse, delta) = beside.split_at(HEADS);
    for head in 0..HEADS {
        let own = head * SIZE..(head + 1) * SIZE;
        for (key, value, d_key, d_value) in
            keys.iter().zip(values).zip(d_keys.iter_mut().zip(&mut *d_values)).map(|((a, b), (c, d))| (a, b, c, d))
        {
            let weight = (dot(&query[own.clone()], key) - lse[head]).exp();
            let d_score = weight * (dot(&d_output[own.clone()], value) - delta[head]);
            for at in 0..SIZE {
                d_value[at] += weight * d_output[head * SIZE + at];
                d_key[at] += d_score * query[head * SIZE + at];
                d_query[head * SIZE + at] += d_score * key[at];
            }
        }
    }
}

/// The tasks of a rank, each with where its queries and its keys begin.
fn tasks(batch: &SplitBatch, rank: usize) -> Vec<(&SplitTask, usize, usize)> {
    let (mut query, mut key) = (0, 0);
    let place = |task| {
        let SplitTask { queries, keys, .. }: &SplitTask = task;
        let at = (task, query, key);
        (query, key) = (query + queries.len(), key + keys.len());
        at
    };
    batch.tasks().iter().filter(|task| task.rank.0 as usize == rank).map(place).collect()
}

/// Every query of a rank's tasks: its row, and the rows of the keys it sees.
fn scores(batch: &SplitBatch, rank: usize) -> Vec<(usize, std::ops::Range<usize>)> {
    let rows = |(task, first_query, first_key): (&SplitTask, usize, usize)| {
        let (queries, keys) = (task.queries.clone(), task.keys.clone());
        queries.enumerate().map(move |(at, query)| {
            let seen = keys.end.min(query + 1) - keys.start;
            (first_query + at, first_key..first_key + seen as usize)
        })
    };
    tasks(batch, rank).into_iter().flat_map(rows).collect()
}

fn zeros(like: &Tensor) -> Tensor {
    like.iter().map(|rows| rows.iter().map(|row| vec![0.0; row.len()]).collect()).collect()
}

fn near(actual: &Tensor, expected: &[Vec<Vec<f64>>], batch: &SplitBatch, what: &str) -> Result<(), TestCaseError> {
    for (document, (actual, expected)) in gathered(batch, actual).iter().zip(expected).enumerate() {
        for (token, (actual, expected)) in actual.iter().zip(expected).enumerate() {
            let far = actual.iter().zip(expected).map(|(a, b)| (a - b).abs() / (1.0 + b.abs())).fold(0.0, f64::max);
            prop_assert!(far < 1e-9, "{what} of document {document}, token {token}: {actual:?}, not {expected:?}");
        }
    }
    Ok(())
}

fn check(batch: &SplitBatch, seed: u32) -> Result<(), TestCaseError> {
    let mut chance = TorchRandom::new(seed.into());
    let [q, k, v, d_out] = [6, 3, 3, 6].map(|width| random(&mut chance, batch, width));
    let ranks = 0..batch.world_size() as usize;

    // Forward: queries, keys and values there, outputs in parts back, merged on the way.
    let there = moved(batch, Direction::Forward, &[&q, &k, &v]);
    let outputs = |rank: usize| {
        let one = |(query, keys): (usize, std::ops::Range<usize>)| {
            attend(&there[0][rank][query], &there[1][rank][keys.clone()], &there[2][rank][keys])
        };
        scores(batch, rank).into_iter().map(one).collect()
    };
    let parts: Tensor = ranks.clone().map(outputs).collect();
    // Where nothing is merged log-sum-exps travel just so.
    let merged = moved(batch, Direction::Output, &[&parts]).swap_remove(0);

    // Backward: a part of an output knows neither the log-sum-exp of all of it nor the product of output and gradient. Whoever
    // computed all of an output has both.
    let beside = |d_out: &[Vec<f64>], out: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let row = |(d_out, out): (&Vec<f64>, &Vec<f64>)| {
            let (out, lse) = out.split_at(HEADS * SIZE);
            let delta = d_out.chunks(SIZE).zip(out.chunks(SIZE)).map(|(a, b)| dot(a, b));
            d_out.iter().copied().chain(lse.iter().copied()).chain(delta).collect()
        };
        d_out.iter().zip(out).map(row).collect()
    };
    let joined = |d_out: &Tensor, out: &Tensor| d_out.iter().zip(out).map(|(a, b)| beside(a, b)).collect::<Tensor>();
    let sent = |tensor: &Tensor| moved(batch, Direction::OutputGradient, &[tensor]).swap_remove(0);
    let gradients = if batch.merges() { sent(&joined(&d_out, &merged)) } else { joined(&sent(&d_out), &parts) };
    let (mut d_q, mut d_k, mut d_v) = (zeros(&there[0]), zeros(&there[1]), zeros(&there[2]));
    for rank in ranks {
        for (query, keys) in scores(batch, rank) {
            let seen = (&there[0][rank][query][..], &there[1][rank][keys.clone()], &there[2][rank][keys.clone()]);
            let into = (&mut d_q[rank][query][..], &mut d_k[rank][keys.clone()], &mut d_v[rank][keys]);
            differentiate(seen, &gradients[rank][query], into);
        }
    }
    let back = moved(batch, Direction::Backward, &[&d_q, &d_k, &d_v]);

    let [out, d_q, d_k, d_v] = whole(batch, &q, &k, &v, &d_out);
    near(&merged, &out, batch, "the output")?;
    near(&back[0], &d_q, batch, "the gradient of the query")?;
    near(&back[1], &d_k, batch, "the gradient of the key")?;
    near(&back[2], &d_v, batch, "the gradient of the value")
}

/// Outputs with log-sum-exps, and all three gradients, document by document.
fn whole(batch: &SplitBatch, q: &Tensor, k: &Tensor, v: &Tensor, d_out: &Tensor) -> [Vec<Vec<Vec<f64>>>; 4] {
    let [q, k, v, d_out] = [q, k, v, d_out].map(|tensor| gathered(batch, tensor));
    let (mut d_q, mut d_k, mut d_v) = (zeros(&q), zeros(&k), zeros(&v));
    let mut out: Vec<Vec<Vec<f64>>> = Vec::new();
    for document in 0..q.len() {
        let mut outputs = Vec::new();
        for token in 0..q[document].len() {
            let output = attend(&q[document][token], &k[document][..=token], &v[document][..=token]);
            let (values, lse) = output.split_at(HEADS * SIZE);
            let delta = d_out[document][token].chunks(SIZE).zip(values.chunks(SIZE)).map(|(a, b)| dot(a, b));
            let gradient: Vec<f64> = d_out[document][token].iter().copied().chain(lse.iter().copied()).chain(delta).collect();
            let seen = (&q[document][token][..], &k[document][..=token], &v[document][..=token]);
            let into = (&mut d_q[document][token][..], &mut d_k[document][..=token], &mut d_v[document][..=token]);
            differentiate(seen, &gradient, into);
            outputs.push(output);
        }
        out.push(outputs);
    }
    [out, d_q, d_k, d_v]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn merged_parts_are_the_attention_over_whole_documents(batch in crate::batches::split_batch(), seed in any::<u32>()) {
        check(&batch, seed)?;
    }
}
