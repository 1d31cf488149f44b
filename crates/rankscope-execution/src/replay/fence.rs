//! [`Fence`]: where nobody waits for transfers, what still does: no step begins on a device before the collectives of the steps
//! before it are over.

use rankscope_analyze::StepWindow;

use crate::{Execution, LaneKind, PieceId};

/// The end of each step of one rank, for who comes to it in order.
#[derive(Clone, Debug)]
pub(super) struct Fence {
    /// When steps start, in order.
    starts_ns: Vec<i64>,
    /// How many of those have been passed.
    passed: usize,
    /// Collectives, by when they were observed to end.
    collectives: Vec<(i64, PieceId)>,
    /// How many of those are over.
    over: usize,
    /// When the last of those ends.
    last_ns: Option<i64>,
    /// The lanes that wait: those of devices, where there are any.
    kind: LaneKind,
}

impl Fence {
    /// That of `execution`, if there `is` to be one.
    pub(super) fn of(is: bool, execution: &Execution, windows: &[StepWindow]) -> Option<Self> {
        if !is {
            return None;
        }
        let pieces = (0..).map_while(|nth| execution.nth_collective(nth));
        let mut collectives: Vec<(i64, PieceId)> = pieces.map(|(id, _)| (execution.end_ns(id), id)).collect();
        collectives.sort_unstable();
        let has_device = execution.lanes().iter().any(|lane| lane.kind == LaneKind::Stream);
        Some(Self {
            starts_ns: windows.iter().map(|step| step.start_ns).collect(),
            passed: 0,
            collectives,
            over: 0,
            last_ns: None,
            kind: if has_device { LaneKind::Stream } else { LaneKind::Thread },
        })
    }

    /// By how much the piece `id` is late at least, if the steps before it hold it up; `late_ns` tells the delay of a collective's end.
    ///
    /// # Errors
    /// The collective whose end is to be known first.
    pub(super) fn holds_ns(
        &mut self,
        execution: &Execution,
        id: PieceId,
        late_ns: impl Fn(PieceId) -> Result<i64, PieceId>,
    ) -> Result<Option<i64>, PieceId> {
        let start_ns = execution.start_ns(id);
        if execution.lane_kind(id) != self.kind || execution.collective(id).is_some() {
            return Ok(None);
        }
        while self.passed < self.starts_ns.len() && self.starts_ns[self.passed] <= start_ns {
            while let Some((end_ns, piece)) = self.collectives.get(self.over).copied()
                && end_ns <= self.starts_ns[self.passed]
                && piece < id
            {
                self.last_ns = self.last_ns.max(Some(end_ns.saturating_add(late_ns(piece)?)));
                self.over += 1;
            }
            self.passed += 1;
        }
        Ok(self.last_ns.map(|last_ns| last_ns.saturating_sub(start_ns)))
    }
}
