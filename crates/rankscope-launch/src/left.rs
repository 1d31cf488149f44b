//! What a job left: which of its ranks there are traces of, and of which there are none.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rankscope_time::Rank;
use rankscope_trace::rank_of_name;
use serde_json::Value;

use super::collect::is_own_folder;
use rankscope_job::list;

/// Traces of a run, and what is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// Files, or ranks where it is known which are theirs.
    pub(super) files: usize,
    /// Ranks in the job, where known.
    pub(super) world_size: Option<u32>,
    /// Ranks that left nothing, as far as it is known whose the files are.
    pub(super) missing: Vec<u32>,
}

impl Left {
    /// By the names of the files in the run's folder of traces.
    pub(super) fn of(run: &Path, world_size: Option<u32>) -> Self {
        // What lies behind a link was not left by the job.
        let raw = Some(run.join("raw")).filter(|raw| is_own_folder(raw));
        let entries = raw.and_then(|raw| fs::read_dir(raw).ok()).into_iter().flatten().flatten();
        let names: Vec<String> = entries
            .filter(|entry| entry.path().is_file())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| !name.starts_with('.'))
            .collect();
        let ranks: Option<BTreeSet<u32>> = names.iter().map(|name| rank_of_name(name).map(|rank| rank.0)).collect();
        let missing = ranks.map(|ranks| (0..world_size.unwrap_or(0)).filter(|rank| !ranks.contains(rank)).collect());
        Self { files: names.len(), world_size, missing: missing.unwrap_or_default() }
    }

    /// By what a report read.
    pub(super) fn told(report: &Value) -> Option<Self> {
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        Some(Self {
            files: report["ranks"].as_array()?.len(),
            world_size: number(&report["world_size"]),
            missing: report["missing_ranks"].as_array()?.iter().filter_map(number).collect(),
        })
    }

    /// `3 of 4 traces; rank 2 left none`.
    pub(super) fn sentence(&self) -> String {
        let plural = if self.files == 1 { "" } else { "s" };
        match (self.world_size, self.missing.as_slice()) {
            (_, []) | (None, _) => format!("{} trace{plural}", self.files),
            (Some(world), _) if self.files == 0 => format!("0 of {world} traces"),
            (Some(world), missing) => format!("{} of {world} traces; {} left none", self.files, ranks(missing)),
        }
    }
}

/// `rank 2`, `ranks 2, 5`.
pub(super) fn ranks(ranks: &[u32]) -> String {
    let listed: Vec<Rank> = ranks.iter().copied().map(Rank).collect();
    format!("rank{} {}", if ranks.len() == 1 { "" } else { "s" }, list(&listed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_left_no_trace_is_said() {
        let root = tempfile::tempdir().unwrap();
        let raw = root.path().join("raw");
        fs::create_dir_all(raw.join("more")).unwrap();
        let said = |world| Left::of(root.path(), world).sentence();
        assert_eq!((said(None), said(Some(2))), ("0 traces".to_owned(), "0 of 2 traces".to_owned()));
        for name in ["rank-0.json", "rank-3.json.gz", ".rank-1.7.partial"] {
            fs::write(raw.join(name), "").unwrap();
        }
        assert_eq!(said(None), "2 traces");
        assert_eq!(said(Some(4)), "2 of 4 traces; ranks 1, 2 left none");
        // Whose this is shows when it is read.
        fs::write(raw.join("pp_1.json"), "").unwrap();
        assert_eq!(said(Some(4)), "3 traces");
        let report = serde_json::json!({ "world_size": 4, "missing_ranks": [2], "ranks": [{}, {}, {}] });
        assert_eq!(Left::told(&report).unwrap().sentence(), "3 of 4 traces; rank 2 left none");
    }
}
