//! A network out of the measurements of its levels.
//!
//! Every level that was measured is fitted by itself. One that was not is like the network underneath, or, without one, like the
//! nearest that was measured. Nothing is guessed about topology but the ranks of a node, which a benchmark on several hosts tells.

use super::{Calibration, Sample, Samples, calibrate};
use crate::Error;
use crate::network::{Level, Network, Topology};

/// A network whose costs were measured.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Calibrated {
    /// The network.
    pub network: Network,
    /// What was fitted, by level, the nearest first.
    pub levels: Vec<(Level, Calibration)>,
}

impl Calibrated {
    /// Fits every level that `samples` measured, `told` or by their hosts; the others are `onto`'s.
    ///
    /// # Errors
    /// [`Error::NoMeasurements`] without a single row; [`Error::LevelFit`] where a level's rows cannot be fitted.
    pub fn fit(samples: &[&Samples], told: Option<Level>, onto: Option<Network>) -> Result<Self, Error> {
        let mut levels = Vec::new();
        for level in Level::ALL {
            let of_level = samples.iter().filter(|samples| told.unwrap_or(samples.level()) == level);
            let rows: Vec<Sample> = of_level.flat_map(|samples| samples.rows.iter().copied()).collect();
            if !rows.is_empty() {
                let fit = calibrate(&rows).map_err(|error| Error::LevelFit { level, source: Box::new(error) })?;
                levels.push((level, fit));
            }
        }
        let network = network(&levels, samples, onto).ok_or(Error::NoMeasurements)?;
        Ok(Self { network, levels })
    }
}

impl Samples {
    /// The level that they measure, by the hosts they ran on.
    #[must_use]
    pub fn level(&self) -> Level {
        match self.hosts {
            Some(2..) => Level::Rail,
            _ => Level::Node,
        }
    }
}

fn network(levels: &[(Level, Calibration)], samples: &[&Samples], onto: Option<Network>) -> Option<Network> {
    let (_, first) = levels.first()?;
    let mut network = onto.unwrap_or_else(|| {
        // Ranks of a node are known from a benchmark that ran on several.
        let several = samples.iter().find_map(|one| one.hosts.filter(|hosts| *hosts > 1).map(|hosts| one.ranks / hosts));
        let ranks_per_node = several.unwrap_or(Topology::ONE_NODE.ranks_per_node).max(1);
        let cost = || first.cost.clone();
        let topology = Topology { ranks_per_node, ..Topology::ONE_NODE };
        Network { topology, base: first.base, node: cost(), rail: cost(), spine: cost() }
    });
    for (level, fit) in levels {
        match level {
            Level::Node => network.node = fit.cost.clone(),
            Level::Rail => (network.rail, network.spine) = (fit.cost.clone(), fit.cost.clone()),
            Level::Spine => network.spine = fit.cost.clone(),
        }
    }
    network.base = levels.iter().map(|(_, fit)| fit.base).max()?;
    Some(network)
}
