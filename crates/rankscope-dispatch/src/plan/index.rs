//! Where every shard begins in both layouts: what all ranks must agree on, and nothing that one rank could derive alone.

use super::TaskOrder;
use crate::{Batch, Error};

/// One pass over a batch, from which the columns of any rank follow.
#[derive(Clone, Debug, Default)]
pub struct Index {
    pub(super) world_size: u32,
    /// Most shards of one document, which is also how often its first one is copied.
    pub(super) replicas: u32,
    /// By rank, and one more.
    pub(super) slots: Vec<u32>,
    pub(super) tasks: Vec<u32>,
    /// First key/value slot, by rank, and the end of the last.
    pub(super) runs: Vec<u32>,
    /// First copy, by rank, and the end of the last.
    pub(super) copies: Vec<u32>,
    /// Tokens that each rank holds.
    pub(super) held: Vec<u32>,
    /// By shard of the batch, in three columns, because they are read in three orders: a task reads the sources of its document
    /// up to its own, and tasks that follow each other lie far apart; so as many of those as can be share a cache line.
    pub(super) sources: Vec<Source>,
    pub(super) receivers: Vec<Receiver>,
    pub(super) ahead: Vec<Ahead>,
    /// Shards in the order of slots, and of tasks.
    pub(super) by_slot: Vec<u32>,
    pub(super) by_task: Vec<u32>,
}

/// Where a shard lies.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
pub(super) struct Source {
    /// Who holds it, from which token on, and how many tokens.
    pub(super) rank: u32,
    pub(super) start: u32,
    pub(super) tokens: u32,
    /// The first shard of the document.
    pub(super) first: u32,
}

/// Who computes a shard.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(8))]
pub(super) struct Receiver {
    pub(super) rank: u32,
    /// Where its run of keys begins there.
    pub(super) first_key: u32,
}

/// What the linear layout asks of a shard besides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// End of the document's shards.
    pub(super) end: u32,
    /// Tokens of the document before this shard.
    pub(super) context: u32,
    /// Where its queries begin at the receiver.
    pub(super) query_offset: u32,
}

/// Running sums of one rank.
#[derive(Clone, Copy, Default)]
struct Held {
    slot: u32,
    tokens: u64,
    copies: u64,
}

#[derive(Clone, Copy, Default)]
struct Received {
    task: u32,
    queries: u64,
    keys: u64,
    run: u64,
}

impl Index {
    /// Reads `batch` twice, once to count and once to place.
    ///
    /// # Errors
    /// [`Error::Overflow32`] when an offset does not fit 32 bits; [`Error::TooLarge`].
    pub fn new(batch: &Batch, order: TaskOrder) -> Result<Self, Error> {
        let mut index = Self::default();
        index.rebuild(batch, order)?;
        Ok(index)
    }

    /// Becomes the index of another batch, in the memory it has.
    ///
    /// # Errors
    /// Those of [`Index::new`]; the index is then as it was.
    pub fn rebuild(&mut self, batch: &Batch, order: TaskOrder) -> Result<(), Error> {
        let shards = batch.shards().len();
        if u32::try_from(shards).is_err() {
            return Err(Error::TooLarge { shape: vec![shards] });
        }
        let (held, received, replicas) = totals(batch)?;
        (self.world_size, self.replicas) = (batch.world_size(), replicas);
        starts(&mut self.slots, held.iter().map(|rank| u64::from(rank.slot)));
        starts(&mut self.tasks, received.iter().map(|rank| u64::from(rank.task)));
        starts(&mut self.runs, received.iter().map(|rank| rank.run));
        starts(&mut self.copies, held.iter().map(|rank| rank.copies));
        // `totals` has shown that all of these fit.
        replace(&mut self.held, held.iter().map(|rank| rank.tokens as u32));
        self.sources.clear();
        self.sources.reserve(shards);
        self.receivers.clear();
        self.receivers.reserve(shards);
        self.ahead.clear();
        self.ahead.reserve(shards);
        sized(&mut self.by_slot, shards);
        sized(&mut self.by_task, shards);
        self.place(batch, order);
        Ok(())
    }

    fn place(&mut self, batch: &Batch, order: TaskOrder) {
        let mut next_slot: Vec<_> = self.slots.iter().map(|&slot| (slot, 0_u32)).collect();
        let mut next_task: Vec<NextTask> = self.tasks.iter().map(|&task| (task, 0, 0)).collect();
        let mut first = 0;
        for document in batch.documents() {
            let end = first + document.len() as u32;
            let mut context = 0;
            for (shard, at) in document.iter().zip(first..) {
                let (slot, start) = &mut next_slot[shard.linear.0 as usize];
                self.by_slot[*slot as usize] = at;
                self.sources.push(Source { rank: shard.linear.0, start: *start, tokens: shard.tokens, first });
                *slot += 1;
                *start += shard.tokens;
                let (query_offset, first_key) = match order {
                    TaskOrder::Documents => {
                        let next = &mut next_task[shard.attention.0 as usize];
                        self.by_task[next.0 as usize] = at;
                        take_place(next, shard.tokens, context)
                    }
                    TaskOrder::Slots => (0, 0),
                };
                self.receivers.push(Receiver { rank: shard.attention.0, first_key });
                self.ahead.push(Ahead { end, context, query_offset });
                context += shard.tokens;
            }
            first = end;
        }
        if order == TaskOrder::Slots {
            for &at in &self.by_slot {
                let (receiver, ahead) = (&mut self.receivers[at as usize], &mut self.ahead[at as usize]);
                let next = &mut next_task[receiver.rank as usize];
                self.by_task[next.0 as usize] = at;
                (ahead.query_offset, receiver.first_key) = take_place(next, self.sources[at as usize].tokens, ahead.context);
            }
        }
    }
}

/// The next task of a rank, and where its queries and keys begin.
type NextTask = (u32, u32, u32);

/// Where the queries and keys of a task of so many tokens after `context` others begin at its rank.
fn take_place((task, query_offset, first_key): &mut NextTask, tokens: u32, context: u32) -> (u32, u32) {
    let place = (*query_offset, *first_key);
    *task += 1;
    *query_offset += tokens;
    *first_key += context + tokens;
    place
}

/// Sums per rank, and the most copies of a shard; refused unless every offset fits 32 bits.
fn totals(batch: &Batch) -> Result<(Vec<Held>, Vec<Received>, u32), Error> {
    let ranks = batch.world_size() as usize;
    let (mut held, mut received) = (vec![Held::default(); ranks], vec![Received::default(); ranks]);
    let mut replicas = 0;
    for document in batch.documents() {
        let shards = document.len() as u64;
        replicas = replicas.max(shards);
        let mut end = 0_u64;
        for (shard, at) in document.iter().zip(0..) {
            let (tokens, rank) = (u64::from(shard.tokens), &mut held[shard.linear.0 as usize]);
            rank.slot += 1;
            rank.tokens += tokens;
            rank.copies += shards - at;
            end += tokens;
            let rank = &mut received[shard.attention.0 as usize];
            rank.task += 1;
            rank.queries += tokens;
            // A batch of 2^32 shards of 2^32 tokens is the most there is, so none of these sums wraps but perhaps the next.
            rank.keys = rank.keys.saturating_add(end);
            rank.run += at + 1;
        }
    }
    let copies = held.iter().map(|rank| rank.copies).sum();
    let most_received = received.iter().map(|rank| rank.queries.max(rank.keys)).max().unwrap_or(0);
    fits(held.iter().map(|rank| rank.tokens).max().unwrap_or(0), most_received, replicas, copies)?;
    Ok((held, received, replicas as u32))
}

/// Refuses what has an offset beyond 32 bits: at the rank that holds most, or at the one that receives most.
pub(super) fn fits(most_held: u64, most_received: u64, replicas: u64, copies: u64) -> Result<(), Error> {
    if most_held.saturating_mul(replicas) > u64::from(u32::MAX) {
        return Err(Error::Overflow32 { what: "the offsets in the gradient planes of one rank" });
    }
    if most_received > u64::from(u32::MAX) {
        return Err(Error::Overflow32 { what: "the offsets in the tokens that one rank receives" });
    }
    match copies <= MOST_COPIES {
        true => Ok(()),
        false => Err(Error::TooLarge { shape: vec![copies as usize] }),
    }
}

fn starts(starts: &mut Vec<u32>, counts: impl Iterator<Item = u64>) {
    let mut end = 0;
    let ends = counts.map(|count| {
        // The sum over all ranks is a number of shards or of copies, and both have been checked.
        end += count as u32;
        end
    });
    replace(starts, std::iter::once(0).chain(ends));
}

/// Gives a column its length. What was in it stays until it is overwritten, and memory fresh from the system, which is zero, is
/// not written twice.
pub(super) fn sized(column: &mut Vec<u32>, length: usize) {
    match column.capacity() < length {
        true => *column = vec![0; length],
        false => column.resize(length, 0),
    }
}

fn replace(column: &mut Vec<u32>, values: impl Iterator<Item = u32>) {
    column.clear();
    column.extend(values);
}

/// Copies grow with the square of a document's shards, so a small file could ask for any amount. This is a hundred times the
/// plan of 8192 ranks and takes 3 GB.
const MOST_COPIES: u64 = 1 << 27;
