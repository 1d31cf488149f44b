//! [`JobExecution`]: the graphs of all ranks, tied together by the collectives that they have in common.
//!
//! A meeting is a matched collective whose members have pieces in their ranks' graphs. Times of two ranks are compared on the job's
//! clock alone; what a clock leaves open is the caller's to know.

use rankscope_analyze::{Map, Waiting};
use rankscope_collectives::{Kind, Matched, RankCollectives};
use rankscope_time::Instant;

use crate::{Execution, PieceId};

/// A meeting, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MeetingId(pub u32);

/// One rank's part in a meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Participant {
    /// Index of the rank.
    pub rank: u32,
    /// Its piece.
    pub piece: PieceId,
    /// When it came, on the job's clock, in nanoseconds since the epoch.
    pub came_ns: i64,
    /// When it left, on the job's clock.
    pub left_ns: i64,
    /// What it does there: the receiver of a message waits for its sender.
    pub kind: Kind,
}

/// A matched collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// Index of its process group in [`Matched::groups`].
    pub group: usize,
    /// Index of it in [`Matched::instances`].
    pub instance: usize,
    /// Who waits for whom.
    pub waiting: Waiting,
    /// Those who take part, in order of their coming; of those who come together, in order of rank.
    pub participants: Vec<Participant>,
}

impl Meeting {
    /// Who came last.
    pub fn last(&self) -> &Participant {
        self.participants.last().expect("a meeting has two participants or more")
    }

    /// What the rank at index `rank` does in it.
    pub fn kind_of(&self, rank: u32) -> Option<Kind> {
        self.participants.iter().find(|one| one.rank == rank).map(|one| one.kind)
    }

    /// Whom the rank at index `rank` waits for, as far as the operation's kind tells: of a collective that needs all, the last to come;
    /// of a message, its sender for the receiver and nobody for the sender; where a root decides, the last who came before the rank
    /// left. Nobody where that is the rank itself, or who comes no later than it.
    pub fn awaited(&self, rank: u32) -> Option<&Participant> {
        let own = self.participants.iter().find(|one| one.rank == rank)?;
        let other = match self.waiting {
            Waiting::ForTheLast => self.participants.last(),
            Waiting::Pairwise if own.kind == Kind::Send => None,
            Waiting::Pairwise => self.participants.iter().find(|one| one.rank != rank),
            Waiting::ForSome => self.participants.iter().rev().find(|one| one.came_ns < own.left_ns),
        };
        other.filter(|other| other.rank != rank && other.came_ns > own.came_ns)
    }
}

/// The execution graph of a job. Lists are by rank, in one order.
#[derive(Clone, Debug)]
pub struct JobExecution<'a> {
    /// Each rank's graph.
    pub ranks: Vec<&'a Execution>,
    /// From each rank's clock to the job's.
    pub maps: Vec<&'a Map>,
    /// The meetings of two ranks or more, in the order of [`Matched::instances`].
    pub meetings: Vec<Meeting>,
    /// By rank: where it takes part with each of its collectives.
    seats: Vec<Vec<Seat>>,
}

/// Where a rank takes part with one of its collectives: in which meeting, and as which of its participants.
#[derive(Clone, Copy, Debug)]
struct Seat {
    /// [`NOWHERE`] where it is matched with none of another rank.
    meeting: u32,
    place: u32,
}

const NOWHERE: u32 = u32::MAX;

impl<'a> JobExecution<'a> {
    /// Ties the graphs of `ranks` together by what is `matched` of their `collectives`.
    pub fn new(ranks: Vec<&'a Execution>, maps: Vec<&'a Map>, collectives: &[RankCollectives], matched: &Matched) -> Self {
        let nowhere = Seat { meeting: NOWHERE, place: 0 };
        let mut seats: Vec<Vec<Seat>> = collectives.iter().map(|rank| vec![nowhere; rank.collectives.len()]).collect();
        let mut clocks: Vec<_> = maps.iter().map(|map| map.cursor()).collect();
        let mut meetings = Vec::with_capacity(matched.instances.len());
        // Those who take part in the one at hand, with the number of their collective.
        let mut came: Vec<(Participant, u32)> = Vec::new();
        for (instance, one) in matched.instances.iter().enumerate() {
            let mut kind = Kind::Unknown;
            came.clear();
            for member in one.members.iter() {
                let rank = member.rank();
                let Some(piece) = ranks[rank].of_collective(member.collective()) else { continue };
                let own = collectives[rank].collectives.stay(member.collective());
                kind = if kind == Kind::Unknown { own.kind } else { kind };
                let mut on_job_clock = |ns| clocks[rank].map(Instant::from_nanos_since_epoch(ns)).nanos_since_epoch();
                let (came_ns, left_ns) = (on_job_clock(own.start_ns), on_job_clock(own.end_ns));
                let participant = Participant { rank: rank as u32, piece, came_ns, left_ns, kind: own.kind };
                came.push((participant, member.collective() as u32));
            }
            if came.len() < 2 {
                continue;
            }
            came.sort_by_key(|(one, _)| (one.came_ns, one.rank));
            let meeting = meetings.len() as u32;
            for (place, (one, collective)) in (0..).zip(&came) {
                seats[one.rank as usize][*collective as usize] = Seat { meeting, place };
            }
            let participants = came.iter().map(|(one, _)| *one).collect();
            meetings.push(Meeting { group: one.group, instance, waiting: Waiting::of(kind), participants });
        }
        meetings.shrink_to_fit();
        drop(clocks);
        Self { ranks, maps, meetings, seats }
    }

    /// `nanos` of the clock of the rank at index `rank`, on the job's, in nanoseconds since the epoch.
    pub fn on_job_clock(&self, rank: usize, nanos: i64) -> i64 {
        self.maps[rank].map(Instant::from_nanos_since_epoch(nanos)).nanos_since_epoch()
    }

    /// The meeting that `piece` of the rank at index `rank` is the rank's part of.
    pub fn meeting(&self, rank: usize, piece: PieceId) -> Option<MeetingId> {
        Some(self.seat(rank, self.ranks[rank].collective(piece)?)?.0)
    }

    /// What the rank at index `rank` does with `piece` in its meeting, where it has one and that is known.
    pub(crate) fn kind_in_meeting(&self, rank: usize, piece: PieceId) -> Option<Kind> {
        let (id, place) = self.seat(rank, self.ranks[rank].collective(piece)?)?;
        Some(self.get(id).participants[place].kind).filter(|kind| *kind != Kind::Unknown)
    }

    /// The meeting that the collective number `collective` of the rank at index `rank` is the rank's part of, and the place of the rank
    /// among those who take part.
    pub(crate) fn seat(&self, rank: usize, collective: usize) -> Option<(MeetingId, usize)> {
        let seat = self.seats[rank].get(collective).filter(|seat| seat.meeting != NOWHERE)?;
        Some((MeetingId(seat.meeting), seat.place as usize))
    }

    /// The meetings of the rank at index `rank` with its part in each, in the order of its collectives.
    pub fn meetings_of(&self, rank: usize) -> impl Iterator<Item = (MeetingId, &Participant)> {
        (0..self.seats[rank].len()).filter_map(move |collective| {
            let (id, place) = self.seat(rank, collective)?;
            Some((id, &self.get(id).participants[place]))
        })
    }

    /// One meeting.
    pub fn get(&self, id: MeetingId) -> &Meeting {
        &self.meetings[id.0 as usize]
    }
}
