//! What some ranks did in the meetings they took part in, as far as it constrains others.
//!
//! Of each meeting counts when the last that is needed had entered, and when the first that needs others left. Of a rank by itself
//! those are its columns as they are; of several a column is made of each block of meetings that any of them took part in.

use super::meetings::{Block, Meetings};

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

    /// Takes up what the member of `block` at `place` did.
    pub(super) fn take_up(&mut self, block: &Block<'_>, place: usize) {
        self.join(block.needed_since(place), block.needing_until(place));
    }

    fn join(&mut self, needed_since: Option<&[i64]>, needing_until: Option<&[i64]>) {
        for (own, other) in self.entered_ns.iter_mut().zip(needed_since.unwrap_or_default()) {
            *own = (*own).max(*other);
        }
        for (own, other) in self.left_ns.iter_mut().zip(needing_until.unwrap_or_default()) {
            *own = (*own).min(*other);
        }
    }

    /// Whether nobody of `other` left before all of `self` that are needed had entered.
    pub(super) fn fits(&self, other: &Self) -> bool {
        in_order(Some(&self.entered_ns), Some(&other.left_ns))
    }
}

impl Of {
    fn needed_since<'a>(&'a self, block: &Block<'a>) -> Option<&'a [i64]> {
        match self {
            Self::Member(place) => block.needed_since(*place as usize),
            Self::Several(passage) => Some(&passage.entered_ns),
        }
    }

    fn needing_until<'a>(&'a self, block: &Block<'a>) -> Option<&'a [i64]> {
        match self {
            Self::Member(place) => block.needing_until(*place as usize),
            Self::Several(passage) => Some(&passage.left_ns),
        }
    }

    /// Both together.
    fn and(self, other: &Self, block: &Block<'_>) -> Self {
        let mut joined = match self {
            Self::Several(passage) => passage,
            Self::Member(place) => {
                let mut passage = Passage::free(block.at.len());
                passage.take_up(block, place as usize);
                Box::new(passage)
            }
        };
        joined.join(other.needed_since(block), other.needing_until(block));
        Self::Several(joined)
    }
}

impl Passages {
    /// Those of a rank by itself, which has these blocks, and these places among their members.
    pub(super) fn of_rank(blocks: &[(u32, u32)]) -> Self {
        Self(blocks.iter().map(|(block, place)| (*block, Of::Member(*place))).collect())
    }

    /// Whether the stamps of `self` and of `other`, as they are, keep every cause before its effect between the two.
    pub(super) fn fit(&self, other: &Self, meetings: &Meetings) -> bool {
        let (few, many) = if self.0.len() <= other.0.len() { (self, other) } else { (other, self) };
        few.0.iter().all(|(at, own)| {
            let Ok(found) = many.0.binary_search_by_key(at, |(block, _)| *block) else { return true };
            let (block, other) = (meetings.block(*at as usize), &many.0[found].1);
            in_order(own.needed_since(&block), other.needing_until(&block))
                && in_order(other.needed_since(&block), own.needing_until(&block))
        })
    }

    /// Takes up what others did.
    pub(super) fn join(&mut self, other: Self, meetings: &Meetings) {
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
                Some((_, other)) => joined.push((at, own.and(&other, &meetings.block(at as usize)))),
                None => joined.push((at, own)),
            }
        }
        joined.extend(theirs);
        self.0 = joined;
    }
}

/// Whether nobody left before others had entered that are needed.
fn in_order(needed_since: Option<&[i64]>, needing_until: Option<&[i64]>) -> bool {
    let fit = |(entered, left): (&[i64], &[i64])| entered.iter().zip(left).fold(true, |fit, (from, to)| fit & (from <= to));
    needed_since.unwrap_or_default().chunks(RUN).zip(needing_until.unwrap_or_default().chunks(RUN)).all(fit)
}

/// So many stamps are looked at without a thought in between.
const RUN: usize = 256;
