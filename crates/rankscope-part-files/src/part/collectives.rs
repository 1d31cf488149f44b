//! A rank's collectives: its process groups, the operations, the order, and the collectives themselves.
//!
//! Collectives stand in runs, one after the other for each process group, as neighbours within a group differ little from each other;
//! the order says which group came next. What a collective does is stored once for all that do the same.

use std::sync::Arc;

use rankscope_analyze::ExposedTimes;
use rankscope_collectives::{CollectiveStay, Collectives, Group, Operation, RankCollectives, Sequence, StayColumns, Step};
use rankscope_time::Rank;
use rankscope_trace::SpanId;

use super::operations::{Operations, read_operations, read_splits, write_splits};
use super::order::{read_order, write_order};
use super::sets::Known;
use super::{block, kinds};
use crate::error::Error;
use crate::{Columns, Reader, Writer};

/// Rows of a block, at most.
pub(super) const BLOCK_ROWS: usize = 1 << 16;

/// Collectives of a block that is written, or put in order: few enough for their columns to stay in a cache.
const WRITTEN_ROWS: usize = 1 << 13;

/// Some collectives as they are stored, in columns: what each does by its number, its group by where it stands.
#[derive(Default)]
struct Rows {
    spans: Vec<SpanId>,
    starts_ns: Vec<i64>,
    stays_ns: Vec<i64>,
    operations: Vec<usize>,
    sequences: Vec<Sequence>,
    peers: Vec<Option<u32>>,
    exposed_ns: Vec<i64>,
}

/// Writes them, and returns when they were.
pub(super) fn write(writer: &mut Writer, rank: &RankCollectives, exposed_ns: &ExposedTimes) -> Result<Known, Error> {
    let all = &rank.collectives;
    if exposed_ns.len() != all.len() {
        return Err(Error::Unwritable { what: "there are not as many exposed times as collectives" });
    }
    if all.iter().any(|collective| collective.group as usize >= rank.groups.len()) {
        return Err(Error::Unwritable { what: "a collective is of a process group that is not there" });
    }
    write_groups(writer, rank)?;
    let operations = Operations::of(all);
    operations.write(writer)?;
    write_splits(writer, &operations.different)?;
    writer.block(kinds::ORDER, |columns| write_order(columns, (0..all.len()).map(|at| u64::from(all.group(at)))))?;
    let (mut starts_ns, mut ends_ns) = (Vec::with_capacity(all.len()), Vec::with_capacity(all.len()));
    let mut places: Vec<usize> = (0..all.len()).collect();
    places.sort_by_key(|place| all.group(*place));
    for places in places.chunks(WRITTEN_ROWS) {
        let rows: Vec<CollectiveStay<'_>> = places.iter().map(|place| all.stay(*place)).collect();
        starts_ns.extend(rows.iter().map(|row| row.start_ns));
        ends_ns.extend(rows.iter().map(|row| row.end_ns));
        let exposed: Vec<i64> = places.iter().filter_map(|place| exposed_ns.get(*place)).collect();
        let whole: Vec<bool> =
            rows.iter().zip(&exposed).map(|(row, exposed)| *exposed == length((row.start_ns, row.end_ns))).collect();
        writer.block(kinds::COLLECTIVES, |columns| {
            columns.spans(rows.iter().map(|row| (row.start_ns, row.end_ns)));
            columns.deltas(rows.iter().map(|row| i64::from(row.span.0)));
            columns.counts(places.iter().map(|place| operations.numbers[*place] as u64));
            columns.options(&rows.iter().map(|row| row.sequence.get()).collect::<Vec<_>>());
            columns.options(&rows.iter().map(|row| row.peer.map(u64::from)).collect::<Vec<_>>());
            columns.bits(&whole);
            columns.signed(&exposed.iter().zip(&whole).filter(|(_, whole)| !**whole).map(|(ns, _)| *ns).collect::<Vec<_>>());
        })?;
    }
    writer.block(kinds::MARKS, |columns| {
        columns.deltas(rank.steps.iter().map(|step| step.number));
        columns.spans(rank.steps.iter().map(|step| (step.start_ns, step.end_ns)));
    })?;
    Ok(Known::of(starts_ns, ends_ns))
}

/// The collectives, the exposed time of each, and when they were.
pub(super) fn read(reader: &Reader<'_>) -> Result<(RankCollectives, ExposedTimes, Known), Error> {
    let (rank, groups) = block(reader, kinds::GROUPS, read_groups)?;
    let mut operations = block(reader, kinds::OPERATIONS, read_operations)?;
    for found in reader.blocks(kinds::SPLITS) {
        let found = found?;
        let mut columns = found.columns();
        read_splits(&mut columns, &mut operations)?;
        columns.end()?;
    }
    let operations: Vec<Arc<Operation>> = operations.into_iter().map(Arc::new).collect();
    let order: Vec<usize> = block(reader, kinds::ORDER, |columns| {
        let order = match reader.schema() {
            ..IN_RUNS => columns.narrow()?,
            _ => read_order(columns, reader.inflated_bytes(kinds::COLLECTIVES))?,
        };
        match order.iter().all(|group| *group < groups.len()) {
            true => Ok(order),
            false => Err(columns.misfit("a collective is of a process group that is not there")),
        }
    })?;
    let (collectives, exposed_ns, known) = read_stays(reader, &order, groups.len(), &operations)?;
    let steps = block(reader, kinds::MARKS, |columns| {
        let (numbers, spans) = (columns.deltas()?, columns.spans()?);
        columns.fit(numbers.len(), &[spans.len()])?;
        let rows = numbers.into_iter().zip(spans);
        Ok(rows.map(|(number, (start_ns, end_ns))| Step { number, start_ns, end_ns }).collect())
    })?;
    Ok((RankCollectives { rank, groups, collectives, steps }, exposed_ns, known))
}

/// The first schema in which the order is stored as runs of one process group.
const IN_RUNS: u16 = 2;

/// The collectives stand in runs, as many of each of `groups` as `order` says, which all are below their number. Where the runs are in that
/// order, as those of one group are, each block is put in its place as it is read; else all have to be there first.
fn read_stays(
    reader: &Reader<'_>,
    order: &[usize],
    groups: usize,
    operations: &[Arc<Operation>],
) -> Result<(Collectives, ExposedTimes, Known), Error> {
    let what = "there are not as many collectives as their order says";
    let misfit = || Error::Misfit { kind: kinds::COLLECTIVES, what };
    let (mut collectives, mut exposed_ns) = (Collectives::default(), ExposedTimes::default());
    let mut put = |rows: &Rows, groups: &[usize]| {
        let Rows { spans, starts_ns, stays_ns, sequences, .. } = rows;
        let columns = StayColumns { spans, starts_ns, stays_ns, sequences };
        let shape = |at: usize| (&operations[rows.operations[at]], groups[at] as u32, rows.peers[at]);
        collectives.extend_by_columns(columns, shape);
        exposed_ns.extend(rows.exposed_ns.iter().copied());
    };
    let is_in_order = order.is_sorted();
    let (mut starts_ns, mut ends_ns) = (Vec::with_capacity(order.len()), Vec::with_capacity(order.len()));
    let mut all = Rows::default();
    let mut rest = order;
    for block in reader.blocks(kinds::COLLECTIVES) {
        let block = block?;
        let mut columns = block.columns();
        let rows = read_rows(&mut columns, operations.len())?;
        columns.end()?;
        let (own, others) = rest.split_at_checked(rows.spans.len()).ok_or_else(misfit)?;
        starts_ns.extend_from_slice(&rows.starts_ns);
        ends_ns.extend(rows.starts_ns.iter().zip(&rows.stays_ns).map(|(start_ns, stay_ns)| start_ns.wrapping_add(*stay_ns)));
        if is_in_order {
            put(&rows, own);
        } else {
            all.append(rows);
        }
        rest = others;
    }
    if !rest.is_empty() {
        return Err(misfit());
    }
    if !is_in_order {
        let places = places(order, groups);
        places.chunks(WRITTEN_ROWS).zip(order.chunks(WRITTEN_ROWS)).for_each(|(places, groups)| put(&all.at(places), groups));
    }
    collectives.shrink_to_fit();
    exposed_ns.shrink_to_fit();
    Ok((collectives, exposed_ns, Known::of(starts_ns, ends_ns)))
}

impl Rows {
    fn append(&mut self, other: Self) {
        self.spans.extend(other.spans);
        self.starts_ns.extend(other.starts_ns);
        self.stays_ns.extend(other.stays_ns);
        self.operations.extend(other.operations);
        self.sequences.extend(other.sequences);
        self.peers.extend(other.peers);
        self.exposed_ns.extend(other.exposed_ns);
    }

    /// Those at these `places`.
    fn at(&self, places: &[usize]) -> Self {
        fn of<T: Copy>(column: &[T], places: &[usize]) -> Vec<T> {
            places.iter().map(|place| column[*place]).collect()
        }
        Self {
            spans: of(&self.spans, places),
            starts_ns: of(&self.starts_ns, places),
            stays_ns: of(&self.stays_ns, places),
            operations: of(&self.operations, places),
            sequences: of(&self.sequences, places),
            peers: of(&self.peers, places),
            exposed_ns: of(&self.exposed_ns, places),
        }
    }
}

/// Where each collective stands in the runs.
fn places(order: &[usize], groups: usize) -> Vec<usize> {
    let mut counts = vec![0; groups];
    order.iter().for_each(|group| counts[*group] += 1);
    let first = |before: &mut usize, count: usize| Some(std::mem::replace(before, *before + count));
    let mut next: Vec<usize> = counts.into_iter().scan(0, first).collect();
    let place = |group: &usize| {
        next[*group] += 1;
        next[*group] - 1
    };
    order.iter().map(place).collect()
}

/// The rows of a block, of which operations are below their number.
fn read_rows(columns: &mut Columns<'_>, operations: usize) -> Result<Rows, Error> {
    let (starts_ns, stays_ns) = (columns.deltas()?, columns.signed()?);
    let (spans, numbers) = (columns.deltas()?, columns.narrow::<usize>()?);
    let (sequences, peers) = (columns.options_as(Sequence::of)?, columns.options()?);
    let (whole, exposed) = (columns.flags()?, columns.signed()?);
    columns.fit(starts_ns.len(), &[stays_ns.len(), spans.len(), numbers.len(), sequences.len(), peers.len(), whole.len()])?;
    if numbers.iter().any(|number| *number >= operations) {
        return Err(columns.misfit("a collective is of an operation that is not there"));
    }
    if whole.len() - whole.count() != exposed.len() {
        return Err(columns.misfit("there are not as many exposed times as collectives"));
    }
    let mut exposed = exposed.into_iter();
    // There are as many as are not whole.
    let own = |(is_whole, stay_ns): (bool, &i64)| if is_whole { *stay_ns } else { exposed.next().unwrap_or(0) };
    let exposed_ns = whole.iter().zip(&stays_ns).map(own).collect();
    let spans = spans.into_iter().map(|span| columns.one(span).map(SpanId)).collect::<Result<_, _>>()?;
    let peer = |peer: Option<u64>| peer.map(|peer| columns.one(peer)).transpose();
    let peers = peers.into_iter().map(peer).collect::<Result<_, _>>()?;
    Ok(Rows { spans, starts_ns, stays_ns, operations: numbers, sequences, peers, exposed_ns })
}

/// How long the rank was in it, for any stamps there may be.
fn length((start_ns, end_ns): (i64, i64)) -> i64 {
    end_ns.wrapping_sub(start_ns)
}

fn write_groups(writer: &mut Writer, rank: &RankCollectives) -> Result<(), Error> {
    let groups = &rank.groups;
    writer.block(kinds::GROUPS, |columns| {
        columns.counts([u64::from(rank.rank.0)]);
        columns.strings(groups.iter().map(|group| group.name.as_str()));
        columns.strings(groups.iter().map(|group| group.description.as_str()));
        columns.counts(groups.iter().map(|group| group.ranks.len() as u64));
        columns.deltas(groups.iter().flat_map(|group| group.ranks.iter()).map(|rank| i64::from(rank.0)));
    })
}

fn read_groups(columns: &mut Columns<'_>) -> Result<(Rank, Vec<Group>), Error> {
    let own = columns.narrow()?;
    let [own] = columns.exactly(own)?;
    let (names, descriptions) = (columns.texts()?, columns.texts()?);
    let (lengths, listed) = (columns.narrow::<usize>()?, columns.deltas()?);
    columns.fit(names.len(), &[descriptions.len(), lengths.len()])?;
    let mut rest = listed.as_slice();
    let mut groups = Vec::new();
    for ((name, description), length) in names.into_iter().zip(descriptions).zip(lengths) {
        let (ranks, others) =
            rest.split_at_checked(length).ok_or_else(|| columns.misfit("it lists fewer ranks than its process groups have"))?;
        rest = others;
        let ranks = ranks.iter().map(|rank| columns.one(*rank).map(Rank)).collect::<Result<_, _>>()?;
        groups.push(Group { ranks, name, description });
    }
    match rest.is_empty() {
        true => Ok((Rank(own), groups)),
        false => Err(columns.misfit("it lists more ranks than its process groups have")),
    }
}
