//! What every plan must satisfy, whoever made it (dispatch spec 2.7): conservation, packing, bijection, causality, copies, and
//! lengths that agree with all of these.
//!
//! Nothing here is derived the way a plan is: each property is read off the batch, or off the other columns, and compared.

mod padded;
mod plan;
mod tiling;

use std::fmt;

pub use padded::check_metadata;
pub use plan::check;

/// What can be violated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Property {
    /// Columns have the lengths that the batch implies.
    Shape,
    /// Every shard goes to the rank that computes it, and all copies of its keys to the ranks that need them.
    Destination,
    /// What is sent is what is received, pair by pair.
    Conservation,
    /// What a rank receives fills its buffer from the first token to the last, without a gap or an overlap.
    Packing,
    /// What is sent back arrives where it came from.
    Bijection,
    /// The keys of a task are those of its own document up to its own end, in order.
    Causality,
    /// Every copy of a shard comes back to a plane of its own.
    Planes,
    /// The cumulative lengths given to attention kernels end where the received tokens end.
    Lengths,
}

impl Property {
    /// In one word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shape => "shape",
            Self::Destination => "destination",
            Self::Conservation => "conservation",
            Self::Packing => "packing",
            Self::Bijection => "bijection",
            Self::Causality => "causality",
            Self::Planes => "planes",
            Self::Lengths => "lengths",
        }
    }
}

/// One place at which a plan is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What does not hold.
    pub property: Property,
    /// On which rank.
    pub rank: u32,
    /// What it is about, by the name of its column.
    pub what: &'static str,
    /// Which entry: the slot, task or copy on that rank, or the peer of a count.
    pub entry: usize,
    /// What it must be.
    pub expected: i64,
    /// What it is.
    pub found: i64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { property, rank, what, entry, expected, found } = self;
        write!(f, "{}: rank {rank}, {what}, entry {entry}: {found} where {expected} is right", property.as_str())
    }
}

/// Collects violations at one rank and property.
struct Findings {
    found: Vec<Violation>,
}

impl Findings {
    fn expect(&mut self, property: Property, rank: usize, what: &'static str, entry: usize, expected: i64, found: i64) {
        if expected != found {
            self.found.push(Violation { property, rank: rank as u32, what, entry, expected, found });
        }
    }
}
