//! Who computes what, and where: asked for by the user, or drawn from the seed.

use std::thread::available_parallelism;
use std::time::Duration;

use crate::hosts::Host;
use crate::random::Stream;
use crate::rank::PASSES;
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
    /// What it computes, over what the others do.
    pub(crate) slowness: f64,
}

impl Plan {
    pub(crate) fn draw(hosts: Vec<Host>, seed: u64, length: Duration) -> Self {
        let ranks = hosts.len() as u32;
        let mut rng = Stream::Straggler.of(seed);
        let slow = rng.below(u64::from(ranks)) as u32;
        Self { ranks, hosts, seed, length, slow, slowness: 1.0 + SLOWER * (1.0 + rng.unit()) }
    }

    pub(crate) fn run_id(&self) -> String {
        format!("{RUN_ID}{}", self.seed)
    }

    /// Products of a layer's forward pass, for each rank.
    pub(crate) fn products(&self, product_ns: u64) -> Vec<u32> {
        let processors = available_parallelism().map_or(1, usize::from) as f64;
        let shared = (BUSY * processors / f64::from(self.ranks)).min(1.0);
        let usual = work::products_in(COMPUTING.mul_f64(shared), product_ns * u64::from(PASSES));
        let of = |rank| if rank == self.slow { (f64::from(usual) * self.slowness).ceil() as u32 } else { usual };
        (0..self.ranks).map(of).collect()
    }
}
