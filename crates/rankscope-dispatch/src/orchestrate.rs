//! `orchestrate_simulate`: moves tokens as metadata say, rank by rank and slot by slot. Slow, exact and without cleverness: what
//! everything else is compared with.

use crate::Error;
use crate::metadata::Metadata;

/// Copies the tokens of every rank's `input`, rows of `hidden` elements, to where `metadata` sends them in `output`.
///
/// Slots are read one after the other, whether sent or not; where two copies meet, the later one stays; nothing is summed.
///
/// # Errors
/// [`Error::OutOfBuffer`], at the first copy that does not fit; what came before it has been copied.
pub fn orchestrate_simulate<T: Copy>(
    input: &[Vec<T>],
    output: &mut [Vec<T>],
    hidden: usize,
    metadata: &Metadata,
) -> Result<(), Error> {
    let slots = metadata.seq_len.width();
    let replicas = metadata.dst_rank.width().checked_div(slots).unwrap_or(0);
    for rank in 0..metadata.world_size {
        let mut from = 0_usize;
        for (slot, &tokens) in metadata.seq_len.row(rank).iter().enumerate() {
            let tokens = usize::try_from(tokens).map_err(|_| Error::NegativeLength { rank, slot, tokens })?;
            for at in slot * replicas..(slot + 1) * replicas {
                let (peer, to) = (metadata.dst_rank.row(rank)[at], metadata.dst_offset.row(rank)[at]);
                let Ok(peer) = usize::try_from(peer) else { continue };
                let to = usize::try_from(to).unwrap_or(usize::MAX);
                let source = input.get(rank).and_then(|rows| rows.get(range(from, tokens, hidden)?));
                let target = output.get_mut(peer).and_then(|rows| rows.get_mut(range(to, tokens, hidden)?));
                match (source, target) {
                    (Some(source), Some(target)) => target.copy_from_slice(source),
                    _ => return Err(Error::OutOfBuffer { rank, slot, tokens, from, peer, to }),
                }
            }
            from = from.saturating_add(tokens);
        }
    }
    Ok(())
}

/// The elements of `tokens` rows from `first` on.
fn range(first: usize, tokens: usize, hidden: usize) -> Option<std::ops::Range<usize>> {
    Some(first.checked_mul(hidden)?..first.checked_add(tokens)?.checked_mul(hidden)?)
}
