//! Whose something in a run directory is, by its path alone.
//!
//! Of a run that ended the manifest lists what belongs to it; reports and late traces come after that and are known by their
//! names. Of a run that never ended nothing is listed, so all that lies in the folders laid out for it counts as its own.

use std::collections::BTreeSet;
use std::path::Path;

use rankscope_formats::Format;

/// Whose something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ownership {
    /// The manifest of the run.
    Manifest,
    /// Part of the run; of a folder, that parts may lie in it.
    Part,
    /// Somebody else's.
    None,
}

/// What lies somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    /// It holds nothing but where it leads.
    Link,
    /// A file, or a device, pipe or socket.
    File,
}

/// What a run owns.
pub(super) struct Owned {
    /// Paths from the run directory; none where the run never ended.
    listed: BTreeSet<String>,
}

/// Folders that are laid out in every run.
const FOLDERS: [&str; 6] = ["raw", "clock", "counters", "incidents", "nodes", "report"];

impl Owned {
    pub(super) fn new(listed: BTreeSet<String>) -> Self {
        Self { listed }
    }

    /// Whose `below`, a path from the run directory, is.
    pub(super) fn ownership(&self, below: &Path, kind: Kind) -> Ownership {
        // What we make and list has names that are text.
        let Some(path) = below.to_str() else { return Ownership::None };
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        if path == "run.json" {
            return Ownership::Manifest;
        }
        let laid_out = match (FOLDERS.contains(&first), rest) {
            (true, "") => true,
            (true, _) => kind != Kind::File || self.listed.is_empty() || of_folder(first, rest),
            (false, _) => rest.is_empty() && beside_folders(first) || first.starts_with(".rankscope-"),
        };
        if laid_out || self.lists(path, kind) { Ownership::Part } else { Ownership::None }
    }

    fn lists(&self, path: &str, kind: Kind) -> bool {
        let inner = || format!("{path}/");
        match kind {
            Kind::Folder => self.listed.range(inner()..).next().is_some_and(|file| file.starts_with(&inner())),
            Kind::Link | Kind::File => self.listed.contains(path),
        }
    }
}

/// Names of what we write into the run directory itself.
fn beside_folders(name: &str) -> bool {
    name == ".lock" || name.starts_with(".lease") || name.starts_with("timeline.")
}

/// Names of what we write into the folder `first`, however deep.
fn of_folder(first: &str, rest: &str) -> bool {
    let name = rest.rsplit('/').next().unwrap_or(rest);
    let ours = match first {
        "raw" => Format::of_name(without_number(name)).is_some() || name.ends_with(".partial"),
        "counters" => without_number(name).ends_with(".rkr"),
        "incidents" => rest.split_once('/').is_some_and(|(_, below)| of_incident(below)),
        "report" => name.starts_with("report.") || name == "validation.html",
        _ => name.ends_with(".json") || name.ends_with(".jsonl"),
    };
    ours || name.starts_with(".rankscope-")
}

/// Names of what lies in an incident, which is a run of its own.
fn of_incident(below: &str) -> bool {
    let (first, rest) = below.split_once('/').unwrap_or((below, ""));
    let is_beside = rest.is_empty() && (beside_folders(first) || ["run.json", "incident.json", "nodes.json"].contains(&first));
    is_beside || FOLDERS.contains(&first) && first != "incidents" && !rest.is_empty() && of_folder(first, rest)
}

/// The name that a recording had before it was put aside: `rank-0.rkr` of `rank-0.rkr.1`.
fn without_number(name: &str) -> &str {
    let numbered = name.rsplit_once('.').filter(|(_, number)| number.parse::<u32>().is_ok());
    numbered.map_or(name, |(before, _)| before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(listed: &[&str]) -> Owned {
        Owned::new(listed.iter().map(|path| (*path).to_owned()).collect())
    }

    #[test]
    fn a_run_that_ended_owns_what_it_lists_and_what_we_make_of_it() {
        let run = owned(&["raw/rank-0.json", "raw/notes.md", "out/deep/model.bin"]);
        let files = [
            ("run.json", Ownership::Manifest),
            (".lock", Ownership::Part),
            (".lease.dead-7", Ownership::Part),
            (".rankscope-report.log", Ownership::Part),
            ("timeline.pftrace", Ownership::Part),
            ("raw/rank-0.json", Ownership::Part),
            ("raw/notes.md", Ownership::Part),
            ("raw/attempt-0/rank-1.recovered.rkr", Ownership::Part),
            ("raw/rank-0.rkr.1", Ownership::Part),
            ("counters/node-1.rkr.2", Ownership::Part),
            ("counters/notes.txt", Ownership::None),
            ("incidents/20261128-001637/run.json", Ownership::Part),
            ("incidents/20261128-001637/raw/rank-0.rkr", Ownership::Part),
            ("incidents/20261128-001637/timeline.pftrace", Ownership::Part),
            ("incidents/20261128-001637/nodes.json", Ownership::Part),
            ("incidents/20261128-001637/notes.md", Ownership::None),
            ("incidents/20261128-001637/incidents/again/run.json", Ownership::None),
            ("incidents/thoughts.json", Ownership::None),
            ("report/report.html", Ownership::Part),
            ("report/validation.html", Ownership::Part),
            ("clock/windows-node3.jsonl", Ownership::Part),
            ("out/deep/model.bin", Ownership::Part),
            ("raw/thoughts.txt", Ownership::None),
            ("report/slides.pdf", Ownership::None),
            ("out/deep/other.bin", Ownership::None),
            ("thesis.tex", Ownership::None),
            ("timeline", Ownership::None),
            (".git", Ownership::None),
            ("raw", Ownership::Part),
        ];
        for (path, expected) in files {
            assert_eq!(run.ownership(Path::new(path), Kind::File), expected, "{path}");
        }
        let folders = [
            ("raw", Ownership::Part),
            ("raw/plugins/profile", Ownership::Part),
            (".rankscope-hooks", Ownership::Part),
            ("out", Ownership::Part),
            ("out/deep", Ownership::Part),
            ("ou", Ownership::None),
            ("out/deep/more", Ownership::None),
            ("thesis", Ownership::None),
        ];
        for (path, expected) in folders {
            assert_eq!(run.ownership(Path::new(path), Kind::Folder), expected, "{path}");
        }
        for (path, expected) in [("raw/latest", Ownership::Part), ("report", Ownership::Part), ("latest", Ownership::None)] {
            assert_eq!(run.ownership(Path::new(path), Kind::Link), expected, "{path}");
        }
    }

    #[test]
    fn a_run_that_never_ended_owns_the_folders_laid_out_for_it() {
        let run = owned(&[]);
        for (path, expected) in
            [("raw/memory.pickle", Ownership::Part), ("out/model.bin", Ownership::None), ("thesis.tex", Ownership::None)]
        {
            assert_eq!(run.ownership(Path::new(path), Kind::File), expected, "{path}");
        }
    }
}
