//! [`Programs`]: what each rank launched on its devices in each step, in order, so that the same piece is found on another rank.
//!
//! Where two ranks launched the same operators in the same order, the n-th piece of one is the n-th of the other. That tells more than
//! sums over a step: of two linear layers of one name, one may be an expert with more tokens and the other not. Ranks that launched
//! other things, such as other stages of a pipeline, are not compared so.

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
            program.pieces.iter().for_each(|id| name(execution.piece(*id).key.0).hash(&mut hasher));
            program.hash = hasher.finish();
        }
        self.ranks.push(programs);
    }

    /// What the rank at index `at` launched in the step at `step`, and those other ranks that `counts` is true of and that launched the same,
    /// with their pieces; nothing where there is no such rank.
    pub(super) fn alike(&self, at: usize, step: usize, counts: impl Fn(usize) -> bool) -> Option<Alike<'_>> {
        let of = |rank: usize| self.ranks[rank].get(step);
        let own = of(at)?;
        let is_alike = |other: &Program| other.hash == own.hash && other.pieces.len() == own.pieces.len();
        let others = (0..self.ranks.len()).filter(|rank| counts(*rank)).filter_map(|rank| Some((rank, of(rank)?)));
        let others = others.filter(|(_, program)| is_alike(program)).map(|(rank, program)| (rank, program.pieces.as_slice()));
        // A rank that counts itself, and is alone with its program, is like no other.
        let is_other = |(rank, _): &(usize, &[PieceId])| *rank != at;
        Some(Alike { own: &own.pieces, others: others.collect() }).filter(|alike| alike.others.iter().any(is_other))
    }
}

/// Ranks that launched the same: the n-th piece of one is the n-th of the others.
#[derive(Clone, Debug)]
pub(super) struct Alike<'a> {
    pub(super) own: &'a [PieceId],
    /// With the index of their rank.
    pub(super) others: Vec<(usize, &'a [PieceId])>,
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
        let ranks =
            |at| programs.alike(at, 0, |_| true).map(|alike| alike.others.iter().map(|(rank, _)| *rank).collect::<Vec<_>>());
        assert_eq!([ranks(0), ranks(1), ranks(2)], [Some(vec![0, 1]), Some(vec![0, 1]), None]);
    }
}
