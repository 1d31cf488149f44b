//! A map as plain values, for whoever writes one to a file.
//!
//! Nothing here says how a file holds them.

use std::fmt;

use super::{ClockMap, Knot, MapError, Stage};
use crate::Rate;

/// One stage of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapStage {
    /// Increasing on both clocks.
    pub knots: Vec<Knot>,
    /// The most that the two clocks may drift apart outside the knots.
    pub drift_bound: Rate,
    /// The stage takes `to_ns` to `from_ns`.
    pub inverse: bool,
}

/// Which stage of a map is none, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageError {
    /// Its place in the list.
    pub stage: usize,
    /// What is wrong with its knots.
    pub error: MapError,
}

impl fmt::Display for StageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stage {}: {}", self.stage, self.error)
    }
}

impl std::error::Error for StageError {}

impl<A, B> ClockMap<A, B> {
    /// The stages, in the order in which they are applied; the identity has none.
    pub fn stages(&self) -> Vec<MapStage> {
        let plain =
            |stage: &Stage| MapStage { knots: stage.knots.clone(), drift_bound: stage.drift_bound, inverse: stage.inverse };
        self.stages.iter().map(plain).collect()
    }

    /// The map of `stages`: equal to the one that they are [the stages](Self::stages) of.
    ///
    /// # Errors
    /// [`StageError`] names the first stage whose knots are no map.
    pub fn from_stages(stages: impl IntoIterator<Item = MapStage>) -> Result<Self, StageError> {
        let checked = |(place, MapStage { knots, drift_bound, inverse })| {
            let stage = Stage::new(knots, drift_bound).map_err(|error| StageError { stage: place, error })?;
            Ok(Stage { inverse, ..stage })
        };
        stages.into_iter().enumerate().map(checked).collect::<Result<_, _>>().map(Self::of)
    }
}
