//! Documents where they lie, and tasks that take part of their keys: a range of queries by a range of keys.
//!
//! In a [`Batch`] every task takes its whole context. Here several ranks may share the keys of the same queries; each gives a
//! partial output beside its log-sum-exp, and the home of the queries weighs them by it. What holds for all of it is checked once,
//! when such a batch is made: every query is computed with every key up to itself, and with none twice. Nothing here plans.

mod cover;
mod task;

use rankscope_time::Rank;

use crate::{Batch, Error, Shard};

pub use task::{SplitFault, SplitTask};

/// The documents of one dispatch, and who computes which queries by which keys.
///
/// Order is meaning, as in a [`Batch`]: ranks hold their tokens in the order of the layout, and their tasks lie in the order of
/// documents, queries and keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitBatch {
    /// Its attention ranks are those where the tokens live, and say nothing.
    layout: Batch,
    tasks: Vec<SplitTask>,
    /// Where the tasks of each document start, and the end of the last.
    starts: Vec<usize>,
}

impl SplitBatch {
    /// The documents of `layout`, whose attention ranks are passed over, computed by `tasks`, which may be in any order.
    ///
    /// # Errors
    /// [`Error::SplitTask`] with the first task, in the order of documents, queries and keys, that cannot be: it is of no document,
    /// leaves it, has a shape that no kernel knows, or computes what another one does. [`Error::SplitGap`] with the first query and
    /// key that nobody computes.
    pub fn new(layout: &Batch, mut tasks: Vec<SplitTask>) -> Result<Self, Error> {
        tasks.sort_unstable_by_key(SplitTask::place);
        let mut starts = Vec::with_capacity(layout.len() + 1);
        starts.push(0);
        for (document, shards) in layout.documents().enumerate() {
            let begin = starts[document];
            let end = begin + tasks[begin..].partition_point(|task| task.document == document);
            let tokens = shards.iter().map(|shard| shard.tokens).sum();
            cover::check(document, tokens, layout.world_size(), begin, &tasks[begin..end])?;
            starts.push(end);
        }
        match tasks.get(starts[layout.len()]) {
            Some(task) => Err(Error::SplitTask {
                task: starts[layout.len()],
                document: task.document,
                fault: SplitFault::NoSuchDocument { documents: layout.len() },
            }),
            None => Ok(Self { layout: layout.at_home(), tasks, starts }),
        }
    }

    /// The same work: tasks with their whole contexts, those without tokens left out.
    #[must_use]
    pub fn of_whole(batch: &Batch) -> Self {
        let mut this = Self { layout: batch.at_home(), tasks: Vec::with_capacity(batch.shards().len()), starts: vec![0] };
        for (document, shards) in batch.documents().enumerate() {
            let mut start = 0;
            for shard in shards {
                let end = start + shard.tokens;
                if shard.tokens > 0 {
                    this.tasks.push(SplitTask { document, queries: start..end, keys: 0..end, rank: shard.attention });
                }
                start = end;
            }
            this.starts.push(this.tasks.len());
        }
        this
    }

    /// Ranks of the job.
    #[must_use]
    pub fn world_size(&self) -> u32 {
        self.layout.world_size()
    }

    /// The documents where they lie; each shard's attention rank is the one it lives on.
    #[must_use]
    pub fn layout(&self) -> &Batch {
        &self.layout
    }

    /// All tasks, in the order of documents, queries and keys.
    #[must_use]
    pub fn tasks(&self) -> &[SplitTask] {
        &self.tasks
    }

    /// The documents: where each lies, and its tasks.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = (&[Shard], &[SplitTask])> + Clone {
        self.layout.documents().zip(self.starts.windows(2)).map(|(shards, ends)| (shards, &self.tasks[ends[0]..ends[1]]))
    }

    /// Whether outputs of any query come in parts, which have to be merged.
    #[must_use]
    pub fn merges(&self) -> bool {
        self.tasks.iter().any(|task| !task.is_whole())
    }

    /// Attention work per rank, in score cells.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn cells(&self) -> Result<Vec<u64>, Error> {
        let mut cells = vec![0_u64; self.world_size() as usize];
        for task in &self.tasks {
            let sum = &mut cells[task.rank.0 as usize];
            *sum = sum.checked_add(task.cells()).ok_or(Error::Overflow { what: "the attention cells of one rank" })?;
        }
        Ok(cells)
    }

    /// The rank on which the token at `position` of a document lives.
    #[must_use]
    pub fn home(&self, document: usize, position: u32) -> Option<Rank> {
        let mut end = 0;
        let holds = |shard: &&Shard| {
            end += shard.tokens;
            position < end
        };
        self.layout.documents().nth(document)?.iter().find(holds).map(|shard| shard.linear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Batch {
        let mut batch = Batch::new(3).unwrap();
        let shard = |rank, tokens| Shard { linear: Rank(rank), attention: Rank(2), tokens };
        batch.push(&[shard(0, 4), shard(1, 6)]).unwrap();
        batch.push(&[]).unwrap();
        batch
    }

    fn task(queries: std::ops::Range<u32>, keys: std::ops::Range<u32>, rank: u32) -> SplitTask {
        SplitTask { document: 0, queries, keys, rank: Rank(rank) }
    }

    fn fault(tasks: Vec<SplitTask>) -> SplitFault {
        match SplitBatch::new(&layout(), tasks) {
            Err(Error::SplitTask { fault, .. }) => fault,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tasks_in_any_order_are_the_same_batch() {
        let tasks = vec![task(0..4, 0..4, 0), task(4..10, 0..4, 2), task(4..10, 4..10, 1)];
        let batch = SplitBatch::new(&layout(), tasks.clone()).unwrap();
        assert_eq!(batch.cells().unwrap(), [10, 21, 24]);
        assert_eq!(batch, SplitBatch::new(&layout(), tasks.into_iter().rev().collect()).unwrap());
        assert!(batch.merges());
        assert_eq!(batch.home(0, 4), Some(Rank(1)));
        assert_eq!(batch.documents().map(|(_, tasks)| tasks.len()).collect::<Vec<_>>(), [3, 0]);
    }

    #[test]
    fn what_cannot_be_is_named() {
        let whole = || task(0..10, 0..10, 0);
        assert_eq!(fault(vec![whole(), task(4..10, 0..4, 1)]), SplitFault::Twice { query: 4, key: 0 });
        assert_eq!(fault(vec![task(0..11, 0..11, 0)]), SplitFault::Outside { tokens: 10 });
        assert_eq!(fault(vec![task(0..10, 0..10, 3)]), SplitFault::NoSuchRank { world_size: 3 });
        assert_eq!(fault(vec![task(4..10, 0..5, 0)]), SplitFault::Shape);
        assert_eq!(fault(vec![task(4..10, 5..10, 0)]), SplitFault::Shape);
        assert_eq!(fault(vec![task(4..4, 0..4, 0)]), SplitFault::Empty);
        let elsewhere = SplitTask { document: 2, ..whole() };
        assert_eq!(fault(vec![whole(), elsewhere]), SplitFault::NoSuchDocument { documents: 2 });
        let gap = SplitBatch::new(&layout(), vec![task(0..4, 0..4, 0), task(4..10, 4..10, 1), task(4..8, 0..4, 1)]);
        assert_eq!(gap, Err(Error::SplitGap { document: 0, query: 8, key: 0 }));
        assert_eq!(SplitBatch::new(&layout(), vec![]), Err(Error::SplitGap { document: 0, query: 0, key: 0 }));
    }
}
