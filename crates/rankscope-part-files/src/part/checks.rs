//! What validation found in a rank's trace, and what it wants of the rank's collectives: blocks that only checked parts have.
//!
//! Ids of collectives stand in the rank's order, in which they ascend as the profiler gave them out.

use rankscope_align::validate::{Check, Device, Finding, Key, RankEvidence, Recorded, Rule, Stream};

use super::collectives::BLOCK_ROWS;
use super::vocabulary::numbers;
use super::{block, kinds};
use crate::error::Error;
use crate::{Columns, ColumnsWriter, Reader, Writer};

/// `evidence` of a rank that has so many `collectives`.
pub(super) fn write(writer: &mut Writer, evidence: &RankEvidence, collectives: usize) -> Result<(), Error> {
    if evidence.collectives.len() != collectives {
        return Err(Error::Unwritable { what: "there are not as many ids as collectives" });
    }
    let RankEvidence { checks, devices, streams, collectives } = evidence;
    if streams.iter().any(|stream| stream.device >= devices.len())
        || collectives.iter().any(|recorded| recorded.stream as usize >= streams.len())
    {
        return Err(Error::Unwritable { what: "a collective ran on a stream or device that is not there" });
    }
    let rules = numbers(checks.iter().map(|check| check.rule))?;
    writer.block(kinds::CHECKS, |columns| {
        columns.enums(&rules);
        columns.counts(checks.iter().map(|check| check.judged));
        columns.counts(checks.iter().map(|check| check.found));
        columns.counts(checks.iter().map(|check| check.findings.len() as u64));
    })?;
    write_findings(writer, checks)?;
    writer.block(kinds::STREAMS, |columns| {
        columns.strings(devices.iter().map(|device| device.name.as_str()));
        write_keys(columns, devices.iter().map(|device| &device.key));
        columns.counts(streams.iter().map(|stream| stream.device as u64));
        write_keys(columns, streams.iter().map(|stream| &stream.key));
    })?;
    for rows in collectives.chunks(BLOCK_ROWS) {
        writer.block(kinds::RECORDED, |columns| {
            columns.counts(rows.iter().map(|recorded| u64::from(recorded.stream)));
            columns.options(&rows.iter().map(|recorded| recorded.correlation).collect::<Vec<_>>());
        })?;
    }
    Ok(())
}

/// The evidence of a rank that has so many `collectives`; none where the part was made without checks.
pub(super) fn read(reader: &Reader<'_>, collectives: usize) -> Result<Option<RankEvidence>, Error> {
    let own = [kinds::CHECKS, kinds::FINDINGS, kinds::STREAMS, kinds::RECORDED];
    if !reader.kinds().any(|kind| own.contains(&kind)) {
        return Ok(None);
    }
    let mut checks = block(reader, kinds::CHECKS, read_checks)?;
    block(reader, kinds::FINDINGS, |columns| read_findings(columns, &mut checks))?;
    let (devices, streams) = block(reader, kinds::STREAMS, read_streams)?;
    let mut rows = Vec::new();
    for block in reader.blocks(kinds::RECORDED) {
        let block = block?;
        let mut columns = block.columns();
        read_rows(&mut columns, streams.len(), &mut rows)?;
        columns.end()?;
    }
    match rows.len() == collectives {
        true => {
            let checks = checks.into_iter().map(|(check, _)| check).collect();
            Ok(Some(RankEvidence { checks, devices, streams, collectives: rows }))
        }
        false => Err(Error::Misfit { kind: kinds::RECORDED, what: "there are not as many ids as collectives" }),
    }
}

/// Each without its findings, and how many those are.
fn read_checks(columns: &mut Columns<'_>) -> Result<Vec<(Check, usize)>, Error> {
    let (rules, judged) = (columns.variants::<Rule>()?, columns.unsigned()?);
    let (found, findings) = (columns.unsigned()?, columns.narrow::<usize>()?);
    columns.fit(rules.len(), &[judged.len(), found.len(), findings.len()])?;
    if !rules.is_sorted_by(|a, b| a < b) {
        return Err(columns.misfit("its rules are not in order, or one comes twice"));
    }
    let rows = rules.into_iter().zip(judged).zip(found.into_iter().zip(findings));
    let check = |((rule, judged), (found, findings))| (Check { rule, judged, found, findings: Vec::new() }, findings);
    Ok(rows.map(check).collect())
}

fn write_findings(writer: &mut Writer, checks: &[Check]) -> Result<(), Error> {
    let all = || checks.iter().flat_map(|check| &check.findings);
    writer.block(kinds::FINDINGS, |columns| {
        columns.strings(all().map(|finding| finding.op.as_str()));
        columns.options(&all().map(|finding| finding.at_ns.map(i64::cast_unsigned)).collect::<Vec<_>>());
        columns.options(&all().map(|finding| finding.gap_ns.map(i64::cast_unsigned)).collect::<Vec<_>>());
        columns.options(&all().map(|finding| finding.correlation).collect::<Vec<_>>());
        columns.strings(all().map(|finding| finding.detail.as_str()));
    })
}

/// The findings of all of `checks`, as many of each as it says.
fn read_findings(columns: &mut Columns<'_>, checks: &mut [(Check, usize)]) -> Result<(), Error> {
    let (ops, at, gaps) = (columns.texts()?, columns.options()?, columns.options()?);
    let (correlations, details) = (columns.options()?, columns.texts()?);
    columns.fit(ops.len(), &[at.len(), gaps.len(), correlations.len(), details.len()])?;
    let rows = ops.into_iter().zip(details).zip(at.into_iter().zip(gaps)).zip(correlations);
    let signed = |value: Option<u64>| value.map(u64::cast_signed);
    let mut rows = rows.map(|(((op, detail), (at, gap)), correlation)| Finding {
        op,
        at_ns: signed(at),
        gap_ns: signed(gap),
        correlation,
        detail,
    });
    for (check, findings) in checks {
        check.findings.extend(rows.by_ref().take(*findings));
        if check.findings.len() != *findings {
            return Err(columns.misfit("there are fewer findings than its rules have"));
        }
    }
    match rows.next() {
        None => Ok(()),
        Some(_) => Err(columns.misfit("there are more findings than its rules have")),
    }
}

/// A number, or else a text.
fn write_keys<'a>(columns: &mut ColumnsWriter, keys: impl Iterator<Item = &'a Key> + Clone) {
    let number = |key: &Key| if let Key::Number(number) = key { Some(number.cast_unsigned()) } else { None };
    let text = |key: &'a Key| if let Key::Text(text) = key { Some(text.as_str()) } else { None };
    columns.options(&keys.clone().map(number).collect::<Vec<_>>());
    columns.strings(keys.filter_map(text));
}

fn read_keys(columns: &mut Columns<'_>) -> Result<Vec<Key>, Error> {
    let (numbers, texts) = (columns.options()?, columns.texts()?);
    columns.fit(numbers.iter().filter(|number| number.is_none()).count(), &[texts.len()])?;
    let mut texts = texts.into_iter();
    let key = |number: Option<u64>| match number {
        Some(number) => Some(Key::Number(number.cast_signed())),
        None => texts.next().map(Key::Text),
    };
    Ok(numbers.into_iter().filter_map(key).collect())
}

fn read_streams(columns: &mut Columns<'_>) -> Result<(Vec<Device>, Vec<Stream>), Error> {
    let (names, keys) = (columns.texts()?, read_keys(columns)?);
    columns.fit(names.len(), &[keys.len()])?;
    let devices: Vec<Device> = names.into_iter().zip(keys).map(|(name, key)| Device { key, name }).collect();
    let (of, keys) = (columns.narrow::<usize>()?, read_keys(columns)?);
    columns.fit(of.len(), &[keys.len()])?;
    if of.iter().any(|device| *device >= devices.len()) {
        return Err(columns.misfit("a stream is of a device that is not there"));
    }
    Ok((devices, of.into_iter().zip(keys).map(|(device, key)| Stream { device, key }).collect()))
}

fn read_rows(columns: &mut Columns<'_>, streams: usize, rows: &mut Vec<Recorded>) -> Result<(), Error> {
    let (of, correlations) = (columns.narrow::<u32>()?, columns.options()?);
    columns.fit(of.len(), &[correlations.len()])?;
    if of.iter().any(|stream| *stream as usize >= streams) {
        return Err(columns.misfit("a collective ran on a stream that is not there"));
    }
    rows.extend(of.into_iter().zip(correlations).map(|(stream, correlation)| Recorded { stream, correlation }));
    Ok(())
}
