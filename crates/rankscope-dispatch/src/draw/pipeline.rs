//! Sequence lengths of one pipeline tick. Ranks are listed stage by stage, `dp` of them per stage: in a forward tick the first
//! stage starts a new microbatch while every other stage continues what the stage before it had in the last tick.

use crate::{Error, Padded};

/// Lengths per rank in a forward tick: `new` for the first stage, `previous` shifted by one stage for the others.
///
/// # Errors
/// [`Error::Shape`] when the stages do not fit; [`Error::TooLarge`].
pub fn pipeline_tick_forward(new: &Padded, previous: &Padded) -> Result<Padded, Error> {
    let (dp, ranks) = (stage(new)?, stage(previous)?);
    if ranks < dp || ranks % dp != 0 {
        return Err(Error::Shape { what: "the previous tick", expected: vec![ranks.next_multiple_of(dp)], found: vec![ranks] });
    }
    let width = new.width().max(previous.width());
    let mut lengths = Padded::filled(&[ranks, width], 0)?;
    for (rank, row) in new.rows().chain(previous.rows()).take(ranks).enumerate() {
        lengths.row_mut(rank)[..row.len()].copy_from_slice(row);
    }
    Ok(lengths)
}

/// Lengths per rank in the backward tick that answers a forward tick: the stages in reverse, the ranks of a stage in order.
///
/// # Errors
/// [`Error::Shape`] when the stages of `dp` ranks do not fill `forward`.
pub fn pipeline_tick_backward(forward: &Padded, dp: usize) -> Result<Padded, Error> {
    let ranks = stage(forward)?;
    if dp == 0 || ranks % dp != 0 {
        return Err(Error::Shape {
            what: "the forward tick",
            expected: vec![ranks.next_multiple_of(dp.max(1))],
            found: vec![ranks],
        });
    }
    let mut lengths = forward.clone();
    for (rank, row) in forward.rows().enumerate() {
        let (stage, place) = (rank / dp, rank % dp);
        lengths.row_mut((ranks / dp - 1 - stage) * dp + place).copy_from_slice(row);
    }
    Ok(lengths)
}

/// Ranks in a table of lengths.
fn stage(lengths: &Padded) -> Result<usize, Error> {
    match *lengths.shape() {
        [0, _] => Err(Error::NoRanks),
        [ranks, _] => Ok(ranks),
        _ => Err(Error::Axes { what: "seq_lens", expected: "ranks and sequences are asked for", found: lengths.shape().len() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_moves_every_microbatch_one_stage_on() -> Result<(), Error> {
        let previous = Padded::new(&[4, 2], vec![1, 2, 3, 4, 5, 6, 7, 8])?;
        let tick = pipeline_tick_forward(&Padded::new(&[2, 1], vec![9, 10])?, &previous)?;
        assert_eq!(tick.values(), [9, 0, 10, 0, 1, 2, 3, 4]);
        assert_eq!(pipeline_tick_backward(&tick, 2)?.values(), [1, 2, 3, 4, 9, 0, 10, 0]);
        Ok(())
    }

    #[test]
    fn stages_that_do_not_fit_are_refused() -> Result<(), Error> {
        let previous = Padded::filled(&[3, 2], 1)?;
        assert!(matches!(pipeline_tick_forward(&Padded::filled(&[2, 2], 1)?, &previous), Err(Error::Shape { .. })));
        assert!(matches!(pipeline_tick_backward(&previous, 2), Err(Error::Shape { .. })));
        assert!(matches!(pipeline_tick_backward(&previous, 0), Err(Error::Shape { .. })));
        Ok(())
    }
}
