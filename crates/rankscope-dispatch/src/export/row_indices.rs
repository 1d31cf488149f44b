//! An exchange as row numbers: which row of a tensor each row of a send buffer is, and which row of the receive buffer each row of
//! the attention layout is. That is what `index_select` and `all_to_all_single` take, and all that it takes to execute a plan
//! without kernels of one's own.
//!
//! Queries and keys travel in messages of their own here, one row per token, so that a buffer is a tensor. The way back is the
//! same numbers the other way round: rows that were taken twice are added up.

use rankscope_time::Rank;

use super::TaskLengths;
use crate::{Assignment, Batch, Direction, Error, Message, RankExchange, RowCopy, Rows, SplitBatch, SplitTask};

/// How the rows of a tensor get from the linear to the attention layout, as one rank sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowMoves {
    /// Rows of the tensor on this rank.
    pub rows: u64,
    /// Rows at the end of both buffers that stay on this rank and that counts leave out; none unless they were
    /// [put there](RowMoves::kept_last).
    pub kept: u64,
    /// For each row of the send buffer, the row of the tensor that it is. By receiver.
    pub send_rows: Vec<u64>,
    /// Rows for each rank.
    pub send_counts: Vec<u64>,
    /// Rows from each rank.
    pub receive_counts: Vec<u64>,
    /// For each row of the attention layout, the row of the receive buffer that it is.
    pub receive_rows: Vec<u64>,
}

/// Which document each row is of, and which of its tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenPlaces {
    /// Number of the document in the batch.
    pub documents: Vec<u32>,
    /// Position in the document, from 0.
    pub positions: Vec<u32>,
}

/// What one rank needs to execute a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowIndices {
    /// Queries; outputs return by the same numbers. Of a query that several tasks share, all outputs of a rank become one row of the
    /// buffer, and the rows of all ranks one at home: merged by their log-sum-exp, and not added.
    pub queries: RowMoves,
    /// Keys, or values: each goes once to a rank that needs it, and lies there once for every task that needs it.
    pub keys: RowMoves,
    /// The rows that the rank holds.
    pub held: TokenPlaces,
    /// The queries whose attention it computes.
    pub computed: TokenPlaces,
    /// Its tasks.
    pub tasks: TaskLengths,
    /// Whether the queries of each task see the keys up to themselves; else every query sees all keys.
    pub causal: Vec<bool>,
}

impl RowIndices {
    /// Those of `rank`.
    ///
    /// # Errors
    /// [`Error::NoSuchRank`]; [`Error::Overflow`].
    pub fn new<'a>(plan: impl Into<Assignment<'a>>, rank: Rank) -> Result<Self, Error> {
        let plan = plan.into();
        let ranks = plan.world_size() as usize;
        // A forward exchange whose keys have no bytes has queries and nothing else; one whose queries have none has keys and values, of
        // which keys are the first half of every message. No output is moved, whatever its log-sum-exp.
        let only = |hidden_q, hidden_kv| Rows { hidden_q, hidden_kv, lse: 0, element_bytes: 1 }.with_lse_of(1);
        let part = |rows| plan.rank_exchange(&rows, Direction::Forward, rank);
        let (queries, keys) = (part(only(ROW_BYTES, 0))?, part(only(0, ROW_BYTES))?);
        Ok(Self {
            queries: RowMoves::of(&queries, 0, 1, ranks),
            keys: RowMoves::of(&keys, 1, 2, ranks),
            held: TokenPlaces::of(plan.layout(), |shard| shard.linear == rank),
            computed: match plan.split() {
                Some(split) => TokenPlaces::of_tasks(split, rank),
                None => TokenPlaces::of(plan.layout(), |shard| shard.attention == rank),
            },
            causal: causal(&plan, rank),
            tasks: TaskLengths::of_rank(&plan, rank),
        })
    }
}

/// Whether the queries of each task of `rank` see the keys up to themselves.
fn causal(plan: &Assignment<'_>, rank: Rank) -> Vec<bool> {
    match plan.split() {
        Some(split) => split.tasks().iter().filter(|task| task.rank == rank).map(SplitTask::is_causal).collect(),
        None => plan.layout().shards().iter().filter(|shard| shard.attention == rank).map(|_| true).collect(),
    }
}

/// A row travels in multiples of it, so that this is the narrowest.
const ROW_BYTES: u32 = Rows::ALIGNMENT_BYTES as u32;

impl RowMoves {
    /// Of the tensor at `tensor` in an exchange whose messages have `parts` tensors, of which it is the first.
    fn of(part: &RankExchange, tensor: u32, parts: u64, ranks: usize) -> Self {
        let row = u64::from(ROW_BYTES) * parts;
        let counts = |messages: &[Message]| {
            let mut counts = vec![0; ranks];
            messages.iter().for_each(|message| counts[message.peer.0 as usize] = message.bytes / row);
            counts
        };
        let copies = |copies: &[RowCopy], messages: &[Message]| {
            let own = copies.iter().filter(|copy| copy.tensor == tensor && copy.rows > 0);
            own.map(|copy| (copy.row, copy.rows, row_in_buffer(copy.at, messages, parts))).collect::<Vec<_>>()
        };
        let (packed, unpacked) = (copies(&part.pack, &part.sends), copies(&part.unpack, &part.receives));
        let mut moves = Self {
            rows: part.input_rows[tensor as usize],
            kept: 0,
            send_rows: vec![0; (part.send_bytes / row) as usize],
            send_counts: counts(&part.sends),
            receive_counts: counts(&part.receives),
            receive_rows: vec![0; part.output_rows[tensor as usize] as usize],
        };
        for (from, rows, at) in packed {
            (from..from + rows).zip(&mut moves.send_rows[at as usize..]).for_each(|(row, place)| *place = row);
        }
        for (to, rows, at) in unpacked {
            (at..at + rows).zip(&mut moves.receive_rows[to as usize..]).for_each(|(row, place)| *place = row);
        }
        moves
    }

    /// The same with what `rank`, whose moves they are, would send itself at the end of both buffers, so that an all-to-all takes what is
    /// before it, and the end is copied from one to the other.
    #[must_use]
    pub fn kept_last(mut self, rank: Rank) -> Self {
        let own = rank.0 as usize;
        let before = |counts: &[u64]| counts.iter().take(own).sum::<u64>();
        let (sent, received) = (before(&self.send_counts), before(&self.receive_counts));
        // As many leave as come: both are the same message.
        let (Some(kept), Some(_)) = (self.send_counts.get_mut(own), self.receive_counts.get_mut(own).map(std::mem::take))
        else {
            return self;
        };
        let kept = std::mem::take(kept);
        self.send_rows[sent as usize..].rotate_left(kept as usize);
        let others: u64 = self.receive_counts.iter().sum();
        for row in &mut self.receive_rows {
            *row = match *row {
                first if first < received => first,
                own if own < received + kept => own - received + others,
                later => later - kept,
            };
        }
        self.kept += kept;
        self
    }
}

/// The row at byte `at` of a buffer, where every message is cut down to the first of its `parts`.
fn row_in_buffer(at: u64, messages: &[Message], parts: u64) -> u64 {
    let start = messages[..messages.partition_point(|message| message.at <= at)].last().map_or(0, |message| message.at);
    (start / parts + (at - start)) / u64::from(ROW_BYTES)
}

impl TokenPlaces {
    /// Of the queries of a rank's tasks, in order.
    fn of_tasks(batch: &SplitBatch, rank: Rank) -> Self {
        let mut places = Self::default();
        for task in batch.tasks().iter().filter(|task| task.rank == rank) {
            places.positions.extend(task.queries.clone());
            places.documents.resize(places.positions.len(), task.document as u32);
        }
        places
    }

    /// Of the shards that `has` picks, in order.
    fn of(batch: &Batch, has: impl Fn(&crate::Shard) -> bool) -> Self {
        let mut places = Self::default();
        for (document, shards) in (0..).zip(batch.documents()) {
            let mut start = 0;
            for shard in shards {
                if has(shard) {
                    places.positions.extend(start..start + shard.tokens);
                    places.documents.resize(places.positions.len(), document);
                }
                start += shard.tokens;
            }
        }
        places
    }
}
