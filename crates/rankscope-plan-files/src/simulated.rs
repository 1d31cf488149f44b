//! A plan whose bytes were moved in memory: the document of `dispatch simulate`.

use std::time::Duration;

use rankscope_dispatch::movement::ElementType;
use rankscope_dispatch::{ContextTokens, Direction, Error, Exchange, Message};
use rankscope_time::Rank;
use serde::Serialize;

use crate::plan::{self, Plan};
use crate::spelling;

/// All exchanges of a layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Simulation {
    /// Layout version.
    pub schema: u32,
    /// What this is.
    pub kind: &'static str,
    /// The hash that names the plan.
    pub plan_hash: String,
    /// Ranks.
    pub world_size: u32,
    /// Type of the elements.
    #[serde(serialize_with = "spelling::element")]
    pub dtype: ElementType,
    /// Keys that are sent, and that tasks use.
    pub contexts: Contexts,
    /// In the order of a layer.
    pub exchanges: Vec<Moved>,
    /// Always true: what differs from the reference is an error.
    pub verified: bool,
}

/// What is saved by sending a key once to every rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Contexts {
    /// Tokens that tasks use, each counted for every task.
    pub tokens_per_task: u64,
    /// The same, counted once for every rank.
    pub tokens_per_rank: u64,
    /// One over the other.
    pub ratio: f64,
}

/// One exchange as it was moved.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Moved {
    /// Which exchange.
    #[serde(serialize_with = "spelling::direction")]
    pub direction: Direction,
    /// All bytes, those that ranks keep included.
    pub bytes: u64,
    /// Bytes between ranks.
    pub remote_bytes: u64,
    /// What working out the exchange took.
    pub plan_seconds: f64,
    /// What moving it took.
    pub move_seconds: f64,
    /// By rank.
    pub ranks: Vec<RankBytes>,
}

/// One rank of an exchange.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RankBytes {
    /// Which rank.
    pub rank: u32,
    /// Bytes of its send buffer.
    pub send_bytes: u64,
    /// Bytes of its receive buffer.
    pub receive_bytes: u64,
    /// Bytes to others.
    pub remote_send_bytes: u64,
    /// Bytes from others.
    pub remote_receive_bytes: u64,
}

impl Simulation {
    /// Exchanges of `plan` that were moved and verified.
    ///
    /// # Errors
    /// [`Error::Overflow`] where tokens leave 64 bits.
    pub fn new(plan: &Plan, dtype: ElementType, exchanges: Vec<Moved>) -> Result<Self, Error> {
        let tokens = ContextTokens::new(&plan.assignment)?;
        Ok(Self {
            schema: 1,
            kind: "rankscope_dispatch_simulation",
            plan_hash: plan::hash(&plan.assignment, &plan.rows),
            world_size: plan.assignment.world_size(),
            dtype,
            contexts: Contexts { tokens_per_task: tokens.per_task, tokens_per_rank: tokens.per_rank, ratio: tokens.ratio() },
            exchanges,
            verified: true,
        })
    }
}

impl Moved {
    /// What `exchange` moved, which took so long to work out and so long to move.
    #[must_use]
    pub fn new(exchange: &Exchange, direction: Direction, planned: Duration, moved: Duration) -> Self {
        let traffic = exchange.traffic();
        let remote = |messages: &[Message], rank: Rank| {
            messages.iter().filter(|message| message.peer != rank).map(|message| message.bytes).sum()
        };
        let ranks = exchange.ranks.iter().map(|part| RankBytes {
            rank: part.rank.0,
            send_bytes: part.send_bytes,
            receive_bytes: part.receive_bytes,
            remote_send_bytes: remote(&part.sends, part.rank),
            remote_receive_bytes: remote(&part.receives, part.rank),
        });
        Self {
            direction,
            bytes: traffic.pairs().iter().map(|pair| pair.2).sum(),
            remote_bytes: traffic.remote_bytes(),
            plan_seconds: planned.as_secs_f64(),
            move_seconds: moved.as_secs_f64(),
            ranks: ranks.collect(),
        }
    }
}
