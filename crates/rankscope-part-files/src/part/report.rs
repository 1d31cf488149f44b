//! Where the rank's time went: totals, steps, sets of time, names.

use rankscope_analyze::{Accounting, Copied, Copies, ExposedTimes, HotName, Intervals, RankReport, StepWindow};

use super::sets::Known;
use super::vocabulary::numbers;
use super::{block, kinds};
use crate::error::Error;
use crate::{Columns, Reader, Writer};

/// Writes the report of a rank of whose collectives it is `known` when they were.
pub(super) fn write(writer: &mut Writer, report: &RankReport, known: &Known) -> Result<(), Error> {
    let sets = &report.accounting;
    let (compute, comm, memory) = (sets.compute(), sets.comm(), sets.memory());
    let (sides, sources) = (numbers([report.side])?, numbers([report.step_source])?);
    let copies = sorts_of(&report.copies);
    writer.block(kinds::TOTALS, |columns| {
        columns.enums(&sides);
        columns.enums(&sources);
        columns.spans(report.recorded_ns.iter().copied());
        columns.spans([sets.extent_ns()].into_iter());
        columns.counts(copies.iter().map(|copied| copied.count));
        columns.signed(&copies.map(|copied| copied.total_ns));
        columns.counts(copies.iter().map(|copied| copied.bytes));
    })?;
    writer.block(kinds::STEPS, |columns| {
        columns.deltas(report.steps.iter().map(|step| step.number));
        columns.spans(report.steps.iter().map(|step| (step.start_ns, step.end_ns)));
    })?;
    writer.block(kinds::TIMES, |columns| {
        for set in [compute, comm, memory] {
            known.write(columns, &set);
        }
    })?;
    let classes = numbers(report.names.iter().map(|name| name.class))?;
    writer.block(kinds::NAMES, |columns| {
        columns.strings(report.names.iter().map(|name| name.name.as_str()));
        columns.enums(&classes);
        columns.counts(report.names.iter().map(|name| name.count));
        columns.signed(&report.names.iter().map(|name| name.total_ns).collect::<Vec<_>>());
    })
}

/// The report of a rank whose collectives have these exposed times, and of which it is `known` when they were.
pub(super) fn read(reader: &Reader<'_>, exposed_ns: ExposedTimes, known: &Known) -> Result<RankReport, Error> {
    let mut report = RankReport::default();
    report.exposed_ns = exposed_ns;
    let extent_ns = block(reader, kinds::TOTALS, |columns| read_totals(columns, &mut report))?;
    report.steps = block(reader, kinds::STEPS, read_steps)?;
    report.accounting = block(reader, kinds::TIMES, |columns| {
        let mut set = || match reader.schema() {
            ..BESIDE_COLLECTIVES => read_set(columns),
            _ => known.read(columns),
        };
        let (compute, comm, memory) = (set()?, set()?, set()?);
        Ok(Accounting::of_sets(compute, comm, memory, extent_ns))
    })?;
    report.names = block(reader, kinds::NAMES, read_names)?;
    Ok(report)
}

/// Fills in what is not a list, and returns the extent of the work.
fn read_totals(columns: &mut Columns<'_>, report: &mut RankReport) -> Result<(i64, i64), Error> {
    let sides = columns.variants()?;
    [report.side] = columns.exactly(sides)?;
    let sources = columns.variants()?;
    [report.step_source] = columns.exactly(sources)?;
    report.recorded_ns = columns.spans()?;
    let extents = columns.spans()?;
    let [extent_ns] = columns.exactly(extents)?;
    let (counts, totals, bytes) = (columns.unsigned()?, columns.signed()?, columns.unsigned()?);
    columns.fit(counts.len(), &[totals.len(), bytes.len()])?;
    let rows = counts.into_iter().zip(totals).zip(bytes);
    let copies = rows.map(|((count, total_ns), bytes)| Copied { count, total_ns, bytes }).collect();
    let [host_to_device, device_to_host, device_to_device, peer_to_peer, other, memset] = columns.exactly(copies)?;
    report.copies = Copies { host_to_device, device_to_host, device_to_device, peer_to_peer, other, memset };
    Ok(extent_ns)
}

/// In the order of the file.
fn sorts_of(copies: &Copies) -> [Copied; 6] {
    let Copies { host_to_device, device_to_host, device_to_device, peer_to_peer, other, memset } = *copies;
    [host_to_device, device_to_host, device_to_device, peer_to_peer, other, memset]
}

fn read_steps(columns: &mut Columns<'_>) -> Result<Vec<StepWindow>, Error> {
    let (numbers, spans) = (columns.deltas()?, columns.spans()?);
    columns.fit(numbers.len(), &[spans.len()])?;
    let rows = numbers.into_iter().zip(spans);
    Ok(rows.map(|(number, (start_ns, end_ns))| StepWindow { number, start_ns, end_ns }).collect())
}

/// The first schema in which sets of time stand beside collectives.
const BESIDE_COLLECTIVES: u16 = 2;

/// A set of time by itself.
fn read_set(columns: &mut Columns<'_>) -> Result<Intervals, Error> {
    let list = columns.intervals()?;
    Intervals::of_sorted(list).ok_or_else(|| columns.misfit("an interval is empty, or touches the one before"))
}

fn read_names(columns: &mut Columns<'_>) -> Result<Vec<HotName>, Error> {
    let (texts, classes) = (columns.texts()?, columns.variants()?);
    let (counts, totals) = (columns.unsigned()?, columns.signed()?);
    columns.fit(texts.len(), &[classes.len(), counts.len(), totals.len()])?;
    let rows = texts.into_iter().zip(classes).zip(counts.into_iter().zip(totals));
    Ok(rows.map(|((name, class), (count, total_ns))| HotName { name, class, count, total_ns }).collect())
}
