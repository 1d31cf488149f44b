//! The work of a batch: from who computes what to times and exchanges.

use rankscope_time::Span;

use super::cost::Machine;
use super::work::{LayerWork, Microbatch, Transfer};
use crate::{Assignment, Direction, Error, Pass, Rows};

/// Which passes of a layer a step has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Passes {
    /// Both; where attention is computed, the backward pass has what the forward pass had.
    #[default]
    Both,
    /// Both; the backward pass keeps nothing of the forward one, and everything it needs is sent again.
    Resent,
    /// The forward pass by itself.
    Forward,
    /// The backward pass by itself, for which everything is sent again.
    Backward,
}

impl Passes {
    /// Those of a layer, whose backward pass keeps what the forward one had or has all of it sent again; or `only` one, of which a
    /// backward one keeps nothing.
    #[must_use]
    pub fn of(only: Option<Pass>, resent: bool) -> Self {
        match only {
            Some(Pass::Forward) => Self::Forward,
            Some(Pass::Backward) => Self::Backward,
            None if resent => Self::Resent,
            None => Self::Both,
        }
    }

    /// The exchanges of a forward pass, if there is one: to where attention is computed, and back.
    #[must_use]
    pub fn forward(self) -> Option<[Direction; 2]> {
        (self != Self::Backward).then(|| Pass::Forward.exchanges())
    }

    /// Those of a backward pass, if there is one.
    #[must_use]
    pub fn backward(self) -> Option<[Direction; 2]> {
        match self {
            Self::Both => Some([Direction::OutputGradient, Direction::Backward]),
            Self::Resent | Self::Backward => Some(Pass::Backward.exchanges()),
            Self::Forward => None,
        }
    }
}

impl Microbatch {
    /// What `plan` takes in one layer. Gradients take twice the dense work of the forward pass and, because attention is computed
    /// once more on the way, two and a half times its attention.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn of<'a>(plan: impl Into<Assignment<'a>>, rows: &Rows, machine: &Machine, passes: Passes) -> Result<Self, Error> {
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
        let layer = |pass: Pass, [there, back]: [Direction; 2], [before, after]: [&[Span]; 2], dense_halves| {
            Ok::<_, Error>(LayerWork {
                before: scaled(before, dense_halves),
                there: transfer(there)?,
                attention: scaled(&attention, pass.attention_halves()),
                back: transfer(back)?,
                after: scaled(after, dense_halves),
            })
        };
        let forward = passes.forward().map(|exchanges| layer(Pass::Forward, exchanges, [&before, &after], 2)).transpose()?;
        // What came last comes first.
        let backward = passes.backward().map(|exchanges| layer(Pass::Backward, exchanges, [&after, &before], 4)).transpose()?;
        Ok(Self { forward, backward })
    }
}

/// So many halves of each time.
fn scaled(times: &[Span], halves: i64) -> Vec<Span> {
    times.iter().map(|time| Span::from_nanos(time.as_nanos().saturating_mul(halves) / 2)).collect()
}
