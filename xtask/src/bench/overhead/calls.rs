//! System calls that a rank's own thread makes in a step, counted by strace: the same on every machine and at every load.
//!
//! A count is the difference of a long and a short run, so start and end are not in it. What rankscope does between two steps
//! of a job would show here: a lock that is waited for, a file that is written, a clock that is asked.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde::Serialize;

use super::job::{Job, Way};

/// Of one way to run a job.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Calls {
    pub(super) way: Way,
    /// By name, of the last rank, a step.
    pub(super) by_name: BTreeMap<String, f64>,
}

impl Calls {
    pub(super) fn total(&self) -> f64 {
        self.by_name.values().sum()
    }
}

const FEW: u64 = 50;
const MANY: u64 = 250;
/// The shell knows the rank, whoever started it.
const TRACED: [&str; 4] = ["sh", "-c", r#"exec strace --summary-only --output "$FOLDER/calls-$RANK" "$@""#, "sh"];

/// Counts for every way, or says why not.
pub(super) fn count(job: &Job) -> Result<Vec<Calls>, String> {
    let works = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    match works {
        Err(_) => return Err("strace is not installed".to_owned()),
        Ok(status) if !status.success() => return Err("strace may not trace here".to_owned()),
        Ok(_) => {}
    }
    job.ways.iter().map(|&way| of_way(job, way).map_err(|error| format!("{error:#}"))).collect()
}

fn of_way(job: &Job, way: Way) -> Result<Calls> {
    let [few, many] = [FEW, MANY].map(|steps| -> Result<BTreeMap<String, u64>> {
        let path = job.run_behind(way, steps, &TRACED)?.join("calls-3");
        Ok(parse(&fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?))
    });
    let (few, many) = (few?, many?);
    let mut by_name = BTreeMap::new();
    for name in few.keys().chain(many.keys()) {
        let [few, many] = [&few, &many].map(|calls| calls.get(name).copied().unwrap_or_default() as f64);
        let a_step = (many - few) / (MANY - FEW) as f64;
        if a_step != 0.0 {
            by_name.insert(name.clone(), a_step);
        }
    }
    Ok(Calls { way, by_name })
}

/// The table of `strace --summary-only`: share, seconds, microseconds a call, calls, errors if there were any, name.
fn parse(summary: &str) -> BTreeMap<String, u64> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        cells.first()?.parse::<f64>().ok()?;
        let name = *cells.last()?;
        (name != "total").then_some((name.to_owned(), cells.get(3)?.parse().ok()?))
    };
    summary.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_with_and_without_errors() {
        let summary = "% time     seconds  usecs/call     calls    errors syscall\n\
                       ------ ----------- ----------- --------- --------- ----------------\n \
                       62.16    0.000207           2        84           read\n \
                       37.84    0.000126           3        36         4 openat\n\
                       ------ ----------- ----------- --------- --------- ----------------\n\
                       100.00    0.000333           2       120         4 total\n";
        assert_eq!(parse(summary), [("openat".to_owned(), 36), ("read".to_owned(), 84)].into());
    }
}
