//! How an answer is computed: by the library, or, to be held against an answer, by the rules of the specification.

use rankscope_dispatch::alltoall::{self, LogicalOutput, PlannerOptions, PlannerOutput};
use rankscope_dispatch::draw::Drawn;
use rankscope_dispatch::metadata::{self, AttentionLayout, Compat, KeyValueMapping, Metadata, QkvDispatch, RawDispatch};
use rankscope_dispatch::properties::rules;
use rankscope_dispatch::{Batch, Padded, Rows};

use super::error::Result;

/// Whose numbers to give where the original is wrong; see [`rankscope_dispatch::metadata::Compat`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// What is really sent.
    Exact,
    /// Add what the documented revision prints, under names that begin with `documented`.
    Documented,
}

/// Who computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Library,
    /// Slow, and written a second time. Inputs are put to the library first, which refuses what is wrong with them.
    Rules,
}

/// Both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) revision: Revision,
    pub(crate) source: Source,
}

impl Way {
    fn or_rule<T>(self, library: T, rule: impl FnOnce() -> Result<T, rankscope_dispatch::Error>) -> Result<T> {
        Ok(match self.source {
            Source::Library => library,
            Source::Rules => rule()?,
        })
    }

    pub(super) fn metadata(self, lengths: &Padded, dispatch: &Padded) -> Result<(Metadata, Metadata)> {
        self.or_rule(metadata::compute_metadata(lengths, dispatch)?, || rules::compute_metadata(lengths, dispatch))
    }

    /// The documented revision counts in its own way, for which there is no rule.
    pub(super) fn key_values(self, mapping: &KeyValueMapping<'_>) -> Result<(Metadata, Metadata)> {
        match self.revision {
            Revision::Documented => Ok(metadata::compute_metadata_kv(mapping, Compat::Documented)?),
            Revision::Exact => {
                let exact = metadata::compute_metadata_kv(mapping, Compat::Exact)?;
                self.or_rule(exact, || rules::compute_metadata_kv(mapping))
            }
        }
    }

    pub(super) fn attention(self, lengths: &Padded, sums: &Padded, dispatch: &Padded) -> Result<AttentionLayout> {
        let layout = metadata::compute_attn_layout_seqlens(lengths, sums, dispatch)?;
        self.or_rule(layout, || Ok(rules::compute_attn_layout_seqlens(lengths, sums, dispatch)))
    }

    pub(super) fn raw(self, drawn: &Drawn) -> Result<RawDispatch> {
        self.or_rule(drawn.raw()?, || rules::raw_dispatch(&drawn.batch, drawn.max_cp_degree as usize))
    }

    pub(super) fn whole(self, raw: &RawDispatch) -> Result<QkvDispatch> {
        self.or_rule(raw.metadata(Compat::Exact)?, || rules::whole(raw))
    }

    pub(super) fn logical_bytes(self, raw: &RawDispatch, rows: &Rows) -> Result<LogicalOutput> {
        let step = alltoall::compute_e2e_fa2a_metadata(raw, rows)?;
        self.or_rule(step, || rules::compute_e2e_fa2a_metadata(raw, rows))
    }

    pub(super) fn planner_bytes(self, batch: &Batch, rows: &Rows, options: PlannerOptions) -> Result<PlannerOutput> {
        let step = alltoall::from_planner_output(batch, rows, options)?;
        self.or_rule(step, || Ok(rules::from_planner_output(batch, rows, options)))
    }
}
