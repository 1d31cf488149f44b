//! Which of a layer's exchanges, and which tensors with which rows each of them moves (dispatch spec 2.8 and 2.9).

use super::{Join, TensorName, TensorRows};
use crate::{Error, Rows};

/// Which exchange of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Queries, keys and values go to where their attention is computed.
    Forward,
    /// Outputs, with their log-sum-exp columns, return to where the tokens live.
    Output,
    /// Gradients of the outputs go to where the attention was computed.
    OutputGradient,
    /// Gradients of queries, keys and values return.
    Backward,
    /// A backward pass that keeps nothing of the forward one: everything it needs goes to where it is computed.
    Resend,
}

/// How the keys and values of a document lie at a rank that computes several of its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contexts {
    /// Every task has its whole context as one run, which is what varlen attention kernels take with `cu_seqlens`. A token
    /// used by two tasks lies there twice, though it is sent once.
    PerTask,
    /// One range `[0, b)` per document, which all its tasks share; a task is then a start and two lengths.
    PerDocument,
}

impl Direction {
    /// All of them, in the order in which a layer runs them.
    pub const ALL: [Self; 5] = [Self::Forward, Self::Output, Self::OutputGradient, Self::Resend, Self::Backward];

    /// Those of a layer whose backward pass keeps what the forward one had, in the order of a step.
    pub const LAYER: [Self; 4] = [Self::Forward, Self::Output, Self::OutputGradient, Self::Backward];

    /// Whether rows go from the linear to the attention layout.
    #[must_use]
    pub fn to_attention(self) -> bool {
        matches!(self, Self::Forward | Self::OutputGradient | Self::Resend)
    }

    /// Whether keys and values, or their gradients, travel too.
    #[must_use]
    pub fn has_contexts(self) -> bool {
        matches!(self, Self::Forward | Self::Backward | Self::Resend)
    }

    /// The name for people and for files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Output => "output",
            Self::OutputGradient => "output-gradient",
            Self::Backward => "backward",
            Self::Resend => "resend",
        }
    }

    /// The tensors: one with a row per query token, then those with a row per key token, if any.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn tensors(self, rows: &Rows) -> Result<Vec<TensorRows>, Error> {
        let (q, kv, lse) = (u64::from(rows.hidden_q), u64::from(rows.hidden_kv), u64::from(rows.lse));
        let tensor = |name, elements: u64| {
            let row_bytes = elements.checked_mul(u64::from(rows.element_bytes));
            let wire_row_bytes = row_bytes.and_then(|bytes| bytes.checked_next_multiple_of(Rows::ALIGNMENT_BYTES));
            match (row_bytes, wire_row_bytes) {
                (Some(row_bytes), Some(wire_row_bytes)) => Ok(TensorRows { name, row_bytes, wire_row_bytes, join: Join::Add }),
                _ => Err(Error::Overflow { what: "the bytes of one row" }),
            }
        };
        let key_value = |key, value| Ok::<_, Error>([tensor(key, kv)?, tensor(value, kv)?]);
        let mut tensors = Vec::with_capacity(3);
        match self {
            Self::Forward => {
                tensors.push(tensor(TensorName::Query, q)?);
                tensors.extend(key_value(TensorName::Key, TensorName::Value)?);
            }
            Self::Output => tensors.push(tensor(TensorName::Output, q + lse)?),
            Self::OutputGradient => tensors.push(tensor(TensorName::OutputGradient, q)?),
            Self::Backward => {
                tensors.push(tensor(TensorName::QueryGradient, q)?);
                tensors.extend(key_value(TensorName::KeyGradient, TensorName::ValueGradient)?);
            }
            Self::Resend => {
                tensors.push(tensor(TensorName::QueryOutputGradient, 3 * q + lse)?);
                tensors.extend(key_value(TensorName::Key, TensorName::Value)?);
            }
        }
        Ok(tensors)
    }

    /// The same where outputs come in parts: they are merged, and gradients of outputs take along what a part needs to know of the
    /// whole. The log-sum-exp of `rows` is of 32 bits for every head, or of an element where that is longer.
    ///
    /// # Errors
    /// [`Error::Overflow`]; [`Error::Options`] for rows without log-sum-exp, or that are not as many elements for every head.
    pub fn split_tensors(self, rows: &Rows) -> Result<Vec<TensorRows>, Error> {
        let heads =
            rows.lse_heads().filter(|heads| *heads > 0 && rows.hidden_q.is_multiple_of(*heads)).ok_or(Error::Options {
                what: "outputs over part of the keys are merged by their log-sum-exp: rows need one of 32 bits for every head",
            })?;
        let mut tensors = match self {
            Self::OutputGradient => {
                let hidden_q = rows.lse.checked_mul(2).and_then(|beside| rows.hidden_q.checked_add(beside));
                let hidden_q = hidden_q.ok_or(Error::Overflow { what: "the bytes of one row" })?;
                self.tensors(&Rows { hidden_q, ..*rows })?
            }
            _ => self.tensors(rows)?,
        };
        if self == Self::Output {
            tensors[0].join = Join::Merge { heads };
        }
        Ok(tensors)
    }
}
