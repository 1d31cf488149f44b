//! How long a rank computes: floating-point operations over a rate, where no measured times are at hand.

use rankscope_time::Span;

use crate::network::transfer;
use crate::{Assignment, Error, Rows};

/// What one rank can do. Rates are what kernels reach, not what data sheets say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Attention kernels.
    pub attention_flops_per_second: u64,
    /// Matrix products of the dense layers.
    pub dense_flops_per_second: u64,
    /// Device memory, reads and writes together.
    pub memory_bytes_per_second: u64,
}

impl Machine {
    /// An H100: 3.35 TB/s nominal, and of its nominal 989 Tflop/s in bf16 an assumed half for matrices, less for attention.
    pub const H100: Self = Self {
        attention_flops_per_second: 400_000_000_000_000,
        dense_flops_per_second: 500_000_000_000_000,
        memory_bytes_per_second: 3_350_000_000_000,
    };

    /// Forward attention of every rank. A cell is a score and a weighted value: two products of a head's size for every head.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn attention<'a>(&self, plan: impl Into<Assignment<'a>>, rows: &Rows) -> Result<Vec<Span>, Error> {
        let flops_per_cell = 4 * u64::from(rows.hidden_q);
        let time = |cells: u64| {
            let flops = cells.checked_mul(flops_per_cell).ok_or(Error::Overflow { what: "the operations of one rank" })?;
            Ok(transfer(flops, self.attention_flops_per_second))
        };
        plan.into().cells()?.into_iter().map(time).collect()
    }

    /// Forward dense work of every rank, at `flops_per_token` a layer.
    #[must_use]
    pub fn dense(&self, tokens: &[u64], flops_per_token: u64) -> Vec<Span> {
        tokens.iter().map(|tokens| transfer(tokens.saturating_mul(flops_per_token), self.dense_flops_per_second)).collect()
    }

    /// A copy or a sum that reads and writes `bytes`.
    #[must_use]
    pub fn memory(&self, bytes: u64) -> Span {
        transfer(bytes, self.memory_bytes_per_second)
    }
}

impl Rows {
    /// Operations of the dense work of one token in one layer, forward: two for each weight of the projections and of a gated MLP
    /// three and a half times as wide as the layer, as in Llama 8B.
    #[must_use]
    pub fn dense_flops_per_token(&self) -> u64 {
        let (q, kv) = (u128::from(self.hidden_q), u128::from(self.hidden_kv));
        let flops = 2 * (2 * q * q + 2 * q * kv + 3 * q * (7 * q / 2));
        u64::try_from(flops).unwrap_or(u64::MAX)
    }
}
