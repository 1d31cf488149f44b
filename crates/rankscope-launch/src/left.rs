//! What a job left: which of its ranks there are traces of, and of which there are none.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rankscope_trace::rank_of_name;
use serde_json::Value;

use crate::collect::is_own_folder;

/// Traces of a run, and what is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Files, or ranks where it is known which are theirs.
    pub files: usize,
    /// Ranks in the job, where known.
    pub world_size: Option<u32>,
    /// Ranks that left nothing, as far as it is known whose the files are.
    pub missing: Vec<u32>,
}

impl Left {
    /// By the names of the files in the run's folder of traces.
    pub(crate) fn of(run: &Path, world_size: Option<u32>) -> Self {
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
    pub(crate) fn told(report: &Value) -> Option<Self> {
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        Some(Self {
            files: report["ranks"].as_array()?.len(),
            world_size: number(&report["world_size"]),
            missing: report["missing_ranks"].as_array()?.iter().filter_map(number).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_left_no_trace_is_known() {
        let root = tempfile::tempdir().unwrap();
        let raw = root.path().join("raw");
        fs::create_dir_all(raw.join("more")).unwrap();
        let left = |world_size, files, missing: &[u32]| Left { files, world_size, missing: missing.to_vec() };
        assert_eq!(Left::of(root.path(), None), left(None, 0, &[]));
        for name in ["rank-0.json", "rank-3.json.gz", ".rank-1.7.partial"] {
            fs::write(raw.join(name), "").unwrap();
        }
        assert_eq!(Left::of(root.path(), None), left(None, 2, &[]));
        assert_eq!(Left::of(root.path(), Some(4)), left(Some(4), 2, &[1, 2]));
        // Whose this is shows when it is read.
        fs::write(raw.join("pp_1.json"), "").unwrap();
        assert_eq!(Left::of(root.path(), Some(4)), left(Some(4), 3, &[]));
        let report = serde_json::json!({ "world_size": 4, "missing_ranks": [2], "ranks": [{}, {}, {}] });
        assert_eq!(Left::told(&report), Some(left(Some(4), 3, &[2])));
    }
}
