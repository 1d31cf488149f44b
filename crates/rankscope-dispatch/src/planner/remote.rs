//! What a plan moves, counted the way its cost is counted: queries and outputs of tokens whose attention is computed away from
//! home, and every key and value a rank needs of a document and does not hold, once.

use rustc_hash::FxHashMap;

use crate::{Batch, Pass, Rows};

/// Tokens whose rows cross between ranks in the forward pass of one layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// Queries computed away from home; as many outputs come back.
    pub queries: u64,
    /// Keys and values that a rank receives, once per document and rank.
    pub keys: u64,
    /// The same when every shard of queries fetches its own context, as plans without de-duplication do.
    pub keys_repeated: u64,
}

/// Bytes that one remote token costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// The query on its way out and the output on its way back.
    pub query: u64,
    /// Key and value.
    pub key: u64,
}

impl Prices {
    /// What rows of this size cost.
    #[must_use]
    pub fn of(rows: &Rows) -> Self {
        Self {
            query: rows.bytes(u64::from(rows.hidden_q)).saturating_mul(2).saturating_add(rows.bytes(u64::from(rows.lse))),
            key: rows.bytes(u64::from(rows.hidden_kv)).saturating_mul(2),
        }
    }

    /// The same of a pass: a backward one that sends everything again has three rows out and one back for each query, and two out and two
    /// back for each key.
    #[must_use]
    pub fn of_pass(rows: &Rows, pass: Pass) -> Self {
        let Self { query, key } = Self::of(rows);
        match pass {
            Pass::Forward => Self { query, key },
            Pass::Backward => Self {
                query: query.saturating_add(rows.bytes(u64::from(rows.hidden_q)).saturating_mul(2)),
                key: key.saturating_mul(2),
            },
        }
    }
}

impl Remote {
    /// Counts what `batch` moves.
    #[must_use]
    pub fn of(batch: &Batch) -> Self {
        let mut remote = Self::default();
        let mut reach = FxHashMap::default();
        let mut runs = Vec::new();
        for document in batch.documents() {
            runs.clear();
            reach.clear();
            let mut end = 0;
            for shard in document {
                let start = end;
                end += u64::from(shard.tokens);
                runs.push((shard.linear, start, end));
                if shard.tokens == 0 {
                    continue;
                }
                if shard.linear != shard.attention {
                    remote.queries += u64::from(shard.tokens);
                }
                reach.insert(shard.attention, end);
                remote.keys_repeated += end - held(&runs, shard.attention, end);
            }
            remote.keys += reach.iter().map(|(&rank, &end)| end - held(&runs, rank, end)).sum::<u64>();
        }
        remote
    }

    /// Bytes at these prices.
    #[must_use]
    pub fn bytes(&self, prices: Prices) -> u64 {
        self.queries.saturating_mul(prices.query).saturating_add(self.keys.saturating_mul(prices.key))
    }
}

/// Tokens before `end` that `rank` holds in the linear layout.
fn held(runs: &[(rankscope_time::Rank, u64, u64)], rank: rankscope_time::Rank, end: u64) -> u64 {
    runs.iter().filter(|run| run.0 == rank && run.1 < end).map(|run| run.2.min(end) - run.1).sum()
}
