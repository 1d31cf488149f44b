//! Plans as few bytes: what a launcher hands to every rank.
//!
//! `RKDP`, the version (one byte), then unsigned LEB128 numbers: ranks; the four fields of [`Rows`]; documents; for each, its
//! shards; for each of those, the rank it lives on and the rank of its attention, both as zigzag steps (from the shard before,
//! and from the one to the other), and its tokens. The last 32 bytes are the BLAKE3 hash of everything before them; they name
//! the plan.
//!
//! Decoding believes no count: a plan takes no more memory than a small multiple of its bytes, and every plan has exactly one
//! encoding.

use rankscope_time::Rank;

use crate::{Batch, Error, Rows, Shard};

/// Bytes of the hash that names a plan.
pub const HASH_BYTES: usize = 32;

const MAGIC: &[u8] = b"RKDP";
const VERSION: u8 = 1;
/// The fewest bytes of a shard: two steps and its tokens.
const SHARD_BYTES: usize = 3;

/// The plan as bytes, its hash at the end.
#[must_use]
pub fn encode(batch: &Batch, rows: &Rows) -> Vec<u8> {
    let mut bytes = body(batch, rows);
    let hash = blake3::hash(&bytes);
    bytes.extend_from_slice(hash.as_bytes());
    bytes
}

/// The hash that names a plan, in whichever form it is kept.
#[must_use]
pub fn hash(batch: &Batch, rows: &Rows) -> [u8; HASH_BYTES] {
    *blake3::hash(&body(batch, rows)).as_bytes()
}

/// The plan that `bytes` encode.
///
/// # Errors
/// [`Error::Encoding`], naming the byte; [`Error::NoRanks`], [`Error::RankOutOfRange`], [`Error::Overflow`].
pub fn decode(bytes: &[u8]) -> Result<(Batch, Rows), Error> {
    let mut reader = Reader { bytes, at: 0 };
    if reader.take(MAGIC.len()) != Some(MAGIC) {
        return Err(Error::Encoding { at: 0, what: "not a plan: it does not start with RKDP" });
    }
    if reader.take(1) != Some(&[VERSION]) {
        return Err(Error::Encoding { at: MAGIC.len(), what: "an unknown version" });
    }
    // Damage is called damage, and not whatever the damaged numbers happen to say.
    let Some(end) = bytes.len().checked_sub(HASH_BYTES).filter(|end| *end >= reader.at) else {
        return Err(Error::Encoding { at: bytes.len(), what: "the plan is cut off" });
    };
    if blake3::hash(&bytes[..end]).as_bytes() != &bytes[end..] {
        return Err(Error::Encoding { at: end, what: "the hash does not match: bytes are missing or damaged" });
    }
    reader.bytes = &bytes[..end];
    let plan = reader.plan()?;
    match reader.at == end {
        true => Ok(plan),
        false => Err(Error::Encoding { at: reader.at, what: "bytes after the last document" }),
    }
}

fn body(batch: &Batch, rows: &Rows) -> Vec<u8> {
    // Steps between ranks of one node and lengths of a few thousand tokens take one and two bytes.
    let mut bytes = Vec::with_capacity(MAGIC.len() + HASH_BYTES + 32 + batch.len() + 5 * batch.shards().len());
    bytes.extend_from_slice(MAGIC);
    bytes.push(VERSION);
    let header = [batch.world_size(), rows.hidden_q, rows.hidden_kv, rows.lse, rows.element_bytes];
    header.iter().for_each(|&field| write(&mut bytes, field.into()));
    write(&mut bytes, batch.len() as u64);
    let mut before = 0;
    for document in batch.documents() {
        write(&mut bytes, document.len() as u64);
        for shard in document {
            write(&mut bytes, zigzag(before, shard.linear.0));
            write(&mut bytes, zigzag(shard.linear.0, shard.attention.0));
            write(&mut bytes, shard.tokens.into());
            before = shard.linear.0;
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
    fn plan(&mut self) -> Result<(Batch, Rows), Error> {
        let mut batch = Batch::new(self.narrow("a rank")?)?;
        let rows = Rows {
            hidden_q: self.narrow("the elements of a row")?,
            hidden_kv: self.narrow("the elements of a row")?,
            lse: self.narrow("the elements of a row")?,
            element_bytes: self.narrow("the bytes of an element")?,
        };
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
        Ok((batch, rows))
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
