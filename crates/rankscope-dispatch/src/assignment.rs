//! Who computes what, whichever way it is said: tasks with whole contexts or with part of their keys, of all heads or of groups
//! of them. What follows from a plan (exchanges, loads, time) asks here.

use std::borrow::Cow;
use std::num::NonZeroU32;

use rankscope_time::Rank;

use crate::{Batch, Contexts, Direction, Error, Exchange, RankExchange, Rows, SplitBatch};

/// A plan, borrowed or not: the tasks of every rank, and how many groups of heads its documents stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment<'a> {
    computed: Computed<'a>,
    head_groups: HeadGroups,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Computed<'a> {
    Whole(Cow<'a, Batch>),
    Split(Cow<'a, SplitBatch>),
}

impl<'a> From<&'a Batch> for Assignment<'a> {
    fn from(batch: &'a Batch) -> Self {
        Self { computed: Computed::Whole(Cow::Borrowed(batch)), head_groups: HeadGroups::ONE }
    }
}

impl<'a> From<&'a SplitBatch> for Assignment<'a> {
    fn from(batch: &'a SplitBatch) -> Self {
        Self { computed: Computed::Split(Cow::Borrowed(batch)), head_groups: HeadGroups::ONE }
    }
}

impl From<Batch> for Assignment<'_> {
    fn from(batch: Batch) -> Self {
        Self { computed: Computed::Whole(Cow::Owned(batch)), head_groups: HeadGroups::ONE }
    }
}

impl From<SplitBatch> for Assignment<'_> {
    fn from(batch: SplitBatch) -> Self {
        Self { computed: Computed::Split(Cow::Owned(batch)), head_groups: HeadGroups::ONE }
    }
}

impl<'a> From<&'a Assignment<'_>> for Assignment<'a> {
    fn from(plan: &'a Assignment<'_>) -> Self {
        let computed = match &plan.computed {
            Computed::Whole(batch) => Computed::Whole(Cow::Borrowed(batch)),
            Computed::Split(batch) => Computed::Split(Cow::Borrowed(batch)),
        };
        Self { computed, head_groups: plan.head_groups }
    }
}

impl Assignment<'_> {
    /// The same of documents that are each one of so many groups of heads.
    ///
    /// # Errors
    /// [`Error::HeadGroups`] where the documents do not repeat.
    pub fn of_heads(self, head_groups: HeadGroups) -> Result<Self, Error> {
        head_groups.check(self.layout())?;
        Ok(Self { head_groups, ..self })
    }

    /// Groups of heads.
    #[must_use]
    pub fn head_groups(&self) -> HeadGroups {
        self.head_groups
    }

    /// The batch, if tasks take whole contexts.
    #[must_use]
    pub fn whole(&self) -> Option<&Batch> {
        match &self.computed {
            Computed::Whole(batch) => Some(batch),
            Computed::Split(_) => None,
        }
    }

    /// The batch, if tasks may take part of their keys.
    #[must_use]
    pub fn split(&self) -> Option<&SplitBatch> {
        match &self.computed {
            Computed::Whole(_) => None,
            Computed::Split(batch) => Some(batch),
        }
    }

    /// The documents where they lie. Attention ranks say nothing where keys are split.
    #[must_use]
    pub fn layout(&self) -> &Batch {
        match &self.computed {
            Computed::Whole(batch) => batch,
            Computed::Split(batch) => batch.layout(),
        }
    }

    /// Ranks of the job.
    #[must_use]
    pub fn world_size(&self) -> u32 {
        self.layout().world_size()
    }

    /// Whether outputs of any query come in parts, which have to be merged.
    #[must_use]
    pub fn merges(&self) -> bool {
        self.split().is_some_and(SplitBatch::merges)
    }

    /// Tokens per rank in the linear layout, each counted once, whatever its heads.
    #[must_use]
    pub fn linear_tokens(&self) -> Vec<u64> {
        let groups = u64::from(self.head_groups.get());
        self.layout().linear_tokens().into_iter().map(|rows| rows / groups).collect()
    }

    /// Attention work per rank, in score cells of a group of heads.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn cells(&self) -> Result<Vec<u64>, Error> {
        match &self.computed {
            Computed::Whole(batch) => batch.cells(),
            Computed::Split(batch) => batch.cells(),
        }
    }

    /// The exchange in `direction`, of rows of a group of heads.
    ///
    /// # Errors
    /// Those of [`Exchange::new`] and [`Exchange::of_split`].
    pub fn exchange(&self, rows: &Rows, direction: Direction) -> Result<Exchange, Error> {
        match &self.computed {
            Computed::Whole(batch) => Exchange::new(batch, rows, direction),
            Computed::Split(batch) => Exchange::of_split(batch, rows, direction),
        }
    }

    /// What one rank does in it.
    ///
    /// # Errors
    /// Those of [`RankExchange::new`] and [`RankExchange::of_split`].
    pub fn rank_exchange(&self, rows: &Rows, direction: Direction, rank: Rank) -> Result<RankExchange, Error> {
        match &self.computed {
            Computed::Whole(batch) => RankExchange::new(batch, rows, direction, Contexts::PerTask, rank),
            Computed::Split(batch) => RankExchange::of_split(batch, rows, direction, rank),
        }
    }
}

/// Into how many groups heads are split. What attention computes for one head depends on no other, so a group of heads of a
/// document is a document of its own, with rows that are as much narrower: ranks hold it where they hold the others, and any rank
/// may compute it. The documents of the first group come first, all of them, then those of the second, and so on; a tensor of
/// `[tokens, heads, size]` is brought into that order by `view(tokens, groups, heads / groups, size).transpose(0, 1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HeadGroups(NonZeroU32);

impl HeadGroups {
    /// All heads together.
    pub const ONE: Self = Self(NonZeroU32::MIN);

    /// So many; at least one.
    #[must_use]
    pub fn new(groups: u32) -> Option<Self> {
        NonZeroU32::new(groups).map(Self)
    }

    /// How many.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0.get()
    }

    /// Rows of one group, of those of all heads.
    ///
    /// # Errors
    /// [`Error::Options`] where they do not divide.
    pub fn rows(self, all: &Rows) -> Result<Rows, Error> {
        let groups = self.get();
        let divides = [all.hidden_q, all.hidden_kv, all.lse].iter().all(|elements| elements.is_multiple_of(groups));
        let what =
            "rows do not divide into so many groups of heads: every group has the same number of query heads, and of key heads";
        divides.then_some(self.divided(all)).ok_or(Error::Options { what })
    }

    fn divided(self, all: &Rows) -> Rows {
        let groups = self.get();
        Rows { hidden_q: all.hidden_q / groups, hidden_kv: all.hidden_kv / groups, lse: all.lse / groups, ..*all }
    }

    /// Rows of all heads, of those of one group.
    #[must_use]
    pub fn all_rows(self, group: &Rows) -> Rows {
        let all = |elements: u32| elements.saturating_mul(self.get());
        Rows { hidden_q: all(group.hidden_q), hidden_kv: all(group.hidden_kv), lse: all(group.lse), ..*group }
    }

    /// Query heads of one group, if all groups have so many together; of 128 elements each where that is not said, or one.
    ///
    /// # Errors
    /// [`Error::Options`] for heads that groups do not divide evenly, or rows of a group.
    pub fn heads_of(self, group: &Rows, all: Option<u32>) -> Result<u32, Error> {
        let Some(all) = all else {
            let (heads, rest) = (group.hidden_q / HEAD_ELEMENTS, group.hidden_q % HEAD_ELEMENTS);
            return Ok(if rest == 0 { heads.max(1) } else { 1 });
        };
        let heads = all / self.get();
        match heads > 0 && all.is_multiple_of(self.get()) && group.hidden_q.is_multiple_of(heads) {
            true => Ok(heads),
            false => Err(Error::Options {
                what: "query rows, and groups of heads, have no such heads: say how many there are in all",
            }),
        }
    }

    /// The documents of `batch` once for every group.
    ///
    /// # Errors
    /// [`Error::Overflow`] for more documents than memory has room for.
    pub fn repeated(self, batch: &Batch) -> Result<Batch, Error> {
        let shards = batch.shards().len().max(batch.len()).checked_mul(self.get() as usize);
        if shards.is_none_or(|shards| shards > u32::MAX as usize) {
            return Err(Error::Overflow { what: "the documents of all groups of heads" });
        }
        let mut all = Batch::new(batch.world_size())?;
        for _ in 0..self.get() {
            batch.documents().try_for_each(|document| all.push(document))?;
        }
        Ok(all)
    }

    /// Whether the documents of `layout` are the same in every group, on the same ranks. How they are cut into shards may differ.
    fn check(self, layout: &Batch) -> Result<(), Error> {
        let groups = self.get() as usize;
        let refused = |document| Err(Error::HeadGroups { groups: self.get(), documents: layout.len(), document });
        if !layout.len().is_multiple_of(groups) {
            return refused(layout.len());
        }
        let each = layout.len() / groups;
        let runs = |document: usize| {
            let mut runs: Vec<(Rank, u64)> = Vec::new();
            for shard in layout.document(document).iter().filter(|shard| shard.tokens > 0) {
                match runs.last_mut() {
                    Some(run) if run.0 == shard.linear => run.1 += u64::from(shard.tokens),
                    _ => runs.push((shard.linear, shard.tokens.into())),
                }
            }
            runs
        };
        match (each..layout.len()).find(|&document| runs(document) != runs(document % each)) {
            Some(document) => refused(document),
            None => Ok(()),
        }
    }
}

/// Of a head of most models.
const HEAD_ELEMENTS: u32 = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shard;

    fn batch() -> Batch {
        let mut batch = Batch::new(2).unwrap();
        let shard = |rank, tokens| Shard { linear: Rank(rank), attention: Rank(1), tokens };
        batch.push(&[shard(0, 4), shard(1, 6)]).unwrap();
        batch.push(&[shard(1, 3)]).unwrap();
        batch
    }

    #[test]
    fn documents_stand_once_for_every_group() {
        let groups = HeadGroups::new(4).unwrap();
        let all = groups.repeated(&batch()).unwrap();
        assert_eq!(all.len(), 8);
        let assignment = Assignment::from(&all).of_heads(groups).unwrap();
        assert_eq!(assignment.linear_tokens(), batch().linear_tokens());
        assert_eq!(groups.all_rows(&groups.rows(&Rows::LLAMA_8B).unwrap()), Rows::LLAMA_8B);
    }

    #[test]
    fn groups_that_differ_are_refused() {
        let groups = HeadGroups::new(2).unwrap();
        let batch = batch();
        let refused = Assignment::from(&batch).of_heads(groups);
        assert_eq!(refused, Err(Error::HeadGroups { groups: 2, documents: 2, document: 1 }));
        let three = HeadGroups::new(3).unwrap();
        assert_eq!(Assignment::from(&batch).of_heads(three), Err(Error::HeadGroups { groups: 3, documents: 2, document: 2 }));
        assert!(three.rows(&Rows::LLAMA_8B).is_err());
        assert_eq!(HeadGroups::new(0), None);
    }

    #[test]
    fn heads_are_told_of_all_groups_together() {
        let groups = HeadGroups::new(4).unwrap();
        let rows = groups.rows(&Rows::LLAMA_8B).unwrap();
        assert_eq!((groups.heads_of(&rows, Some(32)), groups.heads_of(&rows, None)), (Ok(8), Ok(8)));
        assert_eq!(groups.heads_of(&Rows { hidden_q: 64, ..rows }, None), Ok(1));
        for none in [0, 2, 30, 12] {
            assert!(groups.heads_of(&rows, Some(none)).is_err(), "{none}");
        }
    }
}
