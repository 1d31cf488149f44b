//! Which way the bytes of a remote token go: to where its attention is computed, and back.

use super::Prices;
use crate::Pass;

/// Bytes of one remote token, by way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ways {
    pub(super) query: Way,
    pub(super) key: Way,
}

/// There and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) out: u64,
    pub(super) back: u64,
}

impl Ways {
    /// Of a forward pass, a query goes out and an output as long comes back; keys and values stay where they went. Of a backward one
    /// that sends everything again, the query, its output and the gradient of that go out and a gradient comes back, and as much
    /// returns of keys and values as went out.
    pub(super) fn of(prices: Prices, pass: Pass) -> Self {
        let Prices { query, key } = prices;
        let (query_back, key_back) = match pass {
            Pass::Forward => (query / 2, 0),
            Pass::Backward => (query / 4, key / 2),
        };
        Self { query: Way { out: query - query_back, back: query_back }, key: Way { out: key - key_back, back: key_back } }
    }

    /// The same with a log-sum-exp for each query: beside its output, on the way back or on the way out again.
    pub(super) fn with_lse(self, lse_bytes: u64, pass: Pass) -> Self {
        let Way { out, back } = self.query;
        let query = match pass {
            Pass::Forward => Way { out, back: back.saturating_add(lse_bytes) },
            Pass::Backward => Way { out: out.saturating_add(lse_bytes), back },
        };
        Self { query, ..self }
    }
}
