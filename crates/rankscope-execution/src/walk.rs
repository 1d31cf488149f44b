//! Walking back from a moment along what each piece waited for last: a partition of the time before it.

use crate::{Dependency, Execution, PieceId};

/// What a stretch of time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// This piece ran.
    Ran(PieceId),
    /// This piece had not started, although the last thing that it depends on, in that way, had ended.
    Lag(PieceId, Dependency),
    /// Nothing is known that this piece waited for.
    Unknown(PieceId),
}

/// A stretch of a rank's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its start, in nanoseconds since the epoch, on the rank's clock.
    pub start_ns: i64,
    /// Its end.
    pub end_ns: i64,
    /// What it is.
    pub what: What,
}

impl Stretch {
    /// How long it is, in nanoseconds.
    pub fn ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }
}

impl Execution {
    /// What the time from `from_ns` to the start of `piece` went to, last first. The stretches meet, and their lengths add up to
    /// that time exactly; there are none where the piece started before.
    pub fn back(&self, piece: PieceId, from_ns: i64) -> Vec<Stretch> {
        let mut found = Vec::new();
        let (mut piece, mut now_ns) = (piece, self.start_ns(piece));
        while now_ns > from_ns {
            let Some((before, how)) = self.bound_by(piece) else {
                found.push(Stretch { start_ns: from_ns, end_ns: now_ns, what: What::Unknown(piece) });
                break;
            };
            let ended_ns = self.end_ns(before).max(from_ns);
            if ended_ns < now_ns {
                found.push(Stretch { start_ns: ended_ns, end_ns: now_ns, what: What::Lag(piece, how) });
            }
            let started_ns = self.start_ns(before).max(from_ns);
            if started_ns < ended_ns {
                found.push(Stretch { start_ns: started_ns, end_ns: ended_ns, what: What::Ran(before) });
            }
            (piece, now_ns) = (before, started_ns);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Activity, Builder, Key, LaneKind, NewPiece, Share};

    /// Pieces of three lanes, some launched or awaited by others.
    fn any_execution() -> impl Strategy<Value = Execution> {
        let piece = (0..3_u32, 0..40_i64, 0..60_i64, any::<prop::sample::Index>(), any::<prop::sample::Index>());
        prop::collection::vec(piece, 1..60).prop_map(|pieces| {
            let mut builder = Builder::default();
            let lanes: Vec<_> = (0..3).map(|at| builder.lane(LaneKind::Stream, at.to_string())).collect();
            let key = builder.key(Key::new(Activity::Kernel, "k"));
            let mut free_ns = [0_i64; 3];
            let mut added = Vec::new();
            for (lane, gap_ns, dur_ns, launch, wait) in pieces {
                let start_ns = free_ns[lane as usize] + gap_ns;
                free_ns[lane as usize] = start_ns + dur_ns;
                let shares = vec![Share { key, ns: dur_ns }];
                let id = builder.piece(NewPiece { lane: lanes[lane as usize], start_ns, dur_ns, shares, collective: None });
                if !added.is_empty() {
                    builder.launch(id, *launch.get(&added));
                    builder.wait(id, *wait.get(&added));
                }
                added.push(id);
            }
            builder.finish()
        })
    }

    proptest! {
        #[test]
        fn a_walk_is_a_partition(execution in any_execution(), at in any::<prop::sample::Index>(), from_ns in -50..500_i64) {
            let piece = PieceId(at.index(execution.len()) as u32);
            let stretches = execution.back(piece, from_ns);
            let mut until_ns = execution.start_ns(piece);
            for stretch in &stretches {
                prop_assert_eq!(stretch.end_ns, until_ns);
                prop_assert!(stretch.ns() > 0);
                until_ns = stretch.start_ns;
            }
            prop_assert_eq!(until_ns, from_ns.min(execution.start_ns(piece)));
        }
    }
}
