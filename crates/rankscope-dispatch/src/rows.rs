//! How many bytes a token takes on the wire: one row of queries, keys, values or outputs.

/// Sizes of the rows of one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Elements of a query row, and of an output row: heads times head size.
    pub hidden_q: u32,
    /// Elements of a key row, and of a value row: key/value heads times head size.
    pub hidden_kv: u32,
    /// Elements of log-sum-exp that travel beside a row of outputs.
    pub lse: u32,
    /// Bytes of one element.
    pub element_bytes: u32,
}

impl Rows {
    /// The widest load and store of a GPU; rows travel in multiples of it.
    pub const ALIGNMENT_BYTES: u64 = 16;

    /// Llama 8B in bf16: 32 heads and 8 key/value heads of 128, no log-sum-exp. What the planner counts in unless told.
    pub const LLAMA_8B: Self = Self { hidden_q: 4096, hidden_kv: 1024, lse: 0, element_bytes: 2 };

    /// Bytes of one log-sum-exp where elements have so many: kernels give 32 bits, and no fewer than an element has.
    #[must_use]
    pub fn lse_bytes(element_bytes: u32) -> u32 {
        element_bytes.max(4)
    }

    /// Heads that the log-sum-exp columns are for; nothing where they are not whole.
    #[must_use]
    pub fn lse_heads(&self) -> Option<u32> {
        let bytes = u64::from(self.lse) * u64::from(self.element_bytes);
        let each = u64::from(Self::lse_bytes(self.element_bytes));
        (bytes.is_multiple_of(each)).then(|| u32::try_from(bytes / each).ok()).flatten()
    }

    /// The same rows with a log-sum-exp for each of so many heads.
    #[must_use]
    pub fn with_lse_of(self, heads: u32) -> Self {
        let bytes = u64::from(heads) * u64::from(Self::lse_bytes(self.element_bytes));
        let lse = u32::try_from(bytes.div_ceil(u64::from(self.element_bytes.max(1)))).unwrap_or(u32::MAX);
        Self { lse, ..self }
    }

    /// Bytes of a row of `elements`.
    #[must_use]
    pub fn bytes(&self, elements: u64) -> u64 {
        elements * u64::from(self.element_bytes)
    }

    /// Bytes of a row of `elements`, padded to the 16 bytes in which kernels move them (dispatch spec 2.9).
    #[must_use]
    pub fn padded_bytes(&self, elements: u64) -> u64 {
        self.bytes(elements).next_multiple_of(Self::ALIGNMENT_BYTES)
    }
}
