//! What a rank's collectives do, each once for all that do the same, with what goes to and comes from each rank where that is recorded.

use std::sync::Arc;

use rankscope_collectives::{Collectives, Kind, Operation, Splits};
use rustc_hash::FxHashMap;

use super::kinds;
use super::vocabulary::numbers;
use crate::error::Error;
use crate::{Columns, ColumnsWriter, Writer};

/// The different operations in order of their first collective, and the number of each collective's.
pub(super) struct Operations<'a> {
    pub(super) different: Vec<&'a Operation>,
    pub(super) numbers: Vec<usize>,
}

impl<'a> Operations<'a> {
    pub(super) fn of(collectives: &'a Collectives) -> Self {
        let mut different = Vec::new();
        let mut known: FxHashMap<&Operation, usize> = FxHashMap::default();
        // Most collectives share their operation with one before; that is seen without a look at its text.
        let mut shared: FxHashMap<*const Operation, usize> = FxHashMap::default();
        let mut number = |at: usize| {
            let operation = collectives.operation(at);
            *shared.entry(Arc::as_ptr(operation)).or_insert_with(|| {
                *known.entry(operation).or_insert_with(|| {
                    different.push(&**operation);
                    different.len() - 1
                })
            })
        };
        let numbers = (0..collectives.len()).map(&mut number).collect();
        Self { different, numbers }
    }

    pub(super) fn write(&self, writer: &mut Writer) -> Result<(), Error> {
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

pub(super) fn read_operations(columns: &mut Columns<'_>) -> Result<Vec<Operation>, Error> {
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
pub(super) fn write_splits(writer: &mut Writer, operations: &[&Operation]) -> Result<(), Error> {
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

pub(super) fn read_splits(columns: &mut Columns<'_>, operations: &mut [Operation]) -> Result<(), Error> {
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
