//! The parameters a profiler recorded with a collective, as recorded. What they mean is rankscope-collectives' business.

use crate::{SpanId, StrId};

/// Arguments of a span that says it is (part of) a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveArgs {
    /// The span that carries them: a kernel, a `record_param_comms` operator, or an annotation.
    pub span: SpanId,
    /// The collective's name as written: `allreduce`, `_allgather_base`.
    pub name: StrId,
    /// Element type as written: `BFloat16`, `float`.
    pub dtype: StrId,
    /// Elements this rank put in.
    pub in_elements: Option<u64>,
    /// Elements this rank got out.
    pub out_elements: Option<u64>,
    /// Size of the process group.
    pub group_size: Option<u32>,
    /// Name of the process group, unique within the job's frontend.
    pub group_name: StrId,
    /// What the process group is for.
    pub group_description: StrId,
    /// Global ranks of the group, as the text of a list; may be cut with `...`.
    pub group_ranks: StrId,
    /// Sequence number within the communicator.
    pub sequence: Option<u64>,
    /// Identity of the communicator.
    pub communicator: StrId,
    /// Sender of a point-to-point operation.
    pub source_rank: Option<u32>,
    /// Receiver of a point-to-point operation.
    pub destination_rank: Option<u32>,
    /// Elements to each rank, as the text of a list.
    pub in_split: StrId,
    /// Elements from each rank, as the text of a list.
    pub out_split: StrId,
}

impl CollectiveArgs {
    /// Arguments of `span` with everything yet unknown.
    pub fn of(span: SpanId) -> Self {
        Self {
            span,
            name: StrId::EMPTY,
            dtype: StrId::EMPTY,
            in_elements: None,
            out_elements: None,
            group_size: None,
            group_name: StrId::EMPTY,
            group_description: StrId::EMPTY,
            group_ranks: StrId::EMPTY,
            sequence: None,
            communicator: StrId::EMPTY,
            source_rank: None,
            destination_rank: None,
            in_split: StrId::EMPTY,
            out_split: StrId::EMPTY,
        }
    }
}
