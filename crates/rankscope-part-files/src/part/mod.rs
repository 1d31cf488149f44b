//! A [`Part`] as blocks of columns, and back.
//!
//! Every field has a column, and reading gives exactly what was written: nothing is rounded, sorted or left out, and stamps are those
//! of the rank's own clock. What follows from the rest is not stored: communication and memory work that nothing hides are differences
//! of the stored sets. What cannot come back as it was is refused when it is written.

mod about;
mod checks;
mod collectives;
mod execution;
mod gpu_clock;
mod operations;
mod order;
mod report;
mod sets;
mod shapes;
mod tables;
mod vocabulary;

use std::io::{Read, Write};

use rankscope_job::{Part, Place, Rules};

use crate::error::Error;
use crate::frame::{Kind, MAGIC, PART_BYTES_MAX, begins};
use crate::{Columns, Reader, Writer};

/// What the blocks of a part are about. The numbers are those of the file.
mod kinds {
    use crate::Kind;

    pub(super) const ABOUT: Kind = Kind(1);
    pub(super) const PROBLEMS: Kind = Kind(2);
    pub(super) const READINGS: Kind = Kind(3);
    pub(super) const EXPORTS: Kind = Kind(4);
    pub(super) const TRACERS: Kind = Kind(5);
    pub(super) const GROUPS: Kind = Kind(6);
    pub(super) const OPERATIONS: Kind = Kind(7);
    pub(super) const ORDER: Kind = Kind(8);
    pub(super) const COLLECTIVES: Kind = Kind(9);
    pub(super) const MARKS: Kind = Kind(10);
    pub(super) const TOTALS: Kind = Kind(11);
    pub(super) const STEPS: Kind = Kind(12);
    pub(super) const TIMES: Kind = Kind(13);
    pub(super) const NAMES: Kind = Kind(14);
    pub(super) const CHECKS: Kind = Kind(15);
    pub(super) const FINDINGS: Kind = Kind(16);
    pub(super) const STREAMS: Kind = Kind(17);
    pub(super) const RECORDED: Kind = Kind(18);
    pub(super) const SPLITS: Kind = Kind(19);
    pub(super) const TABLES: Kind = Kind(20);
    pub(super) const GRAPHS: Kind = Kind(21);
    pub(super) const LANES: Kind = Kind(22);
    pub(super) const KEYS: Kind = Kind(23);
    pub(super) const PIECES: Kind = Kind(24);
    pub(super) const GPU: Kind = Kind(25);
    pub(super) const GPU_CLOCK: Kind = Kind(26);
    pub(super) const GPU_PLACED: Kind = Kind(27);
}

/// One part read back.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPart {
    /// What it was made by.
    pub rules: Rules,
    /// Where its trace stands among the inputs.
    pub place: Place,
    /// The part.
    pub part: Part,
}

/// Writes `part`, made by `rules` of the trace at `place`. The same part gives the same bytes.
///
/// # Errors
/// [`Error::Io`] if `out` fails; [`Error::Unwritable`], [`Error::Column`], [`Error::TooLarge`] and [`Error::PartTooLarge`] if the part
/// would not come back as it is. Nothing is written before all of it is encoded.
pub fn write_part(part: &Part, place: Place, rules: &Rules, mut out: impl Write) -> Result<(), Error> {
    let mut writer = Writer::new();
    about::write(&mut writer, part, place, rules)?;
    let known = collectives::write(&mut writer, &part.collectives, &part.report.exposed_ns)?;
    report::write(&mut writer, &part.report, &known)?;
    if rules.checks != part.evidence.is_some() {
        return Err(Error::Unwritable { what: "it was checked and its rules say otherwise, or the other way round" });
    }
    if let Some(evidence) = &part.evidence {
        checks::write(&mut writer, evidence, part.collectives.collectives.len())?;
    }
    if rules.tables != part.tables.is_some() {
        return Err(Error::Unwritable { what: "it has tables and its rules say otherwise, or the other way round" });
    }
    if let Some(tables) = &part.tables {
        tables::write(&mut writer, tables)?;
    }
    if rules.answers != part.execution.is_some() {
        return Err(Error::Unwritable { what: "it has an execution and its rules say otherwise, or the other way round" });
    }
    if let Some(execution) = &part.execution {
        execution::write(&mut writer, execution, part.collectives.collectives.len())?;
    }
    let bytes = writer.finish();
    if bytes.len() as u64 > PART_BYTES_MAX {
        return Err(Error::PartTooLarge);
    }
    out.write_all(&bytes)?;
    Ok(out.flush()?)
}

/// Reads a part to the end of `input`. Whether its rules are those of other parts is for the caller to compare.
///
/// # Errors
/// What is wrong with it, and where. What does not begin like a part is read no further than that.
pub fn read_part(input: impl Read) -> Result<StoredPart, Error> {
    let bytes = bytes_of(input)?;
    let reader = Reader::open(&bytes)?;
    let (collectives, exposed_ns, known) = collectives::read(&reader)?;
    let report = report::read(&reader, exposed_ns, &known)?;
    let evidence = checks::read(&reader, collectives.collectives.len())?;
    let execution = execution::read(&reader, collectives.collectives.len())?;
    let StoredPart { rules, place, mut part } = about::read(&reader, collectives, report)?;
    part.evidence = evidence;
    part.tables = tables::read(&reader)?.map(Box::new);
    part.execution = execution.map(Box::new);
    // Whether a trace was checked or tabulated is told by what came of it.
    let rules = rules.with_checks(part.evidence.is_some()).with_tables(part.tables.is_some());
    let rules = rules.with_answers(part.execution.is_some());
    Ok(StoredPart { rules, place, part })
}

/// Whether a file that begins with `head` is a part, by its first eight bytes.
pub fn is_part(head: &[u8]) -> bool {
    head.starts_with(&MAGIC)
}

fn bytes_of(mut input: impl Read) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    input.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes)?;
    if !begins(&bytes) {
        return Err(Error::NotAPart);
    }
    input.take(PART_BYTES_MAX).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > PART_BYTES_MAX { Err(Error::PartTooLarge) } else { Ok(bytes) }
}

/// What `read` makes of the one block of `kind`, all columns of it.
fn block<T>(reader: &Reader<'_>, kind: Kind, read: impl FnOnce(&mut Columns<'_>) -> Result<T, Error>) -> Result<T, Error> {
    let block = reader.block(kind)?;
    let mut columns = block.columns();
    let read = read(&mut columns)?;
    columns.end()?;
    Ok(read)
}
