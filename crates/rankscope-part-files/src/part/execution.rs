//! A rank's execution graph: blocks that only parts for answers have.
//!
//! Pieces stand in the graph's order, so that starts ascend; what one depends on is told by how many places before it that stands. A
//! graph whose numbers do not fit each other is refused: whoever walks it trusts them.

use rankscope_execution::{Builder, Execution, Key, KeyId, LaneId, LaneKind, NewPiece, PieceId, Share};

use super::collectives::BLOCK_ROWS;
use super::vocabulary::numbers;
use super::{block, kinds};
use crate::error::Error;
use crate::{Columns, Reader, Writer};

/// Keys of a block, at most: names of kernels may be long.
const BLOCK_KEYS: usize = 1 << 12;

/// `execution` of a rank that has so many `collectives`.
pub(super) fn write(writer: &mut Writer, execution: &Execution, collectives: usize) -> Result<(), Error> {
    if execution.collectives() != collectives {
        return Err(Error::Unwritable { what: "its execution has not as many collectives as the rank" });
    }
    let lanes = execution.lanes();
    let lane_kinds = numbers(lanes.iter().map(|lane| lane.kind))?;
    writer.block(kinds::LANES, |columns| {
        columns.enums(&lane_kinds);
        columns.strings(lanes.iter().map(|lane| lane.name.as_str()));
    })?;
    for keys in execution.keys().chunks(BLOCK_KEYS) {
        let activities = numbers(keys.iter().map(|key| key.activity))?;
        writer.block(kinds::KEYS, |columns| {
            columns.enums(&activities);
            columns.strings(keys.iter().map(|key| key.name.as_str()));
            columns.strings(keys.iter().map(|key| key.operator.as_str()));
            columns.strings(keys.iter().map(|key| key.place.as_str()));
        })?;
    }
    let ids: Vec<PieceId> = execution.ids().collect();
    for ids in ids.chunks(BLOCK_ROWS) {
        let pieces: Vec<_> = ids.iter().map(|id| execution.piece(*id)).collect();
        let back = |other: Option<PieceId>, id: &PieceId| other.map(|other| u64::from(id.0 - other.0));
        let launched: Vec<_> = pieces.iter().zip(ids).map(|(piece, id)| back(piece.launched_by, id)).collect();
        let awaited: Vec<_> = pieces.iter().zip(ids).map(|(piece, id)| back(piece.waits_for, id)).collect();
        let of_collective: Vec<_> = ids.iter().map(|id| execution.collective(*id).map(|at| at as u64)).collect();
        let (counts, shares) = several(execution, ids);
        writer.block(kinds::PIECES, |columns| {
            columns.counts(pieces.iter().map(|piece| u64::from(piece.lane.0)));
            columns.sorted(&pieces.iter().map(|piece| piece.start_ns).collect::<Vec<_>>());
            columns.counts(pieces.iter().map(|piece| piece.dur_ns.cast_unsigned()));
            columns.counts(pieces.iter().map(|piece| u64::from(piece.key.0)));
            columns.options(&launched);
            columns.options(&awaited);
            columns.options(&of_collective);
            columns.counts(counts);
            columns.counts(shares.iter().map(|share| u64::from(share.key.0)));
            columns.signed(&shares.iter().map(|share| share.ns).collect::<Vec<_>>());
        })?;
    }
    Ok(())
}

/// The shares of those of `ids` that are of several keys, and how many each has; none where one key has it all.
fn several(execution: &Execution, ids: &[PieceId]) -> (Vec<u64>, Vec<Share>) {
    let mut all: Vec<Share> = Vec::new();
    let own = |id: &PieceId| {
        let before = all.len();
        all.extend(execution.shares(*id));
        if all.len() == before + 1 {
            all.truncate(before);
        }
        (all.len() - before) as u64
    };
    (ids.iter().map(own).collect(), all)
}

/// The execution of a rank that has so many `collectives`; none where the part was made without.
pub(super) fn read(reader: &Reader<'_>, collectives: usize) -> Result<Option<Execution>, Error> {
    let own = [kinds::LANES, kinds::KEYS, kinds::PIECES];
    if !reader.kinds().any(|kind| own.contains(&kind)) {
        return Ok(None);
    }
    let mut builder = Execution::builder();
    builder.collectives(collectives);
    let lanes = block(reader, kinds::LANES, |columns| {
        let (lane_kinds, names) = (columns.variants::<LaneKind>()?, columns.texts()?);
        columns.fit(lane_kinds.len(), &[names.len()])?;
        Ok(lane_kinds.into_iter().zip(names).map(|(kind, name)| builder.lane(kind, name)).count())
    })?;
    let mut keys = 0;
    for block in reader.blocks(kinds::KEYS) {
        let block = block?;
        let mut columns = block.columns();
        keys += read_keys(&mut columns, &mut builder, keys)?;
        columns.end()?;
    }
    let mut pieces = Pieces { builder, lanes, keys, taken: vec![false; collectives], rows: Vec::new() };
    for block in reader.blocks(kinds::PIECES) {
        let block = block?;
        let mut columns = block.columns();
        pieces.read(&mut columns)?;
        columns.end()?;
    }
    Ok(Some(pieces.builder.finish()))
}

/// Adds the keys of a block behind so many that are there, and says how many they are.
fn read_keys(columns: &mut Columns<'_>, builder: &mut Builder, before: usize) -> Result<usize, Error> {
    let (activities, names, operators) = (columns.variants()?, columns.texts()?, columns.texts()?);
    let places = columns.texts()?;
    columns.fit(activities.len(), &[names.len(), operators.len(), places.len()])?;
    let (count, texts) = (activities.len(), names.into_iter().zip(operators).zip(places));
    for ((at, activity), ((name, operator), place)) in (before..).zip(activities).zip(texts) {
        if builder.key(Key { activity, name, operator, place }).0 as usize != at {
            return Err(columns.misfit("one key comes twice"));
        }
    }
    Ok(count)
}

/// The pieces so far.
struct Pieces {
    builder: Builder,
    lanes: usize,
    keys: usize,
    /// Collectives that are some piece already.
    taken: Vec<bool>,
    /// Start, end and lane of each.
    rows: Vec<(i64, i64, usize)>,
}

impl Pieces {
    fn read(&mut self, columns: &mut Columns<'_>) -> Result<(), Error> {
        let (lanes, starts) = (columns.narrow::<usize>()?, columns.sorted()?);
        let (lengths, keys) = (columns.narrow::<i64>()?, columns.narrow::<usize>()?);
        let (launched, awaited, of_collective) = (columns.options()?, columns.options()?, columns.options()?);
        let (counts, share_keys, share_ns) = (columns.narrow::<usize>()?, columns.narrow::<usize>()?, columns.signed()?);
        columns.fit(
            lanes.len(),
            &[starts.len(), lengths.len(), keys.len(), launched.len(), awaited.len(), of_collective.len(), counts.len()],
        )?;
        columns.fit(share_keys.len(), &[share_ns.len()])?;
        let shares: Vec<(usize, i64)> = share_keys.into_iter().zip(share_ns).collect();
        let mut rest = shares.as_slice();
        for at in 0..lanes.len() {
            let enough = rest.split_at_checked(counts[at]);
            let (own, others) = enough.ok_or_else(|| columns.misfit("there are not as many shares as its pieces have"))?;
            rest = others;
            let shares = self.shares(columns, own, keys[at], lengths[at])?;
            let collective = of_collective[at].map(|number| self.take(columns, number)).transpose()?;
            self.place(columns, lanes[at], starts[at], lengths[at])?;
            let (lane, start_ns, dur_ns) = (LaneId(lanes[at] as u32), starts[at], lengths[at]);
            let id = match shares {
                Some(shares) => self.builder.piece(NewPiece { lane, start_ns, dur_ns, shares, collective }),
                None => self.builder.piece_of(KeyId(keys[at] as u32), lane, start_ns, dur_ns, collective),
            };
            if let Some(by) = launched[at] {
                self.builder.launch(id, self.before(columns, id, by)?);
            }
            if let Some(by) = awaited[at] {
                self.builder.wait(id, self.before(columns, id, by)?);
            }
        }
        if rest.is_empty() { Ok(()) } else { Err(columns.misfit("there are not as many shares as its pieces have")) }
    }

    /// The shares of a piece of which those are stored, most of them `key`'s; none of one that is all `key`'s.
    fn shares(
        &self,
        columns: &Columns<'_>,
        stored: &[(usize, i64)],
        key: usize,
        dur_ns: i64,
    ) -> Result<Option<Vec<Share>>, Error> {
        if key >= self.keys || stored.iter().any(|(key, _)| *key >= self.keys) {
            return Err(columns.misfit("a piece is of a key that is not there"));
        }
        let share = |(key, ns): &(usize, i64)| Share { key: KeyId(*key as u32), ns: *ns };
        if stored.is_empty() {
            return Ok(None);
        }
        let sum = stored.iter().try_fold(0_i64, |sum, (_, ns)| sum.checked_add(*ns).filter(|_| *ns >= 0));
        let most = stored.iter().enumerate().max_by_key(|(at, (_, ns))| (*ns, std::cmp::Reverse(*at)));
        match sum == Some(dur_ns) && stored.len() > 1 && most.is_some_and(|(_, (most, _))| *most == key) {
            true => Ok(Some(stored.iter().map(share).collect())),
            false => Err(columns.misfit("shares of a piece do not add up to it")),
        }
    }

    /// The collective of that number, which is no other piece.
    fn take(&mut self, columns: &Columns<'_>, number: u64) -> Result<usize, Error> {
        let number = usize::try_from(number).ok().filter(|number| *number < self.taken.len());
        let number = number.ok_or_else(|| columns.misfit("a piece is a collective that is not there"))?;
        match std::mem::replace(&mut self.taken[number], true) {
            true => Err(columns.misfit("two pieces are one collective")),
            false => Ok(number),
        }
    }

    /// Notes where the next piece lies, which must be behind those before.
    fn place(&mut self, columns: &Columns<'_>, lane: usize, start_ns: i64, dur_ns: i64) -> Result<(), Error> {
        if lane >= self.lanes {
            return Err(columns.misfit("a piece is on a lane that is not there"));
        }
        let row = (start_ns, start_ns.saturating_add(dur_ns), lane);
        if self.rows.last().is_some_and(|last| *last > row) {
            return Err(columns.misfit("its pieces are not in order"));
        }
        self.rows.push(row);
        Ok(())
    }

    /// The piece so many places before `id`, which must have ended when that one started.
    fn before(&self, columns: &Columns<'_>, id: PieceId, by: u64) -> Result<PieceId, Error> {
        let at = u64::from(id.0).checked_sub(by).filter(|_| by > 0);
        let ended = at.filter(|at| self.rows[*at as usize].1 <= self.rows[id.0 as usize].0);
        let ended = ended.ok_or_else(|| columns.misfit("a piece depends on one that had not ended"))?;
        Ok(PieceId(ended as u32))
    }
}
