//! The work of a batch: from who computes what to times and exchanges.

use rankscope_time::Span;

use super::cost::Machine;
use super::work::{LayerWork, Microbatch, Transfer};
use crate::{Assignment, Direction, Error, Pass, Rows};

impl Microbatch {
    /// What `plan` takes in one layer. Gradients take twice the dense work of the forward pass and, because attention is computed
    /// once more on the way, two and a half times its attention.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn of<'a>(plan: impl Into<Assignment<'a>>, rows: &Rows, machine: &Machine, backward: bool) -> Result<Self, Error> {
        let plan = plan.into();
        let transfer = |direction| plan.exchange(rows, direction).map(|exchange| Transfer::of(&exchange));
        // Dense layers see all heads of a token.
        let (tokens, all) = (plan.linear_tokens(), plan.head_groups().all_rows(rows));
        let dense = machine.dense(&tokens, all.dense_flops_per_token());
        // Projections of queries, keys and values come before attention, the output's and the MLP after it.
        let (q, kv) = (u64::from(all.hidden_q), u64::from(all.hidden_kv));
        let before_flops = q.saturating_mul(q.saturating_add(kv.saturating_mul(2))).saturating_mul(2);
        let before = machine.dense(&tokens, before_flops);
        let after: Vec<Span> = dense.iter().zip(&before).map(|(all, before)| *all - *before).collect();
        let attention = machine.attention(&plan, rows)?;
        let backward = match backward {
            true => Some(LayerWork {
                before: scaled(&after, 4),
                there: transfer(Direction::OutputGradient)?,
                attention: scaled(&attention, Pass::Backward.attention_halves()),
                back: transfer(Direction::Backward)?,
                after: scaled(&before, 4),
            }),
            false => None,
        };
        let (there, back) = (transfer(Direction::Forward)?, transfer(Direction::Output)?);
        Ok(Self { forward: LayerWork { before, there, attention, back, after }, backward })
    }
}

/// So many halves of each time.
fn scaled(times: &[Span], halves: i64) -> Vec<Span> {
    times.iter().map(|time| Span::from_nanos(time.as_nanos().saturating_mul(halves) / 2)).collect()
}
