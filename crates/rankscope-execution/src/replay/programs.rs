//! [`Programs`]: what each rank launched on its devices in each step, in order, so that the same piece is found on another rank.
//!
//! Where two ranks launched the same operators in the same order, the n-th piece of one is the n-th of the other. That tells more than
//! sums over a step: of two linear layers of one name, one may be an expert with more tokens and the other not. Ranks that launched
//! other things, such as other stages of a pipeline, are not compared so.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use crate::{Activity, Execution, PieceId};

/// Device work of one rank in one step.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    /// Of the names of its pieces, in order.
    hash: u64,
    /// In the order in which the host launched them.
    pieces: Vec<PieceId>,
}

/// Those of all ranks.
#[derive(Clone, Debug, Default)]
pub(super) struct Programs {
    /// By rank and place of the step.
    ranks: Vec<Vec<Program>>,
}

impl Programs {
    /// Adds the next rank, whose pieces are in `steps`, which are numbered below `count`. `name` tells what a key is called on all ranks.
    pub(super) fn add(&mut self, execution: &Execution, steps: &[u32], count: usize, name: impl Fn(u32) -> u32) {
        let mut programs = vec![Program::default(); count];
        for id in execution.ids() {
            let is_work = |activity| matches!(activity, Activity::Kernel | Activity::Copy | Activity::Fill);
            let piece = execution.piece(id);
            if piece.launched_by.is_some()
                && is_work(execution.key(piece.key).activity)
                && let Some(program) = programs.get_mut(steps[id.0 as usize] as usize)
            {
                program.pieces.push(id);
            }
        }
        for program in &mut programs {
            program.pieces.sort_by_key(|id| (execution.piece(*id).launched_by, *id));
            let mut hasher = FxHasher::default();
            program.pieces.iter().for_each(|id| name(execution.key_of(*id).0).hash(&mut hasher));
            program.hash = hasher.finish();
        }
        self.ranks.push(programs);
    }

    /// The ranks that launched the same in the step at `step`, by index and with their pieces: the n-th piece of one is the n-th of the
    /// others. A rank that launched what no other one did is in none.
    pub(super) fn alike(&self, step: usize) -> Vec<Vec<(usize, &[PieceId])>> {
        let mut by_program: BTreeMap<(u64, usize), Vec<_>> = BTreeMap::new();
        for (rank, programs) in self.ranks.iter().enumerate() {
            if let Some(Program { hash, pieces }) = programs.get(step) {
                by_program.entry((*hash, pieces.len())).or_default().push((rank, pieces.as_slice()));
            }
        }
        by_program.into_values().filter(|alike| alike.len() > 1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Key, LaneKind, NewPiece, Share};

    /// A rank that launches these kernels in its one step.
    fn rank(kernels: &[&str]) -> Execution {
        let mut builder = Builder::default();
        let (host, device) = (builder.lane(LaneKind::Thread, "main"), builder.lane(LaneKind::Stream, "7"));
        let call = builder.key(Key::new(Activity::Call, "launch"));
        for (at, name) in (0..).zip(kernels) {
            let key = builder.key(Key::new(Activity::Kernel, *name));
            let mut piece = |lane, start_ns, dur_ns, key| {
                builder.piece(NewPiece { lane, start_ns, dur_ns, shares: vec![Share { key, ns: dur_ns }], collective: None })
            };
            let (by, work) = (piece(host, at * 10, 1, call), piece(device, at * 10 + 1, 5, key));
            builder.launch(work, by);
        }
        builder.finish()
    }

    #[test]
    fn a_rank_whose_program_is_its_own_is_like_no_other() {
        let mut programs = Programs::default();
        for kernels in [&["a", "b"][..], &["a", "b"], &["a", "b", "c"]] {
            let execution = rank(kernels);
            let name = |key: u32| u32::from(execution.key(crate::KeyId(key)).name.as_bytes()[0]);
            programs.add(&execution, &vec![0; execution.len()], 1, name);
        }
        let alike = programs.alike(0);
        let ranks: Vec<Vec<usize>> = alike.iter().map(|alike| alike.iter().map(|(rank, _)| *rank).collect()).collect();
        assert_eq!(ranks, [[0, 1]]);
    }
}
