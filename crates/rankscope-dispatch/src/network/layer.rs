//! What exchanges of a layer take: the four of a forward and a backward pass, in the order of a step, or those that are asked for.

use super::{Network, Prediction};
use crate::{Assignment, Direction, Error, Rows, Traffic};

/// One exchange of a plan and what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PredictedExchange {
    /// Which exchange.
    pub direction: Direction,
    /// Who sends what to whom.
    pub traffic: Traffic,
    /// How long that takes.
    pub prediction: Prediction,
}

impl Network {
    /// What the exchanges of a layer take, one after the other.
    ///
    /// # Errors
    /// [`Error::Overflow`] for rows or buffers beyond 64 bits; those of [`Network::predict`].
    pub fn predict_layer<'a>(&self, plan: impl Into<Assignment<'a>>, rows: &Rows) -> Result<Vec<PredictedExchange>, Error> {
        self.predict_exchanges(plan, rows, &Direction::LAYER)
    }

    /// What these exchanges of a layer take, one after the other.
    ///
    /// # Errors
    /// As [`Network::predict_layer`].
    pub fn predict_exchanges<'a>(
        &self,
        plan: impl Into<Assignment<'a>>,
        rows: &Rows,
        exchanges: &[Direction],
    ) -> Result<Vec<PredictedExchange>, Error> {
        let plan = plan.into();
        let predicted = |direction| {
            let traffic = plan.exchange(rows, direction)?.traffic();
            let prediction = self.predict(&traffic)?;
            Ok(PredictedExchange { direction, traffic, prediction })
        };
        exchanges.iter().copied().map(predicted).collect()
    }
}
