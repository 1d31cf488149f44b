//! Metadata in the types of the kernels' arguments. Offsets of 32 bits bound a gradient buffer to 4.29e9 tokens; what does not
//! fit is refused, never wrapped.

use super::Metadata;
use crate::{Error, Padded};

/// [`Metadata`] in narrow columns; shapes are those of the metadata it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// -1 where nothing is sent.
    pub dst_rank: Vec<i32>,
    /// In tokens.
    pub dst_offset: Vec<u32>,
    /// In tokens.
    pub seq_len: Vec<u32>,
    /// In tokens.
    pub num_recv_tokens: Vec<u64>,
    /// 0 or 1.
    pub seq_recv_mask: Option<Vec<u32>>,
    /// In tokens.
    pub recv_seq_lens: Option<Vec<u32>>,
    /// Slots in use.
    pub num_seqs: Vec<i32>,
}

impl Columns {
    pub(super) fn new(metadata: &Metadata) -> Result<Self, Error> {
        let optional =
            |tensor: &Option<Padded>, column| tensor.as_ref().map(|t| narrow(t, column, "32 bits without sign")).transpose();
        Ok(Self {
            dst_rank: narrow(&metadata.dst_rank, "dst_rank", "32 bits with sign")?,
            dst_offset: narrow(&metadata.dst_offset, "dst_offset", "32 bits without sign")?,
            seq_len: narrow(&metadata.seq_len, "seq_len", "32 bits without sign")?,
            num_recv_tokens: narrow(&metadata.num_recv_tokens, "num_recv_tokens", "64 bits without sign")?,
            seq_recv_mask: optional(&metadata.seq_recv_mask, "seq_recv_mask")?,
            recv_seq_lens: optional(&metadata.recv_seq_lens, "recv_seq_lens")?,
            num_seqs: narrow(&metadata.num_seqs, "num_seqs", "32 bits with sign")?,
        })
    }
}

fn narrow<T: TryFrom<i64>>(tensor: &Padded, column: &'static str, to: &'static str) -> Result<Vec<T>, Error> {
    let narrow = |(entry, &value)| T::try_from(value).map_err(|_| Error::Narrow { column, entry, value, to });
    tensor.values().iter().enumerate().map(narrow).collect()
}
