//! [`Change`]: one thing that is different, as a type. Its text is what `--set` takes; [`parse`](super::parse) reads it.

use std::fmt;

use rankscope_time::Rank;

/// What a time is multiplied by. Never negative, and finite.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Factor(f64);

impl Factor {
    /// It takes no time.
    pub const ZERO: Self = Self(0.0);
    /// It takes half as long.
    pub const HALF: Self = Self(0.5);
    /// The largest: the longest stretch of the largest recording stays far below the end of 64 bits.
    pub const MOST: f64 = 1000.0;

    /// `value`, if it is above zero and at most [`MOST`](Self::MOST).
    pub fn of(value: f64) -> Option<Self> {
        (value > 0.0 && value <= Self::MOST).then_some(Self(value))
    }

    /// Its value.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0.0 { to.write_str("0") } else { write!(to, "{}x", self.0) }
    }
}

/// How far a collective reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Its ranks share a node.
    Intra,
    /// They do not.
    Inter,
    /// They are on these two nodes, the lower number first.
    Between(u32, u32),
}

impl fmt::Display for Reach {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Intra => to.write_str("intra"),
            Self::Inter => to.write_str("inter"),
            Self::Between(one, other) => write!(to, "{one}-{other}"),
        }
    }
}

/// One thing that is different.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// All kernels that this operator launches, and its time on the host, take so many times as long.
    Operator {
        /// Its name.
        name: String,
        /// How many times.
        factor: Factor,
    },
    /// All kernels of this name do.
    Kernel {
        /// Its name, or the beginning of it that no other has.
        name: String,
        /// How many times.
        factor: Factor,
    },
    /// The host's time in an annotation, a function or an operator does.
    Host {
        /// Its name, or the beginning of it that no other has.
        name: String,
        /// How many times.
        factor: Factor,
    },
    /// The rank works as long on everything as the median of the other ranks, step by step.
    RankAtMedian {
        /// The rank.
        rank: Rank,
    },
    /// All work of the rank takes so many times as long.
    RankTimes {
        /// The rank.
        rank: Rank,
        /// How many times.
        factor: Factor,
    },
    /// The transfer of these collectives does, once the ranks have come.
    Collective {
        /// The operation, as reports name it.
        kind: String,
        /// The name of the process group, or what it is for, such as `dp`; every group where none is given.
        group: Option<String>,
        /// How many times.
        factor: Factor,
    },
    /// Links are so many times as fast.
    Link {
        /// Which.
        reach: Reach,
        /// How many times as fast; nothing takes time on them where that is zero.
        speed: Factor,
    },
    /// Nothing but the end of the step waits for a transfer.
    PerfectOverlap,
    /// All ranks work as long on everything as the median of all, step by step.
    PerfectBalance,
    /// All of the host's time does, on all ranks.
    AllHost {
        /// How many times.
        factor: Factor,
    },
    /// Everything in this module or function of the program does, on devices and on the host.
    Within {
        /// Its name, or the beginning of it that no other has.
        place: String,
        /// How many times.
        factor: Factor,
    },
    /// The host waits for its device no more than once a step, at the end, and fetches nothing before.
    NoSynchronization,
    /// A kernel starts at once when it is launched and its stream is free.
    NoLaunchLag,
    /// Everything starts at once when what it waits for has ended.
    NoLag,
}

impl fmt::Display for Change {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator { name, factor } => write!(to, "op:{name}={factor}"),
            Self::Kernel { name, factor } => write!(to, "kernel:{name}={factor}"),
            Self::Host { name, factor } => write!(to, "host:{name}={factor}"),
            Self::RankAtMedian { rank } => write!(to, "rank:{}=median", rank.0),
            Self::RankTimes { rank, factor } => write!(to, "rank:{}={factor}", rank.0),
            Self::Collective { kind, group: None, factor } => write!(to, "collective:{kind}={factor}"),
            Self::Collective { kind, group: Some(group), factor } => write!(to, "collective:{kind}@{group}={factor}"),
            Self::Link { reach, speed } => write!(to, "link:{reach}={speed}"),
            Self::PerfectOverlap => to.write_str("overlap=perfect"),
            Self::PerfectBalance => to.write_str("balance=perfect"),
            Self::AllHost { factor } => write!(to, "host:*={factor}"),
            Self::Within { place, factor } => write!(to, "within:{place}={factor}"),
            Self::NoSynchronization => to.write_str("sync=0"),
            Self::NoLaunchLag => to.write_str("launch=0"),
            Self::NoLag => to.write_str("idle=0"),
        }
    }
}
