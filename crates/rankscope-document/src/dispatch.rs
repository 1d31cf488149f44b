//! A plan for context-parallel attention: who computes what, what every rank has to do before and after planning, and who sends
//! how much to whom.

use serde::{Deserialize, Serialize};

use crate::Note;

/// A plan over all ranks, schema 1. Work is in whatever the planner balanced; only shares of it are drawn.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DispatchDocument {
    /// Version of this layout: 1.
    pub schema: u32,
    /// Version of the program that wrote it.
    pub rankscope_version: String,
    /// What was planned.
    pub title: String,
    /// Which planner.
    pub planner: String,
    /// Which pass of a layer: `forward` or `backward`. Nothing stands for the forward one.
    #[serde(default)]
    pub pass: String,
    /// Groups that heads are split into, if they are.
    #[serde(default)]
    pub head_groups: Option<u32>,
    /// How much a rank may exceed the mean, as a share of it, where the planner promises that.
    pub eps: Option<f64>,
    /// Work of the mean rank.
    pub mean_work: f64,
    /// What no rank may exceed, where the planner promises that.
    pub most_work: Option<f64>,
    /// Tokens of all documents.
    pub tokens: u64,
    /// Documents in the batch; [`Self::documents`] may hold only the longest.
    pub document_count: u64,
    /// Bytes that leave their rank in the two exchanges of the pass.
    pub moved_bytes: u64,
    /// What the reader should know.
    pub notes: Vec<Note>,
    /// By number.
    pub ranks: Vec<DispatchRank>,
    /// From, to, bytes; what a rank keeps for itself is left out.
    pub pairs: Vec<(u32, u32, u64)>,
    /// Longest first.
    pub documents: Vec<DispatchedDocument>,
}

/// What a rank holds, computes and moves.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DispatchRank {
    /// Number of the rank.
    pub rank: u32,
    /// Tokens it holds for the dense layers.
    pub tokens: u64,
    /// Work of the tokens it holds.
    pub work_before: f64,
    /// Work it was given.
    pub work_after: f64,
    /// Bytes it sends to others.
    pub sent_bytes: u64,
    /// Bytes it receives from others.
    pub received_bytes: u64,
}

/// A document and where its pieces went.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DispatchedDocument {
    /// Position in the batch.
    pub document: u64,
    /// Its length.
    pub tokens: u64,
    /// From start to end: the rank that holds the piece, the rank that computes it, tokens. Nothing where heads are split.
    pub shards: Vec<(u32, u32, u64)>,
    /// The same of each part of the heads, where they are split.
    #[serde(default)]
    pub heads: Vec<DispatchedHeads>,
}

/// Groups of heads of a document that are computed alike.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DispatchedHeads {
    /// Their numbers, from 0 on, rising.
    pub groups: Vec<u32>,
    /// As those of the document.
    pub shards: Vec<(u32, u32, u64)>,
}
