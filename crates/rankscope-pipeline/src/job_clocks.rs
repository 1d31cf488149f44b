//! `clocks.json` in a folder of parts: the way from each rank's clock to the job's, as the last merge found it, and which traces each
//! rank is made of. It is what a second pass over the traces needs of the merge, and all that it needs.

use std::path::{Path, PathBuf};

use rankscope_align::RankMap;
use rankscope_job::{Export, Job, Place};
use rankscope_run::is_file;
use rankscope_time::{Knot, MapStage, Rank, Rate};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::PartsFault;
use crate::parts_folder::{read_json, replace_json};

const NAME: &str = "clocks.json";

/// Layout version of the file.
const SCHEMA: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FrozenClocks {
    schema: u32,
    /// How the clocks are known, as reports name it.
    pub(crate) method: String,
    pub(crate) ranks: Vec<FrozenRank>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FrozenRank {
    pub(crate) rank: u32,
    pub(crate) host: Option<String>,
    pub(crate) traces: Vec<FrozenTrace>,
    stages: Vec<FrozenStage>,
}

/// One trace of a rank, in order of time: the number of its file in the plan, its own in that file, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FrozenTrace {
    pub(crate) file: u32,
    pub(crate) member: u32,
    pub(crate) label: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct FrozenStage {
    /// From, to and uncertainty, in nanoseconds.
    knots_ns: Vec<(i64, i64, u64)>,
    drift_bound_ppb: i64,
    inverse: bool,
}

/// Writes the clocks of `job` into the folder of its parts. Returns the file.
///
/// # Errors
/// What the file system refuses.
pub fn write_clocks(parts: &Path, job: &Job) -> Result<PathBuf, Error> {
    let aligned = job.ranks.iter().zip(&job.clocks.ranks);
    let ranks = aligned.map(|(rank, clock)| FrozenRank {
        rank: rank.rank.0,
        host: rank.about.host.clone(),
        traces: rank.exports.iter().map(FrozenTrace::of).collect(),
        stages: clock.map.stages().into_iter().map(FrozenStage::of).collect(),
    });
    let clocks = FrozenClocks { schema: SCHEMA, method: job.clocks.method.name().to_owned(), ranks: ranks.collect() };
    let path = parts.join(NAME);
    replace_json(&path, &clocks)?;
    Ok(path)
}

/// The clocks that were written into the folder `parts`.
pub(crate) fn read_frozen_clocks(parts: &Path) -> Result<FrozenClocks, Error> {
    let path = parts.join(NAME);
    let fault = |fault| Error::Parts { path: path.clone(), fault };
    if !is_file(&path)? {
        return Err(fault(PartsFault::NotMerged { folder: parts.to_owned() }));
    }
    let clocks: FrozenClocks = read_json(&path)?;
    if clocks.schema > SCHEMA { Err(fault(PartsFault::Newer { schema: clocks.schema })) } else { Ok(clocks) }
}

/// What tells the clocks in the folder `parts` from those of another merge, in 16 digits.
#[cfg(feature = "parquet")]
pub(crate) fn clocks_identity(parts: &Path) -> Result<String, Error> {
    let path = parts.join(NAME);
    if !is_file(&path)? {
        return Err(Error::Parts { path, fault: PartsFault::NotMerged { folder: parts.to_owned() } });
    }
    let bytes = rankscope_run::read_side(&path, rankscope_run::SideFile::Parts)?;
    Ok(blake3::hash(&bytes).to_hex()[..16].to_owned())
}

impl FrozenRank {
    /// The way to the job's clock.
    pub(crate) fn map(&self) -> Result<RankMap, PartsFault> {
        let malformed = |error: rankscope_time::StageError| PartsFault::Malformed { reason: error.to_string() };
        RankMap::from_stages(self.stages.iter().map(FrozenStage::told)).map_err(malformed)
    }

    pub(crate) fn rank(&self) -> Rank {
        Rank(self.rank)
    }
}

impl FrozenTrace {
    fn of(export: &Export) -> Self {
        let Export { file, place: Place { file: number, member }, .. } = export;
        Self { file: *number, member: *member, label: file.clone() }
    }
}

impl FrozenStage {
    fn of(stage: MapStage) -> Self {
        let MapStage { knots, drift_bound, inverse } = stage;
        let knots_ns = knots.iter().map(|knot| (knot.from_ns, knot.to_ns, knot.uncertainty_ns)).collect();
        Self { knots_ns, drift_bound_ppb: drift_bound.as_ppb(), inverse }
    }

    fn told(&self) -> MapStage {
        let knot = |&(from_ns, to_ns, uncertainty_ns): &(i64, i64, u64)| Knot { from_ns, to_ns, uncertainty_ns };
        MapStage {
            knots: self.knots_ns.iter().map(knot).collect(),
            drift_bound: Rate::from_ppb(self.drift_bound_ppb),
            inverse: self.inverse,
        }
    }
}
