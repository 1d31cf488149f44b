//! A rank's collectives: its process groups, the operations, the order, and the collectives themselves.
//!
//! Collectives stand in runs, one after the other for each process group, as neighbours within a group differ little from each other;
//! the order says which group came next. What a collective does is stored once for all that do the same.

use std::sync::Arc;

use rankscope_collectives::{Group, Kind, LocalCollective, Operation, RankCollectives, Sequence, Splits, Step};
use rankscope_time::Rank;
use rankscope_trace::SpanId;
use rustc_hash::FxHashMap;

use super::vocabulary::numbers;
use super::{block, kinds};
use crate::error::Error;
use crate::{Columns, ColumnsWriter, Reader, Writer};

/// Rows of a block, at most.
pub(super) const BLOCK_ROWS: usize = 1 << 16;

/// Collectives of a block that is written: few enough for its columns to stay in a cache, and for room that is used again, while it is
/// read.
const WRITTEN_ROWS: usize = 1 << 13;

/// Collectives, and the exposed time of each.
#[derive(Default)]
struct Rows {
    collectives: Vec<LocalCollective>,
    exposed_ns: Vec<i64>,
}

pub(super) fn write(writer: &mut Writer, rank: &RankCollectives, exposed_ns: &[i64]) -> Result<(), Error> {
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
    writer.block(kinds::ORDER, |columns| columns.counts(all.iter().map(|collective| u64::from(collective.group))))?;
    let mut places: Vec<usize> = (0..all.len()).collect();
    places.sort_by_key(|place| all[*place].group);
    for places in places.chunks(WRITTEN_ROWS) {
        let rows: Vec<&LocalCollective> = places.iter().map(|place| &all[*place]).collect();
        let exposed: Vec<i64> = places.iter().map(|place| exposed_ns[*place]).collect();
        let whole: Vec<bool> = rows.iter().zip(&exposed).map(|(row, exposed)| *exposed == length(row)).collect();
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
    })
}

/// The collectives, and the exposed time of each.
pub(super) fn read(reader: &Reader<'_>) -> Result<(RankCollectives, Vec<i64>), Error> {
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
        let order: Vec<usize> = columns.narrow()?;
        match order.iter().all(|group| *group < groups.len()) {
            true => Ok(order),
            false => Err(columns.misfit("a collective is of a process group that is not there")),
        }
    })?;
    let mut rows = Rows::default();
    for block in reader.blocks(kinds::COLLECTIVES) {
        let block = block?;
        let mut columns = block.columns();
        read_rows(&mut columns, &operations, &mut rows)?;
        columns.end()?;
    }
    if rows.collectives.len() != order.len() {
        let what = "there are not as many collectives as their order says";
        return Err(Error::Misfit { kind: kinds::COLLECTIVES, what });
    }
    let Rows { collectives, exposed_ns } = in_order(rows, &order, groups.len());
    let steps = block(reader, kinds::MARKS, |columns| {
        let (numbers, spans) = (columns.deltas()?, columns.spans()?);
        columns.fit(numbers.len(), &[spans.len()])?;
        let rows = numbers.into_iter().zip(spans);
        Ok(rows.map(|(number, (start_ns, end_ns))| Step { number, start_ns, end_ns }).collect())
    })?;
    Ok((RankCollectives { rank, groups, collectives, steps }, exposed_ns))
}

/// `rows` stand in runs, as many of each of `groups` as `order` says, which all are below their number.
fn in_order(mut rows: Rows, order: &[usize], groups: usize) -> Rows {
    if !order.is_sorted() {
        let places = places(order, groups);
        rows = Rows {
            collectives: places.iter().map(|place| rows.collectives[*place].clone()).collect(),
            exposed_ns: places.iter().map(|place| rows.exposed_ns[*place]).collect(),
        };
    }
    rows.collectives.iter_mut().zip(order).for_each(|(collective, group)| collective.group = *group as u32);
    rows
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

fn read_rows(columns: &mut Columns<'_>, operations: &[Arc<Operation>], rows: &mut Rows) -> Result<(), Error> {
    let (stamps, spans, numbers) = (columns.spans()?, columns.deltas()?, columns.narrow::<usize>()?);
    let (sequences, peers) = (columns.options()?, columns.options()?);
    let (whole, exposed) = (columns.bits()?, columns.signed()?);
    columns.fit(stamps.len(), &[spans.len(), numbers.len(), sequences.len(), peers.len(), whole.len()])?;
    let mut exposed = exposed.into_iter();
    rows.collectives.reserve(stamps.len());
    rows.exposed_ns.reserve(stamps.len());
    for (at, (start_ns, end_ns)) in stamps.into_iter().enumerate() {
        let operation = operations.get(numbers[at]);
        let operation = operation.ok_or_else(|| columns.misfit("a collective is of an operation that is not there"))?;
        let mut row = LocalCollective::new(SpanId(columns.one(spans[at])?), start_ns, end_ns, Arc::clone(operation));
        row.sequence = Sequence::of(sequences[at]);
        row.peer = peers[at].map(|peer| columns.one(peer)).transpose()?;
        let exposed_ns = if whole[at] { Some(length(&row)) } else { exposed.next() };
        let missing = || columns.misfit("there are not as many exposed times as collectives");
        rows.exposed_ns.push(exposed_ns.ok_or_else(missing)?);
        rows.collectives.push(row);
    }
    match exposed.len() {
        0 => Ok(()),
        _ => Err(columns.misfit("there are not as many exposed times as collectives")),
    }
}

/// How long the rank was in it, for any stamps there may be.
fn length(collective: &LocalCollective) -> i64 {
    collective.end_ns.wrapping_sub(collective.start_ns)
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

/// The different operations in order of their first collective, and the number of each collective's.
struct Operations<'a> {
    different: Vec<&'a Operation>,
    numbers: Vec<usize>,
}

impl<'a> Operations<'a> {
    fn of(collectives: &'a [LocalCollective]) -> Self {
        let mut different = Vec::new();
        let mut known: FxHashMap<&Operation, usize> = FxHashMap::default();
        // Most collectives share their operation with one before; that is seen without a look at its text.
        let mut shared: FxHashMap<*const Operation, usize> = FxHashMap::default();
        let mut number = |collective: &'a LocalCollective| {
            let operation = &collective.operation;
            *shared.entry(Arc::as_ptr(operation)).or_insert_with(|| {
                *known.entry(operation).or_insert_with(|| {
                    different.push(&**operation);
                    different.len() - 1
                })
            })
        };
        let numbers = collectives.iter().map(&mut number).collect();
        Self { different, numbers }
    }

    fn write(&self, writer: &mut Writer) -> Result<(), Error> {
        let kinds_of = numbers(self.different.iter().map(|operation| operation.kind))?;
        writer.block(kinds::OPERATIONS, |columns| {
            columns.enums(&kinds_of);
            columns.strings(self.different.iter().map(|operation| operation.name.as_str()));
            columns.strings(self.different.iter().map(|operation| operation.dtype.as_str()));
            columns.options(&self.different.iter().map(|operation| operation.in_elements).collect::<Vec<_>>());
            columns.options(&self.different.iter().map(|operation| operation.out_elements).collect::<Vec<_>>());
        })
    }
}

fn read_operations(columns: &mut Columns<'_>) -> Result<Vec<Operation>, Error> {
    let (found, names, dtypes) = (columns.variants::<Kind>()?, columns.texts()?, columns.texts()?);
    let (inputs, outputs) = (columns.options()?, columns.options()?);
    columns.fit(found.len(), &[names.len(), dtypes.len(), inputs.len(), outputs.len()])?;
    let rows = found.into_iter().zip(names.into_iter().zip(dtypes)).zip(inputs.into_iter().zip(outputs));
    let operation = |((kind, (name, dtype)), (in_elements, out_elements))| {
        let mut operation = Operation::of(kind);
        (operation.name, operation.dtype) = (name, dtype);
        (operation.in_elements, operation.out_elements) = (in_elements, out_elements);
        operation
    };
    Ok(rows.map(operation).collect())
}

/// What goes to and comes from each rank, of the operations that say so. A part without any is as it was before there were such.
fn write_splits(writer: &mut Writer, operations: &[&Operation]) -> Result<(), Error> {
    let split = |(at, operation): (usize, &&Operation)| Some((at as u64, operation.splits.clone()?));
    let split: Vec<(u64, Splits)> = operations.iter().enumerate().filter_map(split).collect();
    let longest = split.iter().map(|(_, splits)| splits.sent.len().max(splits.received.len())).max().unwrap_or(0);
    for rows in split.chunks((SPLIT_NUMBERS / longest.max(1)).max(1)) {
        writer.block(kinds::SPLITS, |columns| {
            columns.counts(rows.iter().map(|(at, _)| *at));
            write_lists(columns, rows.iter().map(|(_, splits)| &*splits.sent));
            write_lists(columns, rows.iter().map(|(_, splits)| &*splits.received));
        })?;
    }
    Ok(())
}

fn write_lists<'a>(columns: &mut ColumnsWriter, lists: impl Iterator<Item = &'a [u32]> + Clone) {
    columns.counts(lists.clone().map(|list| list.len() as u64));
    columns.counts(lists.flatten().map(|elements| u64::from(*elements)));
}

/// Numbers in a list of a block of splits, at most, unless one row has more.
const SPLIT_NUMBERS: usize = 1 << 20;

fn read_splits(columns: &mut Columns<'_>, operations: &mut [Operation]) -> Result<(), Error> {
    let places: Vec<usize> = columns.narrow()?;
    let mut lists = || {
        let (lengths, all) = (columns.narrow::<usize>()?, columns.narrow::<u32>()?);
        columns.fit(places.len(), &[lengths.len()])?;
        let mut rest = all.as_slice();
        let list = |length: usize| {
            let (list, others) = rest.split_at_checked(length)?;
            rest = others;
            Some(list.to_vec())
        };
        let lists: Option<Vec<Vec<u32>>> = lengths.into_iter().map(list).collect();
        lists.filter(|_| rest.is_empty()).ok_or_else(|| columns.misfit("its lists are not as long as it says"))
    };
    let (sent, received) = (lists()?, lists()?);
    for (place, (sent, received)) in places.into_iter().zip(sent.into_iter().zip(received)) {
        let operation = operations.get_mut(place);
        let operation = operation.ok_or_else(|| columns.misfit("lists are of an operation that is not there"))?;
        operation.splits = Splits::new(sent, received);
    }
    Ok(())
}
