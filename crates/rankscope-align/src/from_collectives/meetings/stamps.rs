//! When members entered meetings and left them, wherever that is written.
//!
//! What ranks that are in step did stands in their own columns and is read there, a member at a time, so that it need not be there twice.
//! Of other meetings a rank's stamps are here and there, or each is asked for as often as there are ranks: those are copied.

use rankscope_collectives::{RankCollectives, Stretch};

/// Where the stamps of a block of meetings are.
#[derive(Clone, Debug)]
pub(super) enum Where<'a> {
    /// In the columns of the ranks, where these stretches say, one behind the other.
    InColumns(Vec<Stretch<'a>>),
    /// Among those that are copied, from this place on.
    Copied(usize),
}

/// Stamps of all members of a run of meetings.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stamps<'a> {
    /// In the columns of `ranks`: those of these stretches but for as many as are to be skipped.
    InColumns { ranks: &'a [RankCollectives], stretches: &'a [Stretch<'a>], skipped: usize },
    /// From the first meeting of the first member on, and how far apart those of two members are.
    Copied { entered_ns: &'a [i64], left_ns: &'a [i64], apart: usize },
}

/// Room for the stamps of one member.
#[derive(Debug, Default)]
pub(crate) struct Room {
    places: Vec<u64>,
    entered_ns: Vec<i64>,
    left_ns: Vec<i64>,
}

impl Room {
    pub(super) fn clear(&mut self) {
        self.entered_ns.clear();
        self.left_ns.clear();
    }

    /// Adds when the member at `place` entered the collectives of `stretch`, and when it left.
    pub(super) fn add(&mut self, ranks: &[RankCollectives], stretch: &Stretch<'_>, place: usize) {
        let Self { places, entered_ns, left_ns } = self;
        let places = stretch.places(place, places);
        ranks[stretch.rank(place)].collectives.add_stamps(&places, entered_ns, left_ns);
    }

    /// Adds the stamps of one meeting.
    pub(super) fn add_one(&mut self, (entered_ns, left_ns): (i64, i64)) {
        self.entered_ns.push(entered_ns);
        self.left_ns.push(left_ns);
    }

    /// When the member entered each, and when it left.
    pub(super) fn stamps_ns(&self) -> (&[i64], &[i64]) {
        (&self.entered_ns, &self.left_ns)
    }
}

impl<'a> Stamps<'a> {
    /// Those of the member at `place` in the first `rows` meetings.
    pub(super) fn of_member<'b>(&self, place: usize, rows: usize, room: &'b mut Room) -> (&'b [i64], &'b [i64])
    where
        'a: 'b,
    {
        match *self {
            Self::Copied { entered_ns, left_ns, apart } => {
                let own = |stamps_ns: &'a [i64]| told(&stamps_ns[place * apart..][..rows]);
                (own(entered_ns), own(left_ns))
            }
            Self::InColumns { ranks, stretches, skipped } => {
                room.clear();
                let (mut first, mut rest) = (skipped, rows);
                for stretch in stretches {
                    if rest == 0 {
                        break;
                    }
                    let own = stretch.part(first..stretch.len().min(first + rest));
                    room.add(ranks, &own, place);
                    (first, rest) = (0, rest - own.len());
                }
                room.stamps_ns()
            }
        }
    }

    /// When the member at `place` entered the meeting at `row`, and when it left.
    pub(super) fn one(&self, place: usize, row: usize) -> (i64, i64) {
        match *self {
            Self::Copied { entered_ns, left_ns, apart } => (entered_ns[place * apart + row], left_ns[place * apart + row]),
            Self::InColumns { ranks, stretches, skipped } => {
                let (stretches, skipped) = after(stretches, skipped + row);
                let member = stretches[0].member(place, skipped);
                ranks[member.rank()].collectives.stamps_ns(member.collective())
            }
        }
    }

    /// Those of the meetings behind the first `rows`.
    pub(super) fn behind(self, rows: usize) -> Self {
        match self {
            Self::Copied { entered_ns, left_ns, apart } => {
                // Of the last member nothing stands behind its last row.
                let behind = |stamps_ns: &'a [i64]| &stamps_ns[rows.min(stamps_ns.len())..];
                Self::Copied { entered_ns: behind(entered_ns), left_ns: behind(left_ns), apart }
            }
            Self::InColumns { ranks, stretches, skipped } => {
                let (stretches, skipped) = after(stretches, skipped + rows);
                Self::InColumns { ranks, stretches, skipped }
            }
        }
    }
}

/// The stretches in which the meetings after the first `skipped` are, and how many of the first of them are still to be skipped.
fn after<'a, 'b>(mut stretches: &'b [Stretch<'a>], mut skipped: usize) -> (&'b [Stretch<'a>], usize) {
    while let Some((first, others)) = stretches.split_first().filter(|(first, _)| first.len() <= skipped) {
        (skipped, stretches) = (skipped - first.len(), others);
    }
    (stretches, skipped)
}

/// `stretches` one behind the other, as few as they make.
pub(super) fn joined<'a>(stretches: impl IntoIterator<Item = Stretch<'a>>) -> Vec<Stretch<'a>> {
    let mut all = Vec::new();
    stretches.into_iter().for_each(|stretch| join(&mut all, stretch));
    all
}

/// Adds `stretch` behind the others.
pub(super) fn join<'a>(stretches: &mut Vec<Stretch<'a>>, stretch: Stretch<'a>) {
    match stretches.last_mut().and_then(|last| Some((last.and(&stretch)?, last))) {
        Some((both, last)) => *last = both,
        None => stretches.push(stretch),
    }
}

/// The same stamps, which are about to be read.
fn told(stamps_ns: &[i64]) -> &[i64] {
    rankscope_scratch::read(size_of_val(stamps_ns));
    stamps_ns
}
