//! A configuration of torch's profiler as text: what is asked for, and what nobody may ask for.

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

/// What is to be profiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where traces go: the number of the process is put before the suffix.
    pub file: PathBuf,
    /// When to begin, by the wall clock of the node.
    pub start_ms: i64,
    /// For how long.
    pub duration_ms: u64,
    /// Iterations instead of a time, beginning with one that all ranks come to.
    pub iterations: Option<u32>,
}

impl Plan {
    /// As the profiler reads it.
    pub fn text(&self) -> String {
        let mut text = format!("ACTIVITIES_LOG_FILE={}\n", self.file.display());
        // Writing into a string does not fail.
        let _whole = match self.iterations {
            Some(iterations) => write!(
                text,
                "PROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP={ROUND_UP}\nACTIVITIES_ITERATIONS={iterations}\n"
            ),
            None => write!(
                text,
                "PROFILE_START_TIME={}\nACTIVITIES_DURATION_MSECS={}\nACTIVITIES_WARMUP_PERIOD_SECS=0\n",
                self.start_ms, self.duration_ms
            ),
        };
        text
    }

    /// The file that process `pid` writes.
    pub fn file_of(&self, pid: u32) -> PathBuf {
        let stem = self.file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let suffix = self.file.extension().map(|suffix| format!(".{}", suffix.to_string_lossy())).unwrap_or_default();
        self.file.with_file_name(format!("{stem}_{pid}{suffix}"))
    }
}

/// Iterations begin at a multiple of this, so that ranks which learn of them at different times begin with the same.
const ROUND_UP: u32 = 100;

/// A configuration that would have a file written outside of the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}={value} points outside of {}", inside.display())]
pub struct Outside {
    /// The line's key.
    pub key: String,
    /// What it says.
    pub value: String,
    /// Where it may point.
    pub inside: PathBuf,
}

/// Refuses `text` if it names a file that is not below `inside`. Every line counts, also where another one says the same again.
///
/// # Errors
/// [`Outside`], with the first line that does.
pub fn refuse_outside(text: &str, inside: &Path) -> Result<(), Outside> {
    for line in text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (key, value) = line.split_once('=').map_or((line, ""), |(key, value)| (key.trim(), value.trim()));
        let names =
            |part: &str| part != "PROFILE" && ["FILE", "PATH", "DIR", "URL", "CONFIG"].iter().any(|end| part.ends_with(end));
        let names_a_file = key.to_ascii_uppercase().split('_').any(names);
        if names_a_file && !is_below(value, inside) {
            return Err(Outside { key: key.to_owned(), value: value.to_owned(), inside: inside.to_owned() });
        }
    }
    Ok(())
}

fn is_below(value: &str, inside: &Path) -> bool {
    let path = Path::new(value.strip_prefix("file://").unwrap_or(value));
    let is_plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    path.is_absolute() && is_plain && path.starts_with(inside) && path != inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_points_outside_of_the_run() {
        let inside = Path::new("/runs/a");
        for text in [
            "ACTIVITIES_LOG_FILE=/runs/a/raw/x.json",
            "# ACTIVITIES_LOG_FILE=/etc/passwd\nACTIVITIES_DURATION_MSECS=5",
            "  ACTIVITIES_LOG_FILE = file:///runs/a/x.json ",
            "",
        ] {
            assert_eq!(refuse_outside(text, inside), Ok(()), "{text}");
        }
        for text in [
            "ACTIVITIES_LOG_FILE=/etc/cron.d/x",
            "ACTIVITIES_LOG_FILE=/runs/a/../b/x.json",
            "ACTIVITIES_LOG_FILE=/runs/ab/x.json",
            "ACTIVITIES_LOG_FILE=x.json",
            "ACTIVITIES_LOG_FILE=/runs/a/x.json\nACTIVITIES_LOG_FILE=/tmp/x.json",
            "A=1\rACTIVITIES_LOG_FILE=/tmp/x.json",
            "activities_log_file=/tmp/x.json",
            "ACTIVITIES_LOG_URL=http://elsewhere/x",
        ] {
            assert!(refuse_outside(text, inside).is_err(), "{text}");
        }
    }

    #[test]
    fn a_plan_is_text_that_is_not_refused_and_files_are_by_process() {
        let plan = Plan {
            file: "/runs/a/on-demand/7/trace.json".into(),
            start_ms: 1_700_000_000_123,
            duration_ms: 2_000,
            iterations: None,
        };
        assert_eq!(
            plan.text(),
            "ACTIVITIES_LOG_FILE=/runs/a/on-demand/7/trace.json\nPROFILE_START_TIME=1700000000123\n\
             ACTIVITIES_DURATION_MSECS=2000\nACTIVITIES_WARMUP_PERIOD_SECS=0\n"
        );
        assert_eq!(refuse_outside(&plan.text(), Path::new("/runs/a")), Ok(()));
        assert_eq!(plan.file_of(4711), Path::new("/runs/a/on-demand/7/trace_4711.json"));
        let steps = Plan { iterations: Some(3), ..plan }.text();
        assert!(steps.contains("ACTIVITIES_ITERATIONS=3\n") && !steps.contains("START_TIME"), "{steps}");
    }
}
