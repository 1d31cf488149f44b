//! Who computes what, and where: asked for by the user, or drawn from the seed.

use std::thread::available_parallelism;
use std::time::Duration;

use crate::hosts::Host;
use crate::random::Stream;
use crate::rank::{EXCHANGES_FOR_EACH_RANK, LAYERS, PASSES};
use crate::slow::{Because, Slowness};
use crate::work;

/// What one step is made of at most: computing and as much waiting.
const COMPUTING: Duration = Duration::from_millis(20);

/// Processors shall be half idle: agents and networks need some, and a machine is never alone.
const BUSY: f64 = 0.45;

/// A slow rank has this much more to do, and up to as much again.
const SLOWER: f64 = 0.6;

/// What the ids of demos begin with; a seed follows.
pub(crate) const RUN_ID: &str = "demo-";

/// A demo before it begins.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) ranks: u32,
    /// Where each of them runs.
    pub(crate) hosts: Vec<Host>,
    pub(crate) seed: u64,
    pub(crate) length: Duration,
    /// The slow rank.
    pub(crate) slow: u32,
    /// What it computes, over what the others do; with another cause, what that takes as if it were computing.
    pub(crate) slowness: f64,
    /// Why it is slow, if not for more of everything.
    pub(crate) because: Option<Because>,
    /// Whether ranks can be watched.
    pub(crate) live: bool,
    /// Whether the slow rank stands still from a moment on until the time is over.
    pub(crate) hangs: bool,
}

/// When a rank stands still that is to.
pub(crate) const STILL_FROM: Duration = Duration::from_secs(4);

impl Plan {
    pub(crate) fn draw(hosts: Vec<Host>, seed: u64, length: Duration) -> Self {
        let ranks = hosts.len() as u32;
        let mut rng = Stream::Straggler.of(seed);
        let slow = rng.below(u64::from(ranks)) as u32;
        Self {
            ranks,
            hosts,
            seed,
            length,
            slow,
            slowness: 1.0 + SLOWER * (1.0 + rng.unit()),
            because: None,
            live: false,
            hangs: false,
        }
    }

    /// Whether `rank` is the one that stands still.
    pub(crate) const fn stands_still(&self, rank: u32) -> bool {
        self.hangs && rank == self.slow
    }

    pub(crate) fn run_id(&self) -> String {
        format!("{RUN_ID}{}", self.seed)
    }

    /// Products of a layer's forward pass, for each rank.
    pub(crate) fn products(&self, product_ns: u64) -> Vec<u32> {
        let usual = work::products_in(self.computing(), product_ns * u64::from(PASSES));
        let more = |rank| rank == self.slow && self.because.is_none();
        let of = |rank| if more(rank) { (f64::from(usual) * self.slowness).ceil() as u32 } else { usual };
        (0..self.ranks).map(of).collect()
    }

    /// What `rank` does more than others, if it is the slow one and there is a cause.
    pub(crate) fn slowness_of(&self, rank: u32) -> Option<Slowness> {
        let because = self.because.filter(|_| rank == self.slow)?;
        let extra = self.extra();
        Some(match because {
            Because::DataLoader => Slowness::Loading(extra),
            // A third of the work is the forward pass.
            Because::Kernel => Slowness::Forward(1.0 + 3.0 * (self.slowness - 1.0)),
            Because::Host => Slowness::OtherWork(extra / LAYERS as u32),
            Because::Link => Slowness::Sending(extra / (EXCHANGES_FOR_EACH_RANK * (self.ranks - 1))),
        })
    }

    /// What the slow rank takes longer for a step.
    pub(crate) fn extra(&self) -> Duration {
        self.computing().mul_f64(self.slowness - 1.0)
    }

    /// What a rank that is not slow computes in a step.
    fn computing(&self) -> Duration {
        let processors = available_parallelism().map_or(1, usize::from) as f64;
        COMPUTING.mul_f64((BUSY * processors / f64::from(self.ranks)).min(1.0))
    }
}
