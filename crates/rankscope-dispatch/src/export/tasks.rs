//! The tasks of every rank as attention kernels for packed sequences take them. Attention is causal with the queries aligned to
//! the *end* of their keys: query i of q sees the keys 0 to k - q + i of k. Of a task that takes keys before its queries every query
//! sees all.

use rankscope_time::Rank;

use crate::{Assignment, Error};

/// Tasks of one rank, in the order in which their rows lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLengths<T = u64> {
    /// Where each task's queries begin, and the end of the last; `[0]` on a rank without tasks.
    pub cu_seqlens_q: Vec<T>,
    /// Where each task's keys begin, and the end of the last.
    pub cu_seqlens_kv: Vec<T>,
    /// Most queries of a task; 0 where there is none.
    pub max_seqlen_q: T,
    /// Most keys of a task.
    pub max_seqlen_kv: T,
}

impl TaskLengths {
    /// The tasks of all ranks, each with its own context ([`Contexts::PerTask`](crate::Contexts::PerTask)).
    #[must_use]
    pub fn of_ranks<'a>(plan: impl Into<Assignment<'a>>) -> Vec<Self> {
        let plan = plan.into();
        let mut ranks = vec![Self::none(); plan.world_size() as usize];
        if let Some(split) = plan.split() {
            for task in split.tasks() {
                ranks[task.rank.0 as usize].add(task.queries.len() as u64, task.keys.len() as u64);
            }
            return ranks;
        }
        let batch = plan.layout();
        for document in batch.documents() {
            let mut end = 0;
            for shard in document {
                let queries = u64::from(shard.tokens);
                end += queries;
                ranks[shard.attention.0 as usize].add(queries, end);
            }
        }
        ranks
    }

    /// The tasks of one rank.
    #[must_use]
    pub fn of_rank<'a>(plan: impl Into<Assignment<'a>>, rank: Rank) -> Self {
        let plan = plan.into();
        let mut tasks = Self::none();
        if let Some(split) = plan.split() {
            let own = split.tasks().iter().filter(|task| task.rank == rank);
            own.for_each(|task| tasks.add(task.queries.len() as u64, task.keys.len() as u64));
            return tasks;
        }
        let batch = plan.layout();
        for document in batch.documents() {
            let mut end = 0;
            for shard in document {
                let queries = u64::from(shard.tokens);
                end += queries;
                if shard.attention == rank {
                    tasks.add(queries, end);
                }
            }
        }
        tasks
    }

    fn none() -> Self {
        Self { cu_seqlens_q: vec![0], cu_seqlens_kv: vec![0], max_seqlen_q: 0, max_seqlen_kv: 0 }
    }

    fn add(&mut self, queries: u64, keys: u64) {
        self.cu_seqlens_q.push(self.cu_seqlens_q.last().map_or(queries, |end| end + queries));
        self.cu_seqlens_kv.push(self.cu_seqlens_kv.last().map_or(keys, |end| end + keys));
        self.max_seqlen_q = self.max_seqlen_q.max(queries);
        self.max_seqlen_kv = self.max_seqlen_kv.max(keys);
    }

    /// As the 32-bit integers that kernels take.
    ///
    /// # Errors
    /// [`Error::Tokens`].
    pub fn narrowed(&self) -> Result<TaskLengths<i32>, Error> {
        let narrow = |tokens: &u64| i32::try_from(*tokens).map_err(|_| Error::Tokens { tokens: *tokens });
        Ok(TaskLengths {
            cu_seqlens_q: self.cu_seqlens_q.iter().map(narrow).collect::<Result<_, _>>()?,
            cu_seqlens_kv: self.cu_seqlens_kv.iter().map(narrow).collect::<Result<_, _>>()?,
            max_seqlen_q: narrow(&self.max_seqlen_q)?,
            max_seqlen_kv: narrow(&self.max_seqlen_kv)?,
        })
    }
}
