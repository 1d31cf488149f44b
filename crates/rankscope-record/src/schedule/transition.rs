//! [`transition`]: what has to be done between a step and the next, as one table.

use super::ScheduleWarning;

/// What a step is for. The first four numbers are torch's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ProfilerAction {
    /// Nothing is recorded.
    None = 0,
    /// The recorder gets going; what it sees is thrown away.
    Warmup = 1,
    /// Recorded.
    Record = 2,
    /// Recorded, and the last of its cycle.
    RecordAndSave = 3,
    /// A device stopped recording in the middle of the cycle; what is left of the cycle is let pass. No schedule says this.
    DeviceStopped = 4,
}

impl ProfilerAction {
    /// Every action, by number.
    pub const ALL: [Self; 5] = [Self::None, Self::Warmup, Self::Record, Self::RecordAndSave, Self::DeviceStopped];
}

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Tell the author of the schedule.
    Warn(ScheduleWarning),
    /// Get the recorder going.
    Prepare,
    /// From here on events count.
    Start,
    /// Up to here events count.
    Stop,
    /// Hand over what was recorded.
    TraceReady,
}

/// A device cannot stop a cycle that is not under way, nor one that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("go from {from:?} to {to:?}: no cycle is under way")]
pub struct Unreachable {
    /// What the last step was for.
    pub from: ProfilerAction,
    /// What the next would be for.
    pub to: ProfilerAction,
}

/// What to do, in order, between a step that was for `from` and one that is for `to`.
///
/// # Errors
/// If a device is said to have stopped where nothing is under way.
pub const fn transition(from: ProfilerAction, to: ProfilerAction) -> Result<&'static [Move], Unreachable> {
    use Move::{Prepare as P, Start as S, Stop as X, TraceReady as R, Warn};
    use ProfilerAction::{DeviceStopped, None, Record, RecordAndSave as Save, Warmup};
    Ok(match (from, to) {
        (None, None) | (Warmup, Warmup) | (Record, Record | Save) | (DeviceStopped, DeviceStopped | None) => &[],
        (None | DeviceStopped, Warmup) => &[P],
        (None | DeviceStopped, Record | Save) => &[P, S],
        // Started for a moment: what was prepared can only be let go of by stopping it.
        (Warmup, None) => &[Warn(ScheduleWarning::WarmedUpForNothing), S, X],
        (Warmup, Record | Save) => &[S],
        (Record, None | Warmup) => &[Warn(ScheduleWarning::Discarded), X],
        (Save, None) => &[X, R],
        (Save, Warmup) => &[X, R, P],
        (Save, Record | Save) => &[X, R, P, S],
        (Warmup, DeviceStopped) => &[S, X, R],
        (Record, DeviceStopped) => &[X, R],
        (None | Save, DeviceStopped) => return Err(Unreachable { from, to }),
    })
}

/// What to do after the last step, which was for `from`.
pub const fn leave(from: ProfilerAction) -> &'static [Move] {
    match from {
        ProfilerAction::None | ProfilerAction::DeviceStopped => &[],
        ProfilerAction::Warmup => &[Move::Start, Move::Stop],
        ProfilerAction::Record | ProfilerAction::RecordAndSave => &[Move::Stop, Move::TraceReady],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(moves: &[Move]) -> String {
        let letter = |step: &Move| match step {
            Move::Warn(_) => 'w',
            Move::Prepare => 'P',
            Move::Start => 'S',
            Move::Stop => 'X',
            Move::TraceReady => 'R',
        };
        moves.iter().map(letter).collect()
    }

    /// Rows are what was, columns what comes, in the order of the actions; `!` is unreachable.
    const TABLE: [[&str; 5]; 5] = [
        ["", "P", "PS", "PS", "!"],
        ["wSX", "", "S", "S", "SXR"],
        ["wX", "wX", "", "", "XR"],
        ["XR", "XRP", "XRPS", "XRPS", "!"],
        ["", "P", "PS", "PS", ""],
    ];

    #[test]
    fn the_table_is_torchs() {
        for (from, row) in ProfilerAction::ALL.into_iter().zip(TABLE) {
            for (to, expected) in ProfilerAction::ALL.into_iter().zip(row) {
                match transition(from, to) {
                    Ok(moves) => assert_eq!(letters(moves), expected, "{from:?} -> {to:?}"),
                    Err(error) => assert_eq!((expected, error), ("!", Unreachable { from, to })),
                }
            }
        }
        assert_eq!(ProfilerAction::ALL.map(|from| letters(leave(from))), ["", "SX", "XR", "XR", ""]);
    }

    /// Whatever the order: nothing is started twice, stopped that is not started, or handed over twice.
    #[test]
    fn moves_fit_together_along_every_walk() {
        for mut walk in 0..5_usize.pow(6) {
            let (mut at, mut moves) = (ProfilerAction::None, Vec::new());
            for _ in 0..6 {
                let to = ProfilerAction::ALL[walk % 5];
                walk /= 5;
                let Ok(next) = transition(at, to) else { break };
                moves.extend_from_slice(next);
                at = to;
            }
            moves.extend_from_slice(leave(at));
            let order = letters(&moves);
            assert!(!order.contains("SP"), "prepared in the middle: {order}");
            let order = order.replace(['w', 'P'], "");
            assert_eq!(order.replace("SXR", "").replace("SX", ""), "", "{order}");
        }
    }
}
