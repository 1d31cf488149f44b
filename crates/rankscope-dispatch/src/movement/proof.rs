//! An exchange moved and held against the plain reference. Gradients of keys are checked by sending ones: each token must get
//! back how often it was used.

mod split;

use rankscope_time::Rank;

use super::noise;
use super::{ElementType, reference};
use crate::{Assignment, Batch, Direction, Error, Exchange, RankExchange};

/// What the tensors of all ranks hold before the exchange of `plan`: bytes that differ from place to place; ones for gradients of
/// keys; where keys are split, the output of a token wherever part of it is computed.
#[must_use]
pub fn inputs<'a>(
    plan: impl Into<Assignment<'a>>,
    exchange: &Exchange,
    direction: Direction,
    element: ElementType,
) -> Vec<Vec<Vec<u8>>> {
    if let Some(batch) = plan.into().split() {
        return split::inputs(batch, exchange, direction, element);
    }
    let of_rank = |part: &RankExchange| {
        let mut tensors = noise::draw(part, &exchange.tensors, element, SEED);
        if direction == Direction::Backward {
            let one = element.encode(1);
            for tensor in tensors.iter_mut().skip(1) {
                *tensor = one.repeat((tensor.len() as u64 / element.bytes()) as usize);
            }
        }
        tensors
    };
    exchange.ranks.iter().map(of_rank).collect()
}

const SEED: u64 = 1;

/// Whether what `arrived` of `inputs` is what must arrive.
///
/// # Errors
/// [`Error::Arrived`] with the first rank and tensor of which other rows arrived; [`Error::GradientSum`] with the first token whose
/// gradient is not the number of tasks that used it. Counts that the type cannot hold exactly are passed over.
pub fn verify<'a>(
    plan: impl Into<Assignment<'a>>,
    exchange: &Exchange,
    direction: Direction,
    element: ElementType,
    inputs: &[Vec<Vec<u8>>],
    arrived: &[Vec<Vec<u8>>],
) -> Result<(), Error> {
    let plan = plan.into();
    if let Some(batch) = plan.split() {
        return split::verify(batch, exchange, direction, element, inputs, arrived);
    }
    let batch = plan.layout();
    let expected = reference::arrived(batch, &exchange.tensors, direction, inputs);
    for (part, (arrived, expected)) in exchange.ranks.iter().zip(arrived.iter().zip(&expected)) {
        // Of gradients, the reference has the queries only.
        for (tensor, (arrived, expected)) in exchange.tensors.iter().zip(arrived.iter().zip(expected)) {
            if arrived != expected {
                return Err(Error::Arrived { direction, rank: part.rank, tensor: tensor.name });
            }
        }
    }
    match direction {
        Direction::Backward => count_uses(batch, exchange, element, arrived),
        _ => Ok(()),
    }
}

fn count_uses(batch: &Batch, exchange: &Exchange, element: ElementType, arrived: &[Vec<Vec<u8>>]) -> Result<(), Error> {
    for ((rank, tensors), uses) in (0..).map(Rank).zip(arrived).zip(reference::uses(batch)) {
        for (tensor, bytes) in exchange.tensors.iter().zip(tensors).skip(1).filter(|(tensor, _)| tensor.row_bytes > 0) {
            for (token, (row, &uses)) in bytes.chunks(tensor.row_bytes as usize).zip(&uses).enumerate() {
                let expected = element.encode(uses as u32);
                if uses <= element.exact_to() && row.chunks(expected.len()).any(|gradient| gradient != expected) {
                    return Err(Error::GradientSum { rank, token, tensor: tensor.name, uses });
                }
            }
        }
    }
    Ok(())
}

/// Bytes that tensors, buffers and the reference take together while an exchange is moved and verified.
#[must_use]
pub fn memory_bytes(exchange: &Exchange, direction: Direction) -> u128 {
    let tensors = |rows: &[u64]| {
        exchange.tensors.iter().zip(rows).map(|(tensor, rows)| u128::from(tensor.row_bytes) * u128::from(*rows)).sum::<u128>()
    };
    let of_rank = |part: &RankExchange| {
        let buffers = u128::from(part.send_bytes) + u128::from(part.receive_bytes);
        // Sums of half types widen their tensor, and inputs that are summed are copied first.
        let sums = if direction == Direction::Backward { 3 } else { 1 };
        sums * (tensors(&part.input_rows) + tensors(&part.output_rows)) + tensors(&part.output_rows) + buffers
    };
    exchange.ranks.iter().map(of_rank).sum()
}
