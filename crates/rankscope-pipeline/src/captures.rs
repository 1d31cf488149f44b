//! Graphs that one file launches and another file of its rank captured.
//!
//! Inference engines leave a trace of the capture beside that of the run, in one file or in many. Only where the tables of a trace count work
//! for graph launches is anything looked for: in the files that are named like its rank, and in those that are named like a capture and
//! like no rank. A file in which nothing was captured, or which is of another rank, is not used, whatever it is called.

use std::collections::BTreeMap;

use rankscope_analyze::Classes;
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{Captures, Export, Parts, Place};
use rankscope_run::InputFile;
use rankscope_time::Rank;
use rankscope_trace::rank_of_name;
use rayon::prelude::*;

use crate::Error;
use crate::facts::SideReadings;
use crate::held::Held;
use crate::map::Mapping;
use crate::read::{Reading, read_members};

/// What was captured in one file, for the ranks it is of; for none where nothing tells its rank.
type OfFile = Vec<(Option<Rank>, Captures)>;

/// A part whose graphs may be captured in another file.
struct Open {
    place: Place,
    rank: Option<Rank>,
    exports: Vec<Export>,
    /// Files to look into, by their numbers among all.
    candidates: Vec<usize>,
}

/// What tying graphs to other files takes.
pub(crate) struct Tying<'a> {
    /// The files of the parts, by their numbers.
    pub(crate) files: &'a [InputFile],
    /// All files that captures may lie in.
    pub(crate) among: &'a [InputFile],
    pub(crate) held: &'a Held,
    pub(crate) mapping: &'a Mapping,
    pub(crate) readings: &'a SideReadings,
    pub(crate) classes: &'a Classes,
}

/// Makes the tables again of those of `parts` whose graphs were captured in another file.
///
/// # Errors
/// [`Error::Changed`] for a trace that has to be read again and is another one now.
pub(crate) fn tie(parts: &mut Parts, tying: &Tying<'_>) -> Result<(), Error> {
    let Tying { files, among, held, mapping, readings, classes } = *tying;
    let open: Vec<Open> = parts
        .iter()
        .filter(|(_, part)| part.wants_captures())
        .map(|(place, part)| {
            let rank = part.about.own_rank();
            let own = &files[place.file as usize];
            let is_candidate = |at: &usize| among[*at].path != own.path && may_hold_captures(&among[*at], rank);
            let candidates = (0..among.len()).filter(is_candidate).collect();
            Open { place, rank, exports: part.exports.clone(), candidates }
        })
        .collect();
    let mut wanted: Vec<usize> = open.iter().flat_map(|open| open.candidates.iter().copied()).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let found: BTreeMap<usize, OfFile> = wanted.into_par_iter().map(|at| (at, captures(&among[at]))).collect();
    for open in open {
        let of_rank = |at: &usize| found.get(at).into_iter().flatten().filter(|(rank, _)| belongs(*rank, open.rank, among));
        let captures: Vec<Captures> = open.candidates.iter().flat_map(of_rank).map(|(_, captures)| captures.clone()).collect();
        if captures.is_empty() {
            continue;
        }
        let traces = held.get(std::iter::once(&open.exports[..]), readings)?;
        if let (Some(part), Some(trace)) = (parts.get_mut(open.place), traces.get(&open.place)) {
            part.tabulate_with(trace, &captures, classes, &mapping.cards, mapping.tables);
        }
    }
    Ok(())
}

/// Whether `file` may hold captures of `rank`, by its name.
fn may_hold_captures(file: &InputFile, rank: Option<Rank>) -> bool {
    match rank_of_name(&file.path.to_string_lossy()) {
        Some(named) => rank.is_none_or(|rank| rank == named),
        None => is_named_as_capture(file),
    }
}

/// Whether the file or its folder is called as engines call captures: `capture_traces`, `graph_capture_rank_0`, `bs_24_rank0`.
fn is_named_as_capture(file: &InputFile) -> bool {
    let path = file.path.to_string_lossy().to_lowercase();
    let own_and_folder = || path.rsplit(['/', '\\']).take(2);
    own_and_folder().any(|part| part.contains("capture"))
        || own_and_folder()
            .next()
            .and_then(|name| name.strip_prefix("bs_"))
            .is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
}

/// Whether captures of `captured` are of the run's `rank`. A file that tells no rank is of the run if there is no other rank that it
/// may be of.
fn belongs(captured: Option<Rank>, rank: Option<Rank>, among: &[InputFile]) -> bool {
    match (captured, rank) {
        (Some(captured), Some(rank)) => captured == rank,
        _ => among.iter().filter(|file| !is_named_as_capture(file)).count() == 1,
    }
}

/// What was captured in `file`. What cannot be read is told of where it is mapped.
fn captures(file: &InputFile) -> OfFile {
    let mut found = OfFile::new();
    read_members(file, Reading { args: ArgsPolicy::All, scope: Scope::All }, |member| {
        let Ok(trace) = member.trace else { return };
        found.extend(Captures::of(&trace).map(|captures| (trace.provenance.own_rank(), captures)));
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> InputFile {
        InputFile { path: path.into(), named: false, earlier: false }
    }

    #[test]
    fn files_of_the_rank_and_files_called_captures_are_looked_into() {
        for (path, rank, expected) in [
            ("run/capture_traces/graph_capture_rank_0.177.pt.trace.json.gz", Some(0), true),
            ("run/capture_traces/graph_capture_rank_1.177.pt.trace.json.gz", Some(0), false),
            ("run/capture_traces/bs_24_rank0.json.gz", Some(0), true),
            ("run/capture_traces/17.json.gz", Some(0), true),
            ("run/bs_24.json.gz", None, true),
            ("run/bs_baseline.json", None, false),
            ("run/17.json.gz", Some(0), false),
            ("run/rank0-warmup.json", Some(0), true),
        ] {
            assert_eq!(may_hold_captures(&file(path), rank.map(Rank)), expected, "{path}");
        }
    }

    #[test]
    fn captures_of_an_unknown_rank_are_of_the_only_other_file() {
        let alone = [file("run/17.json"), file("run/capture_traces/18.json")];
        let two = [file("run/16.json"), file("run/17.json"), file("run/capture_traces/18.json")];
        assert!(belongs(None, None, &alone) && belongs(None, Some(Rank(3)), &alone));
        assert!(!belongs(None, None, &two) && !belongs(None, Some(Rank(3)), &two));
        assert!(belongs(Some(Rank(3)), Some(Rank(3)), &two) && !belongs(Some(Rank(2)), Some(Rank(3)), &alone));
    }
}
