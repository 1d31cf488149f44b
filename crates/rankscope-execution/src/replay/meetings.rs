//! [`Gathering`]: a meeting while it is replayed: who has come, and who may leave.
//!
//! Everything is a delay against what was observed, so that an unchanged job comes back exactly, whatever the clocks say. Where a
//! rank was seen to leave before another one came, which no collective that waits for all allows, the clocks are wrong; it counts as
//! having seen the other come when it left.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rankscope_analyze::Waiting;
use rankscope_collectives::Kind;

use crate::Meeting;

/// A meeting that is under way. Participants are numbered as in the meeting.
#[derive(Clone, Debug)]
pub(super) struct Gathering {
    /// By how much later each comes than it was observed to; none while it has not come.
    late_ns: Vec<Option<i64>>,
    /// How many of the first have come without a gap.
    come: usize,
    /// Last coming of each of those and the ones before it, on the job's clock.
    last_ns: Vec<i64>,
    /// Greatest delay of each participant and those after it, once all have come.
    most_late_ns: Vec<i64>,
    /// Those who wait, by how many of the first must have come; nobody where all wait for all.
    waiting: BinaryHeap<Reverse<(usize, usize)>>,
    /// Where all wait for all, how many have left.
    left: usize,
}

impl Gathering {
    pub(super) fn of(meeting: &Meeting) -> Self {
        let count = meeting.participants.len();
        Self {
            late_ns: vec![None; count],
            come: 0,
            last_ns: Vec::with_capacity(count),
            most_late_ns: Vec::new(),
            waiting: BinaryHeap::new(),
            left: 0,
        }
    }

    /// The participant `own` comes, so much later than it was observed to.
    pub(super) fn comes(&mut self, meeting: &Meeting, own: usize, late_ns: i64) {
        self.late_ns[own] = Some(late_ns);
        if meeting.waiting != Waiting::ForTheLast {
            self.waiting.push(Reverse((needs(meeting, own), own)));
        }
        while let Some(Some(late_ns)) = self.late_ns.get(self.come) {
            let came_ns = meeting.participants[self.come].came_ns.saturating_add(*late_ns);
            self.last_ns.push(self.last_ns.last().copied().unwrap_or(came_ns).max(came_ns));
            self.come += 1;
        }
        if self.come == self.late_ns.len() && self.most_late_ns.is_empty() {
            let mut most = i64::MIN;
            let running = self.late_ns.iter().rev().map(|late_ns| {
                most = most.max(late_ns.unwrap_or(i64::MIN));
                most
            });
            self.most_late_ns = running.collect();
            self.most_late_ns.reverse();
        }
    }

    /// The next one who waits for nobody any more.
    pub(super) fn next_to_leave(&mut self, meeting: &Meeting) -> Option<usize> {
        if meeting.waiting == Waiting::ForTheLast {
            let all_came = self.come == self.late_ns.len();
            return Some(self.left).filter(|next| all_came && *next < self.come).inspect(|_| self.left += 1);
        }
        let Reverse((needed, own)) = *self.waiting.peek()?;
        if needed > self.come {
            return None;
        }
        self.waiting.pop();
        Some(own)
    }

    /// By how much later the participant `own` came.
    pub(super) fn late_ns(&self, own: usize) -> i64 {
        self.late_ns[own].unwrap_or(0)
    }

    /// Whether all have come and left.
    pub(super) fn is_over(&self) -> bool {
        self.come == self.late_ns.len() && self.waiting.is_empty()
    }

    /// When `own`, for whom nobody is missing, starts to transfer, on the job's clock: when the last one has come that it waits for.
    pub(super) fn begins_ns(&self, meeting: &Meeting, own: usize) -> i64 {
        let one = &meeting.participants[own];
        let own_ns = one.came_ns.saturating_add(self.late_ns[own].unwrap_or(0));
        let seen = |other: usize| {
            let other_ns = meeting.participants[other].came_ns.min(one.left_ns);
            other_ns.saturating_add(self.late_ns[other].unwrap_or(0))
        };
        let others_ns = match meeting.waiting {
            Waiting::Pairwise => other(meeting, own).map(seen),
            Waiting::ForSome => needs(meeting, own).checked_sub(1).map(|last| self.last_ns[last]),
            Waiting::ForTheLast => {
                let seen = meeting.participants.partition_point(|other| other.came_ns <= one.left_ns);
                let before = seen.checked_sub(1).map(|last| self.last_ns[last]);
                let after = self.most_late_ns.get(seen).map(|late_ns| one.left_ns.saturating_add(*late_ns));
                before.max(after)
            }
        };
        others_ns.map_or(own_ns, |others_ns| others_ns.max(own_ns))
    }
}

/// When the participant `own` was observed to start to transfer, on the job's clock.
pub(super) fn began_ns(meeting: &Meeting, own: usize) -> i64 {
    let one = &meeting.participants[own];
    let last = match meeting.waiting {
        Waiting::Pairwise => other(meeting, own),
        Waiting::ForSome => needs(meeting, own).checked_sub(1),
        Waiting::ForTheLast => meeting.participants.len().checked_sub(1),
    };
    let last_ns = last.map_or(one.came_ns, |last| meeting.participants[last].came_ns.min(one.left_ns));
    last_ns.max(one.came_ns)
}

/// Whom a participant of a message waits for: the receiver for the sender, and the sender for nobody.
fn other(meeting: &Meeting, own: usize) -> Option<usize> {
    let one = &meeting.participants[own];
    let is_other = |other: &crate::Participant| other.rank != one.rank;
    if one.kind == Kind::Send { None } else { meeting.participants.iter().position(is_other) }
}

/// How many of the first must have come before the participant `own` leaves.
fn needs(meeting: &Meeting, own: usize) -> usize {
    let one = &meeting.participants[own];
    match meeting.waiting {
        Waiting::ForTheLast => meeting.participants.len(),
        Waiting::Pairwise => other(meeting, own).map_or(0, |other| other + 1),
        Waiting::ForSome => meeting.participants.partition_point(|other| other.came_ns < one.left_ns),
    }
}
