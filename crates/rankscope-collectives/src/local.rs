//! One collective as one rank saw it.
//!
//! A rank does the same few operations thousands of times. So what is done is kept once a rank and shared by all collectives
//! that do it; a collective itself holds only when, where and with whom.

use std::num::NonZeroU64;
use std::ops::Deref;
use std::sync::Arc;

use rankscope_trace::SpanId;

use crate::{CollectiveStay, Kind, Splits};

/// What a collective does, as one rank recorded it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Operation {
    /// The operation.
    pub kind: Kind,
    /// Its name as recorded, or the kind's where nothing is.
    pub name: String,
    /// Element type as recorded; empty if not.
    pub dtype: String,
    /// Elements put in.
    pub in_elements: Option<u64>,
    /// Elements got out.
    pub out_elements: Option<u64>,
    /// Elements to and from each rank, where they are recorded.
    pub splits: Option<Splits>,
}

impl Operation {
    /// One of which nothing but its kind is recorded.
    pub fn of(kind: Kind) -> Self {
        Self { kind, name: kind.to_string(), dtype: String::new(), in_elements: None, out_elements: None, splits: None }
    }
}

/// A sequence number, where there is one: as large as the number alone. A job has millions of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(Option<NonZeroU64>);

impl Sequence {
    /// That number. The largest that there is, which no communicator counts to, is none.
    pub fn of(number: Option<u64>) -> Self {
        Self(number.and_then(|number| NonZeroU64::new(number.wrapping_add(1))))
    }

    /// It as one number, which leads back to it.
    pub(crate) fn stored(self) -> u64 {
        self.0.map_or(0, NonZeroU64::get)
    }

    /// The one that is stored as `number`.
    pub(crate) fn from_stored(number: u64) -> Self {
        Self(NonZeroU64::new(number))
    }

    /// The number.
    pub fn get(self) -> Option<u64> {
        self.0.map(|next| next.get() - 1)
    }
}

/// One rank's stay in one collective by itself: one of [`Collectives`](crate::Collectives) to come, or one of them that is changed. What it
/// does is read through it: `collective.kind`, `collective.name`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalCollective {
    /// What it does, shared with the rank's other collectives that do the same.
    pub operation: Arc<Operation>,
    /// The kernel or annotation.
    pub span: SpanId,
    /// When the rank entered, on its own clock, in nanoseconds since the epoch: of a message, when it was handed over.
    pub start_ns: i64,
    /// When it left.
    pub end_ns: i64,
    /// Index of the process group in the rank's list.
    pub group: u32,
    /// Sequence number within the communicator.
    pub sequence: Sequence,
    /// The other rank of a point-to-point operation; the root of an operation from or to one rank, where it is recorded.
    pub peer: Option<u32>,
}

impl Deref for LocalCollective {
    type Target = Operation;

    fn deref(&self) -> &Operation {
        &self.operation
    }
}

impl LocalCollective {
    /// A stay in the rank's first group, without a number or a peer.
    pub fn new(span: SpanId, start_ns: i64, end_ns: i64, operation: impl Into<Arc<Operation>>) -> Self {
        Self { operation: operation.into(), span, start_ns, end_ns, group: 0, sequence: Sequence::default(), peer: None }
    }

    /// As one of many is looked at.
    pub fn as_stay(&self) -> CollectiveStay<'_> {
        let Self { operation, span, start_ns, end_ns, group, sequence, peer } = self;
        let (span, start_ns, end_ns, group, sequence, peer) = (*span, *start_ns, *end_ns, *group, *sequence, *peer);
        CollectiveStay { operation, span, start_ns, end_ns, group, sequence, peer }
    }

    /// Whether this and `other` may be the same collective on two ranks. One that says nothing about itself may be any.
    pub(crate) fn may_be(&self, other: &Self) -> bool {
        if self.kind == Kind::Unknown || other.kind == Kind::Unknown {
            return true;
        }
        let known_and_different = |a: &Option<u64>, b: &Option<u64>| a.is_some() && b.is_some() && a != b;
        // A send is the same operation as its receive.
        let same_kind = self.kind == other.kind || (self.kind.is_point_to_point() && other.kind.is_point_to_point());
        same_kind
            && (self.dtype == other.dtype || self.dtype.is_empty() || other.dtype.is_empty())
            && !(self.kind.has_equal_inputs() && known_and_different(&self.in_elements, &other.in_elements))
    }

    /// Like [`may_be`](Self::may_be), but both must say the same, even if that is nothing.
    pub(crate) fn looks_like(&self, other: &Self) -> bool {
        (self.kind == Kind::Unknown) == (other.kind == Kind::Unknown) && self.may_be(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in [None, Some(0), Some(1), Some(u64::MAX - 1)] {
            assert_eq!(Sequence::of(number).get(), number);
            assert_eq!(Sequence::from_stored(Sequence::of(number).stored()).get(), number);
        }
        assert_eq!(Sequence::of(Some(u64::MAX)).get(), None);
        assert!(Sequence::of(None) < Sequence::of(Some(0)) && Sequence::of(Some(0)) < Sequence::of(Some(1)));
    }
}
