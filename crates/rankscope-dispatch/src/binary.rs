//! Plans as few bytes: what a launcher hands to every rank.
//!
//! `RKDP`, the version (one byte), then unsigned LEB128 numbers: ranks; the four fields of [`Rows`]; documents; for each, its
//! shards; for each of those, the rank it lives on and the rank of its attention, both as zigzag steps (from the shard before,
//! and from the one to the other), and its tokens. The last 32 bytes are the BLAKE3 hash of everything before them; they name
//! the plan.
//!
//! That is version 1. Version 2 is of plans that split keys or heads: after the rows it has the groups of heads, and 1 if keys are
//! split, else 0. Where they are, shards have no attention rank, and after its shards a document has its tasks: first query and
//! their number, first key and their number, and the rank as a step from the task before.
//!
//! Decoding believes no count: a plan takes no more memory than a small multiple of its bytes, and every plan has exactly one
//! encoding.

use rankscope_time::Rank;

use crate::{Assignment, Batch, Error, HeadGroups, Rows, Shard, SplitBatch, SplitTask};

/// Bytes of the hash that names a plan.
pub const HASH_BYTES: usize = 32;

const MAGIC: &[u8] = b"RKDP";
/// All heads together, and whole contexts.
const WHOLE: u8 = 1;
/// Anything else.
const SPLIT: u8 = 2;
/// The fewest bytes of a shard: two steps and its tokens.
const SHARD_BYTES: usize = 3;
/// Of one without attention rank.
const LAYOUT_BYTES: usize = 2;
/// The fewest bytes of a task: two ranges and a step.
const TASK_BYTES: usize = 5;

/// The plan as bytes, its hash at the end.
#[must_use]
pub fn encode<'a>(plan: impl Into<Assignment<'a>>, rows: &Rows) -> Vec<u8> {
    let mut bytes = body(&plan.into(), rows);
    let hash = blake3::hash(&bytes);
    bytes.extend_from_slice(hash.as_bytes());
    bytes
}

/// The hash that names a plan, in whichever form it is kept.
#[must_use]
pub fn hash<'a>(plan: impl Into<Assignment<'a>>, rows: &Rows) -> [u8; HASH_BYTES] {
    *blake3::hash(&body(&plan.into(), rows)).as_bytes()
}

/// The plan that `bytes` encode.
///
/// # Errors
/// [`Error::Encoding`], naming the byte; [`Error::NoRanks`], [`Error::RankOutOfRange`], [`Error::Overflow`]; those of
/// [`SplitBatch::new`] and [`Assignment::of_heads`].
pub fn decode(bytes: &[u8]) -> Result<(Assignment<'static>, Rows), Error> {
    let mut reader = Reader { bytes, at: 0 };
    if reader.take(MAGIC.len()) != Some(MAGIC) {
        return Err(Error::Encoding { at: 0, what: "not a plan: it does not start with RKDP" });
    }
    let version = match reader.take(1) {
        Some(&[version @ (WHOLE | SPLIT)]) => version,
        _ => return Err(Error::Encoding { at: MAGIC.len(), what: "an unknown version" }),
    };
    // Damage is called damage, and not whatever the damaged numbers happen to say.
    let Some(end) = bytes.len().checked_sub(HASH_BYTES).filter(|end| *end >= reader.at) else {
        return Err(Error::Encoding { at: bytes.len(), what: "the plan is cut off" });
    };
    if blake3::hash(&bytes[..end]).as_bytes() != &bytes[end..] {
        return Err(Error::Encoding { at: end, what: "the hash does not match: bytes are missing or damaged" });
    }
    reader.bytes = &bytes[..end];
    let plan = reader.plan(version)?;
    match reader.at == end {
        true => Ok(plan),
        false => Err(Error::Encoding { at: reader.at, what: "bytes after the last document" }),
    }
}

fn body(plan: &Assignment<'_>, rows: &Rows) -> Vec<u8> {
    let (layout, groups) = (plan.layout(), plan.head_groups());
    let tasks = plan.split().map_or(0, |split| split.tasks().len());
    // Steps between ranks of one node and lengths of a few thousand tokens take one and two bytes.
    let capacity = MAGIC.len() + HASH_BYTES + 32 + layout.len() + 5 * layout.shards().len() + 9 * tasks;
    let mut bytes = Vec::with_capacity(capacity);
    bytes.extend_from_slice(MAGIC);
    let is_whole = plan.whole().is_some() && groups == HeadGroups::ONE;
    bytes.push(if is_whole { WHOLE } else { SPLIT });
    let header = [layout.world_size(), rows.hidden_q, rows.hidden_kv, rows.lse, rows.element_bytes];
    header.iter().for_each(|&field| write(&mut bytes, field.into()));
    if !is_whole {
        write(&mut bytes, groups.get().into());
        write(&mut bytes, plan.split().is_some().into());
    }
    write(&mut bytes, layout.len() as u64);
    let mut before = 0;
    let mut shards = |bytes: &mut Vec<u8>, shards: &[Shard], has_attention: bool| {
        write(bytes, shards.len() as u64);
        for shard in shards {
            write(bytes, zigzag(before, shard.linear.0));
            if has_attention {
                write(bytes, zigzag(shard.linear.0, shard.attention.0));
            }
            write(bytes, shard.tokens.into());
            before = shard.linear.0;
        }
    };
    match plan.split() {
        None => layout.documents().for_each(|document| shards(&mut bytes, document, true)),
        Some(split) => {
            let mut last = 0;
            for (document, tasks) in split.documents() {
                shards(&mut bytes, document, false);
                write(&mut bytes, tasks.len() as u64);
                for SplitTask { queries, keys, rank, .. } in tasks {
                    for range in [queries, keys] {
                        write(&mut bytes, range.start.into());
                        write(&mut bytes, range.len() as u64);
                    }
                    write(&mut bytes, zigzag(last, rank.0));
                    last = rank.0;
                }
            }
        }
    }
    bytes
}

fn write(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn zigzag(from: u32, to: u32) -> u64 {
    let step = i64::from(to) - i64::from(from);
    ((step << 1) ^ (step >> 63)) as u64
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn plan(&mut self, version: u8) -> Result<(Assignment<'static>, Rows), Error> {
        let batch = Batch::new(self.narrow("a rank")?)?;
        let rows = Rows {
            hidden_q: self.narrow("the elements of a row")?,
            hidden_kv: self.narrow("the elements of a row")?,
            lse: self.narrow("the elements of a row")?,
            element_bytes: self.narrow("the bytes of an element")?,
        };
        if version == WHOLE {
            return Ok((self.whole(batch)?.into(), rows));
        }
        let at = self.at;
        let none = Error::Encoding { at, what: "no number of groups of heads" };
        let groups = HeadGroups::new(self.narrow("the groups of heads")?).ok_or(none)?;
        let plan = match self.number()? {
            0 if groups == HeadGroups::ONE => return Err(Error::Encoding { at, what: "a plan that version 1 is for" }),
            0 => Assignment::from(self.whole(batch)?),
            1 => Assignment::from(self.split(batch)?),
            _ => return Err(Error::Encoding { at, what: "neither 0 nor 1 for keys that are split or not" }),
        };
        Ok((plan.of_heads(groups)?, rows))
    }

    /// Documents with the attention rank of every shard.
    fn whole(&mut self, mut batch: Batch) -> Result<Batch, Error> {
        let documents = self.count(1)?;
        let (mut shards, mut before) = (Vec::new(), 0);
        for _ in 0..documents {
            shards.clear();
            for _ in 0..self.count(SHARD_BYTES)? {
                let linear = self.step(before)?;
                let attention = self.step(linear)?;
                shards.push(Shard { linear: Rank(linear), attention: Rank(attention), tokens: self.narrow("a length")? });
                before = linear;
            }
            batch.push(&shards)?;
        }
        Ok(batch)
    }

    /// Documents with their tasks.
    fn split(&mut self, mut layout: Batch) -> Result<SplitBatch, Error> {
        let documents = self.count(2)?;
        let (mut shards, mut tasks) = (Vec::new(), Vec::new());
        let (mut before, mut last) = (0, 0);
        for document in 0..documents {
            shards.clear();
            for _ in 0..self.count(LAYOUT_BYTES)? {
                before = self.step(before)?;
                let rank = Rank(before);
                shards.push(Shard { linear: rank, attention: rank, tokens: self.narrow("a length")? });
            }
            layout.push(&shards)?;
            for _ in 0..self.count(TASK_BYTES)? {
                let (queries, keys) = (self.range()?, self.range()?);
                last = self.step(last)?;
                tasks.push(SplitTask { document, queries, keys, rank: Rank(last) });
            }
        }
        let batch = SplitBatch::new(&layout, tasks.clone())?;
        match batch.tasks() == tasks {
            true => Ok(batch),
            false => Err(Error::Encoding { at: self.at, what: "tasks that are not in order" }),
        }
    }

    fn range(&mut self) -> Result<std::ops::Range<u32>, Error> {
        let at = self.at;
        let (start, length) = (self.narrow("a position")?, self.narrow("a length")?);
        let end = start.checked_add(length).ok_or(Error::Encoding { at, what: "a range that needs more than 32 bits" })?;
        Ok(start..end)
    }

    /// How many of something that takes at least `bytes` each.
    fn count(&mut self, bytes: usize) -> Result<usize, Error> {
        let (at, count) = (self.at, self.number()?);
        let room = ((self.bytes.len() - self.at) / bytes) as u64;
        if count > room {
            return Err(Error::Encoding { at, what: "more documents or shards than there are bytes for" });
        }
        Ok(count as usize)
    }

    fn step(&mut self, from: u32) -> Result<u32, Error> {
        let (at, step) = (self.at, self.number()?);
        let step = (step >> 1) as i64 ^ -((step & 1) as i64);
        let rank = i64::from(from).checked_add(step).and_then(|rank| u32::try_from(rank).ok());
        rank.ok_or(Error::Encoding { at, what: "a rank that needs more than 32 bits" })
    }

    fn narrow(&mut self, what: &'static str) -> Result<u32, Error> {
        let (at, value) = (self.at, self.number()?);
        u32::try_from(value).map_err(|_| Error::Encoding { at, what })
    }

    fn number(&mut self) -> Result<u64, Error> {
        let (start, mut value) = (self.at, 0_u64);
        for shift in (0..64).step_by(7) {
            let Some(&[byte]) = self.take(1) else {
                return Err(Error::Encoding { at: start, what: "a number that is cut off" });
            };
            let part = u64::from(byte & 0x7f);
            // A last group of zeros would be a second way to write the same number.
            if part << shift >> shift != part || (byte == 0 && shift > 0) {
                break;
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::Encoding { at: start, what: "a number that is too long" })
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }
}
