//! In which order a stage of a pipeline runs its microbatches: one forward, one backward, after as many forwards as there are
//! stages behind it.

/// A pass of one microbatch through one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Of the next microbatch.
    Forward,
    /// Of this one.
    Backward(u32),
}

/// The passes of a step, in order.
pub(super) fn passes(stage: u32, stages: u32, microbatches: u32) -> Vec<Pass> {
    let ahead = (stages - 1 - stage).min(microbatches);
    let mut passes = vec![Pass::Forward; ahead as usize];
    for microbatch in 0..microbatches {
        if microbatch + ahead < microbatches {
            passes.push(Pass::Forward);
        }
        passes.push(Pass::Backward(microbatch));
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_stage_alternates_and_the_first_runs_ahead() {
        use Pass::{Backward, Forward};
        assert_eq!(passes(2, 3, 2), [Forward, Backward(0), Forward, Backward(1)]);
        assert_eq!(passes(0, 3, 3), [Forward, Forward, Forward, Backward(0), Backward(1), Backward(2)]);
        assert_eq!(passes(0, 4, 1), [Forward, Backward(0)]);
    }
}
