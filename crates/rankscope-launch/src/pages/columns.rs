//! What changed in the pages of many ranks, as columns: a few bytes for each arrival of a rank that does as the one before it.
//!
//! Of a page the words that are not of the ring go as differences from what was known, and arrivals that changed go whole, each as its difference
//! from the one before it; of either, what is written is the difference from the same place of the rank before. Ranks that do the same at
//! nearly the same time so leave zeros and small numbers, which zstd packs. What comes is bounded before anything is made of it, and nothing
//! that is no such message is taken in part.

use rankscope_recording::{PAGE_ARRIVAL_WORDS, PAGE_ARRIVALS};

use super::lean::{ARRIVALS_WORD, FIXED, Fixed, Lean, PROGRESS_WORD, Slot};

/// What a message unpacks to, at most.
pub(super) const PLAIN_BYTES_MAX: usize = 6 << 20;

const LEVEL: i32 = 1;

/// Its structure, words that are not of the ring, and one for each word of an arrival.
const COLUMNS: usize = 2 + PAGE_ARRIVAL_WORDS;
const ARRIVED: usize = 4;
const LEFT: usize = 5;
const STEP: usize = 6;
/// Where a state says its step.
const STEP_WORD: usize = PROGRESS_WORD + 1;

/// What changed in the page of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) rank: u32,
    /// Nothing of it was known.
    pub(super) is_whole: bool,
    /// Words that are not of the ring, by their places, as they are now.
    pub(super) fixed: Vec<(usize, u64)>,
    /// Arrivals, by their places, oldest first.
    pub(super) slots: Vec<(usize, Slot)>,
}

impl Change {
    /// From `base` to `lean`.
    pub(super) fn of(rank: u32, lean: &Lean, base: Option<&Lean>) -> Self {
        let nothing = base.is_none().then(Lean::nothing);
        let known = base.or(nothing.as_ref());
        let (mut fixed, mut slots) = (Vec::new(), Vec::new());
        if let Some(known) = known {
            let words = lean.fixed.iter().zip(known.fixed.iter()).enumerate();
            fixed.extend(words.filter(|(_, (word, was))| word != was).map(|(at, (word, _))| (at, *word)));
            let places = places(&lean.fixed).filter(|place| lean.ring[*place] != known.ring[*place]);
            slots.extend(places.map(|place| (place, lean.ring[place])));
        }
        Self { rank, is_whole: base.is_none(), fixed, slots }
    }

    pub(super) fn apply_to_fixed(&self, fixed: &mut Fixed) {
        self.fixed.iter().for_each(|(at, word)| fixed[*at] = *word);
    }

    pub(super) fn apply(&self, lean: &mut Lean) {
        self.apply_to_fixed(&mut lean.fixed);
        self.slots.iter().for_each(|(place, slot)| lean.ring[*place] = *slot);
    }
}

/// Places of the ring, beginning with the oldest.
fn places(fixed: &Fixed) -> impl Iterator<Item = usize> {
    let first = (fixed[ARRIVALS_WORD] % PAGE_ARRIVALS as u64) as usize;
    (first..PAGE_ARRIVALS).chain(0..first)
}

/// Why something is no such message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("it does not unpack, or to more than {PLAIN_BYTES_MAX} bytes")]
    Packing,
    #[error("it is cut")]
    Cut,
    #[error("it names a rank that none can be")]
    Rank,
    #[error("it names places that no page has")]
    Place,
    #[error("something is behind its end")]
    Rest,
}

/// Packs changes, rank by rank.
pub(super) struct Packer {
    columns: [Vec<u8>; COLUMNS],
    count: u64,
    rank: u32,
    before: Before,
}

/// How words of the rank before differed from what was expected.
struct Before {
    fixed: [u64; FIXED],
    slots: [Slot; PAGE_ARRIVALS],
}

impl Before {
    fn new() -> Self {
        Self { fixed: [0; FIXED], slots: [[0; PAGE_ARRIVAL_WORDS]; PAGE_ARRIVALS] }
    }
}

impl Packer {
    pub(super) fn new() -> Self {
        Self { columns: Default::default(), count: 0, rank: 0, before: Before::new() }
    }

    /// Of what was added so far, before it is packed.
    pub(super) fn plain_bytes(&self) -> usize {
        self.columns.iter().map(Vec::len).sum()
    }

    /// Adds the change of a rank, of whose page `base` was known before and `now` is.
    pub(super) fn add(&mut self, change: &Change, base: Option<&Fixed>, now: &Fixed) {
        let Self { columns: [structure, fixed, words @ ..], before, .. } = self;
        put(structure, u64::from(change.rank.wrapping_sub(self.rank)) << 1 | u64::from(change.is_whole));
        (self.rank, self.count) = (change.rank, self.count + 1);
        put(structure, change.fixed.len() as u64);
        put(structure, change.slots.len() as u64);
        let mut next = 0;
        for (at, word) in &change.fixed {
            put(structure, (at - next) as u64);
            next = at + 1;
            let differs = word.wrapping_sub(base.map_or(0, |base| base[*at]));
            put_signed(fixed, differs.wrapping_sub(before.fixed[*at]));
            before.fixed[*at] = differs;
        }
        let mut places = places(now);
        let mut last = expected(now);
        for (place, slot) in &change.slots {
            let skipped = places.by_ref().take_while(|it| it != place).count() as u64;
            put(structure, skipped << 1 | u64::from(slot[LEFT] == 0));
            let differs = difference(slot, &last);
            for (word, (differs, before)) in words.iter_mut().zip(differs.iter().zip(&before.slots[*place])) {
                put_signed(word, differs.wrapping_sub(*before));
            }
            (before.slots[*place], last) = (differs, *slot);
        }
    }

    pub(super) fn packed(self) -> Vec<u8> {
        let mut plain = Vec::with_capacity(self.plain_bytes() + 64);
        put(&mut plain, self.count);
        self.columns.iter().for_each(|column| put(&mut plain, column.len() as u64));
        self.columns.iter().for_each(|column| plain.extend_from_slice(column));
        zstd::bulk::compress(&plain, LEVEL).unwrap_or_default()
    }
}

/// What the first arrival of a rank in a state is compared with.
fn expected(fixed: &Fixed) -> Slot {
    [0, 0, 0, 0, fixed[PROGRESS_WORD], 0, fixed[STEP_WORD]]
}

fn difference(slot: &Slot, last: &Slot) -> Slot {
    let mut differs = [0; PAGE_ARRIVAL_WORDS];
    for at in [0, 1, 2, 3, ARRIVED, STEP] {
        differs[at] = slot[at].wrapping_sub(last[at]);
    }
    // That it has not left is said beside it.
    differs[LEFT] = if slot[LEFT] == 0 { 0 } else { slot[LEFT].wrapping_sub(slot[ARRIVED]) };
    differs
}

fn undone(differs: &Slot, last: &Slot, is_open: bool) -> Slot {
    let mut slot = [0; PAGE_ARRIVAL_WORDS];
    for at in [0, 1, 2, 3, ARRIVED, STEP] {
        slot[at] = last[at].wrapping_add(differs[at]);
    }
    slot[LEFT] = if is_open { 0 } else { slot[ARRIVED].wrapping_add(differs[LEFT]) };
    slot
}

/// The changes in a message; `base` knows what is not of the ring of each rank's page that is not whole. A rank that it does not know is taken as one of
/// which nothing was known, and is not whole.
pub(super) fn unpacked<'a>(packed: &[u8], base: impl Fn(u32) -> Option<&'a Fixed>) -> Result<Vec<Change>, Malformed> {
    let plain = zstd::bulk::decompress(packed, PLAIN_BYTES_MAX).map_err(|_| Malformed::Packing)?;
    let mut rest = plain.as_slice();
    let count = take(&mut rest)?;
    let mut columns = [[].as_slice(); COLUMNS];
    let mut lengths = [0; COLUMNS];
    for length in &mut lengths {
        *length = usize::try_from(take(&mut rest)?).map_err(|_| Malformed::Cut)?;
    }
    for (column, length) in columns.iter_mut().zip(lengths) {
        (*column, rest) = rest.split_at_checked(length).ok_or(Malformed::Cut)?;
    }
    let mut reader = Reader { columns, before: Before::new() };
    let mut changes: Vec<Change> = Vec::new();
    for _ in 0..count {
        let before = changes.last().map_or(0, |change| change.rank);
        changes.push(reader.change(before, &base)?);
    }
    if rest.is_empty() && reader.columns.iter().all(|column| column.is_empty()) { Ok(changes) } else { Err(Malformed::Rest) }
}

struct Reader<'a> {
    columns: [&'a [u8]; COLUMNS],
    before: Before,
}

impl Reader<'_> {
    /// The next one, behind that of `rank_before`.
    fn change<'b>(&mut self, rank_before: u32, base: impl Fn(u32) -> Option<&'b Fixed>) -> Result<Change, Malformed> {
        let Self { columns: [structure, fixed_column, word_columns @ ..], before } = self;
        let whose = take(structure)?;
        let is_whole = whose & 1 == 1;
        let rank = u32::try_from(whose >> 1).map_err(|_| Malformed::Rank)?.wrapping_add(rank_before);
        let (fixed_count, slot_count) = (take(structure)?, take(structure)?);
        if fixed_count > FIXED as u64 || slot_count > PAGE_ARRIVALS as u64 {
            return Err(Malformed::Place);
        }
        let mut now = if is_whole { [0; FIXED] } else { base(rank).copied().unwrap_or([0; FIXED]) };
        let (mut fixed, mut next) = (Vec::new(), 0);
        for _ in 0..fixed_count {
            let gap = usize::try_from(take(structure)?).map_err(|_| Malformed::Place)?;
            let at = gap.checked_add(next).filter(|at| *at < FIXED).ok_or(Malformed::Place)?;
            next = at + 1;
            let differs = take_signed(fixed_column)?.wrapping_add(before.fixed[at]);
            before.fixed[at] = differs;
            now[at] = now[at].wrapping_add(differs);
            fixed.push((at, now[at]));
        }
        let mut places = places(&now);
        let (mut slots, mut last) = (Vec::new(), expected(&now));
        for _ in 0..slot_count {
            let skipped = take(structure)?;
            let place = usize::try_from(skipped >> 1).ok().and_then(|skipped| places.nth(skipped)).ok_or(Malformed::Place)?;
            let mut differs = before.slots[place];
            for (differs, column) in differs.iter_mut().zip(word_columns.iter_mut()) {
                *differs = differs.wrapping_add(take_signed(column)?);
            }
            before.slots[place] = differs;
            last = undone(&differs, &last, skipped & 1 == 1);
            slots.push((place, last));
        }
        Ok(Change { rank, is_whole, fixed, slots })
    }
}

fn put(into: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

fn put_signed(into: &mut Vec<u8>, number: u64) {
    let number = number.cast_signed();
    put(into, (number << 1 ^ number >> 63).cast_unsigned());
}

fn take(from: &mut &[u8]) -> Result<u64, Malformed> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = from.split_first().ok_or(Malformed::Cut)?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Malformed::Cut)
}

fn take_signed(from: &mut &[u8]) -> Result<u64, Malformed> {
    let number = take(from)?;
    Ok((number >> 1) ^ (number & 1).wrapping_neg())
}

#[cfg(test)]
mod tests;
