//! The proof for plans that split keys. Every part of an output is sent as the output of its token with a log-sum-exp of zero, so
//! that what is merged must be that output again, and its log-sum-exp the logarithm of how many parts there are. Gradients are
//! ones, and count.

use rankscope_time::Rank;

use super::SEED;
use crate::movement::{ElementType, noise};
use crate::{Direction, Error, Exchange, RankExchange, SplitBatch, SplitTask, TensorRows};

/// Where each token of each document lives: rank and row.
fn places(batch: &SplitBatch) -> Vec<Vec<(usize, usize)>> {
    let mut next = vec![0; batch.world_size() as usize];
    let mut place = |rank: Rank| {
        let rank = rank.0 as usize;
        next[rank] += 1;
        (rank, next[rank] - 1)
    };
    let mut document = |shards: &[crate::Shard]| {
        let homes = shards.iter().flat_map(|shard| std::iter::repeat_n(shard.linear, shard.tokens as usize));
        homes.map(&mut place).collect()
    };
    batch.layout().documents().map(&mut document).collect()
}

/// The rows of a tensor that the tasks of `rank` take, or give, as places.
fn rows_of<'a>(
    batch: &'a SplitBatch,
    places: &'a [Vec<(usize, usize)>],
    rank: usize,
    tensor: usize,
) -> impl Iterator<Item = (usize, usize)> + 'a {
    let tasks = batch.tasks().iter().filter(move |task| task.rank.0 as usize == rank);
    tasks.flat_map(move |task| &places[task.document][tokens(task, tensor)]).copied()
}

/// The tokens of a task of which it has a row in the tensor.
fn tokens(task: &SplitTask, tensor: usize) -> std::ops::Range<usize> {
    let range = if tensor == 0 { &task.queries } else { &task.keys };
    range.start as usize..range.end as usize
}

pub(super) fn inputs(batch: &SplitBatch, exchange: &Exchange, direction: Direction, element: ElementType) -> Vec<Vec<Vec<u8>>> {
    let drawn = |part: &RankExchange| noise::draw(part, &exchange.tensors, element, SEED);
    match direction {
        Direction::Backward => {
            let one = element.encode(1);
            let ones = |tensor: Vec<u8>| one.repeat(tensor.len() / one.len());
            exchange.ranks.iter().map(|part| drawn(part).into_iter().map(ones).collect()).collect()
        }
        Direction::Output => {
            let (places, whole) = (places(batch), outputs(batch, exchange, element));
            let row_bytes = exchange.tensors[0].row_bytes as usize;
            let of_rank = |rank: usize| {
                let row = |(home, row): (usize, usize)| &whole[home][row * row_bytes..(row + 1) * row_bytes];
                vec![rows_of(batch, &places, rank, 0).map(row).collect::<Vec<_>>().concat()]
            };
            (0..exchange.ranks.len()).map(of_rank).collect()
        }
        Direction::Forward | Direction::OutputGradient | Direction::Resend => exchange.ranks.iter().map(drawn).collect(),
    }
}

/// The outputs of all tokens where they live, the log-sum-exp of every head zero.
fn outputs(batch: &SplitBatch, exchange: &Exchange, element: ElementType) -> Vec<Vec<u8>> {
    let shape = &exchange.tensors[0];
    let beside = lse_at(shape, element);
    let tokens = batch.layout().linear_tokens();
    let of_rank = |part: &RankExchange| {
        let home = RankExchange { input_rows: vec![tokens[part.rank.0 as usize]], ..RankExchange::empty(part.rank, 1) };
        let mut rows = noise::draw(&home, &exchange.tensors[..1], element, SEED).swap_remove(0);
        rows.chunks_exact_mut(shape.row_bytes.max(1) as usize).for_each(|row| row[beside..].fill(0));
        rows
    };
    exchange.ranks.iter().map(of_rank).collect()
}

/// Where log-sum-exps begin in a row, if it has any that count.
fn lse_at(shape: &TensorRows, element: ElementType) -> usize {
    match shape.join {
        crate::Join::Merge { heads } => (shape.row_bytes - u64::from(heads) * element.lse_bytes()) as usize,
        crate::Join::Add => shape.row_bytes as usize,
    }
}

pub(super) fn verify(
    batch: &SplitBatch,
    exchange: &Exchange,
    direction: Direction,
    element: ElementType,
    inputs: &[Vec<Vec<u8>>],
    arrived: &[Vec<Vec<u8>>],
) -> Result<(), Error> {
    let places = places(batch);
    for (tensor, shape) in exchange.tensors.iter().enumerate().filter(|(_, shape)| shape.row_bytes > 0) {
        let wrong = |rank: usize| Error::Arrived { direction, rank: Rank(rank as u32), tensor: shape.name };
        let bytes = shape.row_bytes as usize;
        if direction.to_attention() {
            for (rank, tensors) in arrived.iter().enumerate() {
                let expected = rows_of(batch, &places, rank, tensor);
                let mut rows = tensors[tensor].chunks_exact(bytes);
                let same =
                    expected.into_iter().all(|(home, row)| rows.next() == Some(&inputs[home][tensor][row * bytes..][..bytes]));
                if !same || rows.next().is_some() {
                    return Err(wrong(rank));
                }
            }
            continue;
        }
        let uses = uses(batch, tensor);
        let whole = if direction == Direction::Output { outputs(batch, exchange, element) } else { Vec::new() };
        for (document, places) in places.iter().enumerate() {
            for (&(rank, row), &uses) in places.iter().zip(&uses[document]) {
                let found = &arrived[rank][tensor][row * bytes..][..bytes];
                let right = match direction {
                    Direction::Output => merged(found, &whole[rank][row * bytes..][..bytes], shape, element, uses),
                    _ => {
                        u64::from(uses) > element.exact_to()
                            || element.encode(uses).repeat(bytes / element.bytes() as usize) == found
                    }
                };
                if !right {
                    return Err(wrong(rank));
                }
            }
        }
    }
    Ok(())
}

/// How many tasks have a row of each token.
fn uses(batch: &SplitBatch, tensor: usize) -> Vec<Vec<u32>> {
    let of_document = |(shards, tasks): (&[crate::Shard], &[SplitTask])| {
        let mut uses = vec![0; shards.iter().map(|shard| shard.tokens as usize).sum()];
        tasks.iter().for_each(|task| uses[tokens(task, tensor)].iter_mut().for_each(|uses| *uses += 1));
        uses
    };
    batch.documents().map(of_document).collect()
}

/// Whether what was found is the output, merged of so many equal parts. Rounding may differ in the last place.
fn merged(found: &[u8], output: &[u8], shape: &TensorRows, element: ElementType, parts: u32) -> bool {
    if parts == 1 {
        return found == output;
    }
    let beside = lse_at(shape, element);
    // Below the smallest normal number the last place is what it is there.
    let smallest = match element {
        ElementType::F64 => f64::MIN_POSITIVE,
        ElementType::F16 => f64::from(half::f16::MIN_POSITIVE),
        _ => f64::from(f32::MIN_POSITIVE),
    };
    let near = |found: f64, expected: f64, exact: f64| (found - expected).abs() <= expected.abs().max(smallest) * exact;
    let all = |element: ElementType, found: &[u8], right: &dyn Fn(usize, f64) -> bool| {
        found.chunks_exact(element.bytes() as usize).enumerate().all(|(at, value)| right(at, element.read(value)))
    };
    let size = element.bytes() as usize;
    let expected = |at: usize| element.read(&output[at * size..][..size]);
    let last_place = 4.0 / element.exact_to() as f64;
    all(element, &found[..beside], &|at, value| near(value, expected(at), last_place))
        && all(element.of_lse(), &found[beside..], &|_, lse| near(lse, f64::from(parts).ln(), 1e-6))
}
