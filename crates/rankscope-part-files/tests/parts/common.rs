//! Parts of the testkit's ranks, and files in which one block was exchanged.

use std::io::Cursor;

use rankscope_analyze::Classes;
use rankscope_formats::{ArgsPolicy, ReadOptions, read};
use rankscope_job::{Cards, Part, Place, Rules, TableSet};
use rankscope_part_files::{ColumnsWriter, laid_bare, write_part};
use rankscope_testkit::{Dialect, Job};
use rankscope_trace::Trace;

pub(crate) fn small_job() -> Job {
    Job { ranks: 4, steps: 3, layers: 2, group_size: Some(2), ..Job::default() }
}

pub(crate) fn traces(bytes: &[u8], label: &str) -> Vec<Trace> {
    let options = ReadOptions::default().with_label(label);
    let members = read(Cursor::new(bytes), &options).unwrap_or_default();
    members.into_iter().filter_map(|member| member.trace.ok()).collect()
}

pub(crate) fn part_of(mut trace: Trace) -> Part {
    Part::of(&mut trace, &Classes::default())
}

pub(crate) fn part(rank: u32, dialect: &Dialect) -> Part {
    part_of(traces(&small_job().rank_bytes(rank, dialect), "rank1.json").remove(0))
}

/// The same with the checks of validation, of a trace that was read with all arguments.
pub(crate) fn checked_part(rank: u32, dialect: &Dialect) -> Part {
    let options = ReadOptions::default().with_label("rank1.json").with_args(ArgsPolicy::All);
    let bytes = small_job().rank_bytes(rank, dialect);
    let mut trace = read(Cursor::new(bytes), &options).unwrap().remove(0).trace.unwrap();
    let mut part = Part::of(&mut trace, &Classes::default());
    part.check(&trace);
    part
}

/// The same with tables.
pub(crate) fn tabulated_part(rank: u32, dialect: &Dialect) -> Part {
    let mut trace = traces(&small_job().rank_bytes(rank, dialect), "rank1.json").remove(0);
    let mut part = Part::of(&mut trace, &Classes::default());
    part.tabulate(&trace, &Classes::default(), Cards::known(), TableSet::ALL);
    part
}

/// The same with an execution graph.
pub(crate) fn executed_part(rank: u32, dialect: &Dialect) -> Part {
    let mut trace = traces(&small_job().rank_bytes(rank, dialect), "rank1.json").remove(0);
    let mut part = Part::of(&mut trace, &Classes::default());
    part.add_execution(&trace, &Classes::default());
    part
}

/// What a part of the usual rules is made by.
pub(crate) fn rules(part: &Part) -> Rules {
    let rules = Rules::default().with_checks(part.evidence.is_some()).with_tables(part.tables.is_some());
    rules.with_answers(part.execution.is_some())
}

pub(crate) fn file(part: &Part) -> Vec<u8> {
    file_by(part, &rules(part))
}

/// The file of a part that was made by `rules`.
pub(crate) fn file_by(part: &Part, rules: &Rules) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_part(part, Place { file: 3, member: 1 }, rules, &mut bytes).unwrap();
    bytes
}

/// `file` with other columns in its blocks of `kind`, and right checksums.
pub(crate) fn with_block(file: &[u8], kind: u16, fill: impl Fn(&mut ColumnsWriter)) -> Vec<u8> {
    let mut columns = ColumnsWriter::default();
    fill(&mut columns);
    let columns = columns.into_bytes().unwrap();
    let bare = laid_bare(file);
    let mut again = bare[..16].to_vec();
    let mut rest = &bare[16..];
    while let Some((head, after)) = rest.split_first_chunk::<16>() {
        let stored = u32::from_le_bytes(head[4..8].try_into().unwrap()) as usize;
        let (is_it, len) = (head[..2] == kind.to_le_bytes(), (columns.len() as u32).to_le_bytes());
        let (head, stored, after) = (*head, &after[..stored], &after[stored..]);
        match is_it {
            true => again.extend([&head[..4], &len, &len, &head[12..], &columns].concat()),
            false => again.extend([&head[..], stored].concat()),
        }
        rest = after;
    }
    laid_bare(&again)
}
