//! The last look at a plan: is it any better than none?

use super::bounded::{loads, slowest};
use crate::cost::Work;
use crate::{Batch, Error};

/// `plan`, or `layout` as it lies where the slowest rank of the plan would be slower than that. Planners of other systems, as
/// [`greedy`](super::greedy()) and [`equal_flops`](super::equal_flops()), promise nothing of the kind, and know no weights.
///
/// # Errors
/// [`Error::Overflow`].
pub fn not_worse(layout: &Batch, plan: Batch, work: &Work, weights: &[f64]) -> Result<Batch, Error> {
    let at_home = at_home(layout)?;
    let time = |batch: &Batch| Ok::<_, Error>(slowest(&loads(batch, work)?, weights));
    Ok(if time(&plan)? > time(&at_home)? { at_home } else { plan })
}

/// The layout with every task where its tokens lie.
fn at_home(layout: &Batch) -> Result<Batch, Error> {
    let mut batch = Batch::new(layout.world_size())?;
    for document in layout.documents() {
        let shards: Vec<_> = document.iter().map(|shard| crate::Shard { attention: shard.linear, ..*shard }).collect();
        batch.push(&shards)?;
    }
    Ok(batch)
}
