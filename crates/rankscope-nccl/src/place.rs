//! [`Place`]: which rank this is, and where what it records goes, as the environment says.

use std::path::{Path, PathBuf};

use rankscope_record::{own_rank, own_world_size};

use crate::comms::Comm;

/// The run that the job is part of.
const RUN_DIR: &str = "RANKSCOPE_RUN_DIR";
/// Where its raw traces go.
const RAW_DIR: &str = "RANKSCOPE_RAW_DIR";
/// Where rings lie; memory of the machine if nobody says.
const RING_DIR: &str = "RANKSCOPE_NCCL_RING";

/// A process in its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its rank.
    pub(crate) rank: u32,
    /// Of how many, where somebody says so.
    pub(crate) world_size: Option<u32>,
    /// Whether a launcher said so; else it is the place in the first communicator.
    pub(crate) is_launched: bool,
    /// The run, where the live page goes.
    pub(crate) run: Option<PathBuf>,
    /// Where recordings go; none where none are wanted.
    pub(crate) raw: Option<PathBuf>,
    rings: PathBuf,
}

impl Place {
    /// What the environment says, and where that is nothing, what `first`, the first communicator, does.
    pub(crate) fn from_environment(first: &Comm) -> Self {
        Self::of(
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from),
            (own_rank(), own_world_size()),
            first,
        )
    }

    fn of(variable: impl Fn(&str) -> Option<PathBuf>, launched: (Option<u32>, Option<u32>), first: &Comm) -> Self {
        let run = variable(RUN_DIR);
        let raw = variable(RAW_DIR).or_else(|| Some(run.as_ref()?.join("raw")));
        let rings = variable(RING_DIR).unwrap_or_else(|| Path::new("/dev/shm").to_owned());
        let (rank, world_size) = match launched {
            (Some(rank), size) => (rank, size),
            (None, _) => (first.rank, Some(first.ranks).filter(|ranks| *ranks > 0)),
        };
        Self { rank, world_size, is_launched: launched.0.is_some(), run, raw, rings }
    }

    /// The file of the ring of process `id`.
    pub(crate) fn ring(&self, id: u32) -> PathBuf {
        self.rings.join(format!("rankscope-nccl-{}-{id}.ring", self.rank))
    }

    /// The file of the recording of process `id`.
    pub(crate) fn recording(&self, id: u32) -> Option<PathBuf> {
        Some(self.raw.as_ref()?.join(format!("nccl-{}-{id}.rkr", self.rank)))
    }

    /// Whether `comm` is of all ranks in their own order, so that its numbers of ranks are the job's.
    pub(crate) fn is_world(&self, comm: &Comm) -> bool {
        self.world_size == Some(comm.ranks) && comm.rank == self.rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_knows_better_than_a_communicator() {
        let first = Comm { ranks: 4, rank: 2, ..Comm::default() };
        let of = |name: &str, launched| Place::of(|asked| (asked == name).then(|| PathBuf::from("/a")), launched, &first);
        let launched = of(RUN_DIR, (Some(6), Some(8)));
        assert_eq!(launched.recording(7), Some("/a/raw/nccl-6-7.rkr".into()));
        assert!(!launched.is_world(&first));
        let alone = of(RING_DIR, (None, None));
        assert_eq!((alone.rank, alone.world_size, alone.recording(7)), (2, Some(4), None));
        assert!(alone.is_world(&first) && alone.ring(7) == Path::new("/a/rankscope-nccl-2-7.ring"));
    }
}
