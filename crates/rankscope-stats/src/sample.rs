//! Runs or steps, whichever is repeated, behind one face.

use crate::estimate::Estimate;
use crate::evidence::Unit;
use crate::runs::{self, Runs};
use crate::series::Cleaned;
use crate::steps::Steps;

/// What is repeated.
#[derive(Clone, Debug)]
pub(crate) enum Sample {
    Runs(Runs),
    Steps(Steps),
}

impl Sample {
    /// Runs where both sides have enough of them, else the steps of all.
    pub(crate) fn of(sides: &[Cleaned; 2], steps: Steps) -> Self {
        let enough = sides.iter().all(|side| side.runs.len() >= runs::RUNS_MIN);
        let runs = enough.then(|| Runs::of(&sides[0].runs, &sides[1].runs)).flatten();
        runs.map_or(Self::Steps(steps), Self::Runs)
    }

    pub(crate) fn logarithms(&self) -> Option<Self> {
        match self {
            Self::Runs(runs) => runs.logarithms().map(Self::Runs),
            Self::Steps(steps) => steps.logarithms().map(Self::Steps),
        }
    }

    pub(crate) fn estimate(&self, alpha: f64, widening: f64) -> Estimate {
        match self {
            Self::Runs(runs) => runs.estimate(alpha, widening),
            Self::Steps(steps) => steps.estimate(alpha, widening),
        }
    }

    pub(crate) fn middles(&self) -> [f64; 2] {
        match self {
            Self::Runs(runs) => runs.means(),
            Self::Steps(steps) => steps.medians(),
        }
    }

    pub(crate) fn counts(&self) -> [f64; 2] {
        match self {
            Self::Runs(runs) => runs.counts(),
            Self::Steps(steps) => steps.counts(),
        }
    }

    pub(crate) fn base_half_width(&self, alpha: f64) -> Option<f64> {
        match self {
            Self::Runs(runs) => runs.base_half_width(alpha),
            Self::Steps(steps) => steps.base_half_width(alpha),
        }
    }

    pub(crate) fn unit(&self) -> Unit {
        match self {
            Self::Runs(_) => Unit::Run,
            Self::Steps(_) => Unit::Step,
        }
    }
}
