//! What every plan must satisfy, whoever made it (dispatch spec 2.7): conservation, packing, bijection, causality, copies, and
//! lengths that agree with all of these.
//!
//! Nothing here is derived the way a plan is: each property is read off the batch, or off the other columns, and compared.
//! Where the inputs are known, [`rules`] say what stands at every entry.

mod attention;
mod mapping;
mod padded;
mod pairs;
mod plan;
pub mod rules;
mod tiling;

use std::fmt;

pub use attention::check_attention;
pub use mapping::check_mapping;
pub use padded::{Tensors, check_metadata};
pub use pairs::{Pairs, check_pairs};
pub use plan::check;

/// What can be violated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Property {
    /// Arrays have the shapes that the others imply.
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
    /// What is not in use holds what padding holds.
    Padding,
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
            Self::Padding => "padding",
        }
    }

    /// What it means that the property does not hold.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Shape => "shape mismatch",
            Self::Destination => "wrong destination",
            Self::Conservation => "tokens not conserved",
            Self::Packing => "wrong offset",
            Self::Bijection => "does not come back to where it came from",
            Self::Causality => "not the keys of the document up to the end of the query",
            Self::Planes => "wrong copy or plane",
            Self::Lengths => "wrong length",
            Self::Padding => "padding in use",
        }
    }
}

/// One place at which a plan is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What does not hold.
    pub property: Property,
    /// The array or column; those of metadata begin with `fwd.`, `rev.` or `attn.`.
    pub what: &'static str,
    /// Which entry: the rank, then the slot, task, copy or peer; the rank alone for something about all of its entries.
    pub index: Vec<usize>,
    /// What it must be.
    pub expected: i64,
    /// What it is.
    pub found: i64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { property, what, index, expected, found } = self;
        write!(f, "{}: {what}", property.as_str())?;
        index.iter().try_for_each(|at| write!(f, "[{at}]"))?;
        write!(f, " is {found} and must be {expected}: {}", property.meaning())
    }
}

/// Collects violations.
#[derive(Default)]
struct Findings {
    found: Vec<Violation>,
}

impl Findings {
    fn expect(&mut self, property: Property, what: &'static str, index: &[usize], expected: i64, found: i64) {
        if expected != found {
            self.found.push(Violation { property, what, index: index.to_vec(), expected, found });
        }
    }
}
