//! The blocks about the clock of a rank's GPU, and about what has a place by it. Parts of ranks that told none of its times have none, nor
//! have those of earlier versions.

use rankscope_align::{GpuClock, GpuClockWindow, GpuPlaced};

use super::{block, kinds};
use crate::error::Error;
use crate::{Columns, Reader, Writer};

pub(super) fn write(writer: &mut Writer, clock: Option<&GpuClock>) -> Result<(), Error> {
    let Some(clock) = clock else { return Ok(()) };
    let windows = &clock.windows;
    writer.block(kinds::GPU_CLOCK, |columns| {
        columns.counts([clock.operations, clock.unlaunched]);
        columns.counts(clock.unusable);
        columns.counts(clock.lineless);
        columns.signed(&[clock.step_ns]);
        columns.spans(windows.iter().map(|window| (window.start_ns, window.end_ns)));
        columns.deltas(windows.iter().map(|window| window.at_ns));
        columns.deltas(windows.iter().map(|window| window.offset_ns));
        columns.spans(windows.iter().map(|window| (window.lo_ns, window.hi_ns)));
        columns.deltas(windows.iter().map(|window| window.drift_ppb));
        columns.spans(windows.iter().map(|window| (window.drift_lo_ppb, window.drift_hi_ppb)));
        columns.counts(windows.iter().map(|window| u64::from(window.above)));
        columns.counts(windows.iter().map(|window| u64::from(window.below)));
        columns.bits(&windows.iter().map(|window| window.proven).collect::<Vec<_>>());
    })?;
    let Some(placed) = &clock.placed else { return Ok(()) };
    writer.block(kinds::GPU_PLACED, |columns| {
        columns.counts([placed.placed]);
        columns.counts(placed.not_placed);
        columns.signed(&[placed.error_max_ns]);
    })
}

pub(super) fn read(reader: &Reader<'_>) -> Result<Option<GpuClock>, Error> {
    if !reader.kinds().any(|kind| kind == kinds::GPU_CLOCK) {
        return Ok(None);
    }
    let placed = placed(reader)?;
    block(reader, kinds::GPU_CLOCK, |columns| {
        let counts = columns.unsigned()?;
        let [operations, unlaunched] = columns.exactly(counts)?;
        let (unusable, lineless) = (columns.unsigned()?, columns.unsigned()?);
        let (unusable, lineless) = (columns.exactly(unusable)?, columns.exactly(lineless)?);
        let steps = columns.signed()?;
        let [step_ns] = columns.exactly(steps)?;
        Ok(Some(GpuClock { operations, unlaunched, unusable, step_ns, windows: windows(columns)?, lineless, placed }))
    })
}

fn placed(reader: &Reader<'_>) -> Result<Option<GpuPlaced>, Error> {
    if !reader.kinds().any(|kind| kind == kinds::GPU_PLACED) {
        return Ok(None);
    }
    block(reader, kinds::GPU_PLACED, |columns| {
        let (placed, not_placed, errors) = (columns.unsigned()?, columns.unsigned()?, columns.signed()?);
        let ([placed], not_placed) = (columns.exactly(placed)?, columns.exactly(not_placed)?);
        let [error_max_ns] = columns.exactly(errors)?;
        Ok(Some(GpuPlaced { placed, not_placed, error_max_ns }))
    })
}

fn windows(columns: &mut Columns<'_>) -> Result<Vec<GpuClockWindow>, Error> {
    let (bounds, at, offsets) = (columns.spans()?, columns.deltas()?, columns.deltas()?);
    let (intervals, drifts, drift_intervals) = (columns.spans()?, columns.deltas()?, columns.spans()?);
    let (above, below, proven) = (columns.narrow()?, columns.narrow()?, columns.bits()?);
    let lengths =
        [at.len(), offsets.len(), intervals.len(), drifts.len(), drift_intervals.len(), above.len(), below.len(), proven.len()];
    columns.fit(bounds.len(), &lengths)?;
    let window = |row: usize| GpuClockWindow {
        start_ns: bounds[row].0,
        end_ns: bounds[row].1,
        at_ns: at[row],
        offset_ns: offsets[row],
        lo_ns: intervals[row].0,
        hi_ns: intervals[row].1,
        drift_ppb: drifts[row],
        drift_lo_ppb: drift_intervals[row].0,
        drift_hi_ppb: drift_intervals[row].1,
        above: above[row],
        below: below[row],
        proven: proven[row],
    };
    Ok((0..bounds.len()).map(window).collect())
}
