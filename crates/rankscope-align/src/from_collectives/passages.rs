//! What some ranks did in the meetings they took part in, as far as it constrains others.
//!
//! Of each meeting counts when the last that is needed had entered, and when the first that needs others left. Of a rank by itself
//! those are its columns as they are; of several a column is made of each block of meetings that any of them took part in.

use super::meetings::{Block, Column, Meetings, Room};

/// Of each block, ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct Passages(Vec<(u32, Of)>);

#[derive(Clone, Debug)]
enum Of {
    /// The block's member at this place.
    Member(u32),
    /// Several.
    Several(Box<Passage>),
}

/// Of each meeting of a block, when the last that is needed had entered, and when the first that needs others left; the ends of
/// time where there is none.
#[derive(Clone, Debug)]
pub(super) struct Passage {
    entered_ns: Vec<i64>,
    left_ns: Vec<i64>,
}

impl Passage {
    /// Nobody in so many meetings.
    pub(super) fn free(rows: usize) -> Self {
        Self { entered_ns: vec![i64::MIN; rows], left_ns: vec![i64::MAX; rows] }
    }

    /// Takes up what a member of the block did.
    pub(super) fn take_up(&mut self, column: &Column<'_>) {
        self.join(Passed { needed_since: column.needed_since(), needing_until: column.needing_until() });
    }

    fn join(&mut self, other: Passed<'_>) {
        for (own, other) in self.entered_ns.iter_mut().zip(other.needed_since.unwrap_or_default()) {
            *own = (*own).max(*other);
        }
        for (own, other) in self.left_ns.iter_mut().zip(other.needing_until.unwrap_or_default()) {
            *own = (*own).min(*other);
        }
    }

    fn passed(&self) -> Passed<'_> {
        Passed { needed_since: Some(&self.entered_ns), needing_until: Some(&self.left_ns) }
    }

    /// Whether nobody of `other` left before all of `self` that are needed had entered.
    pub(super) fn fits(&self, other: &Self) -> bool {
        in_order(&self.passed(), &other.passed())
    }
}

/// What is known of a passage: nothing where nobody is needed, or nobody needs anybody.
#[derive(Clone, Copy)]
struct Passed<'a> {
    needed_since: Option<&'a [i64]>,
    needing_until: Option<&'a [i64]>,
}

impl Of {
    /// What it is in `block`; `room` is for what has to be read.
    fn passed<'a>(&'a self, block: &Block<'a>, room: &'a mut Room) -> Passed<'a> {
        match self {
            Self::Member(place) => {
                let column = block.column(*place as usize, room);
                Passed { needed_since: column.needed_since(), needing_until: column.needing_until() }
            }
            Self::Several(passage) => passage.passed(),
        }
    }

    /// Both together.
    fn and(self, other: &Self, block: &Block<'_>, room: &mut Room) -> Self {
        let mut joined = match self {
            Self::Several(passage) => passage,
            Self::Member(place) => {
                let mut passage = Passage::free(block.at.len());
                passage.take_up(&block.column(place as usize, room));
                Box::new(passage)
            }
        };
        joined.join(other.passed(block, room));
        Self::Several(joined)
    }
}

impl Passages {
    /// Those of a rank by itself, which has these blocks, and these places among their members.
    pub(super) fn of_rank(blocks: &[(u32, u32)]) -> Self {
        Self(blocks.iter().map(|(block, place)| (*block, Of::Member(*place))).collect())
    }

    /// Whether the stamps of `self` and of `other`, as they are, keep every cause before its effect between the two.
    pub(super) fn fit(&self, other: &Self, meetings: &Meetings<'_>, [room, other_room]: &mut [Room; 2]) -> bool {
        let (few, many) = if self.0.len() <= other.0.len() { (self, other) } else { (other, self) };
        few.0.iter().all(|(at, own)| {
            let Ok(found) = many.0.binary_search_by_key(at, |(block, _)| *block) else { return true };
            let block = meetings.block(*at as usize);
            let (own, other) = (own.passed(&block, room), many.0[found].1.passed(&block, other_room));
            in_order(&own, &other) && in_order(&other, &own)
        })
    }

    /// Takes up what others did.
    pub(super) fn join(&mut self, other: Self, meetings: &Meetings<'_>, [room, _]: &mut [Room; 2]) {
        if self.0.is_empty() {
            *self = other;
            return;
        }
        let mut joined = Vec::with_capacity(self.0.len().max(other.0.len()));
        let mut theirs = other.0.into_iter().peekable();
        for (at, own) in self.0.drain(..) {
            while let Some(one) = theirs.next_if(|(other, _)| *other < at) {
                joined.push(one);
            }
            match theirs.next_if(|(other, _)| *other == at) {
                Some((_, other)) => joined.push((at, own.and(&other, &meetings.block(at as usize), room))),
                None => joined.push((at, own)),
            }
        }
        joined.extend(theirs);
        self.0 = joined;
    }
}

/// Whether nobody of `left` left before those of `entered` had entered that are needed.
fn in_order(entered: &Passed<'_>, left: &Passed<'_>) -> bool {
    let fit = |(entered, left): (&[i64], &[i64])| entered.iter().zip(left).fold(true, |fit, (from, to)| fit & (from <= to));
    entered.needed_since.unwrap_or_default().chunks(RUN).zip(left.needing_until.unwrap_or_default().chunks(RUN)).all(fit)
}

/// So many stamps are looked at without a thought in between.
const RUN: usize = 256;
