//! Does a process grow? Its own memory in the second quarter of its time against that in the last one, by their medians: what is taken
//! once, to begin with, is no growth, and neither is a moment's peak. An agent keeps its snapshots of two clocks for two hours or 65,536 of
//! them, so only a soak of four hours and more says something of it.

use anyhow::{Context, Result, bail};
use rankscope_stats::Middle;
use serde::Serialize;

use super::processes::{Holding, Process};

/// As much more in the last quarter than in the second one is flat.
const FLAT_KB: f64 = 512.0;

/// One process from look to look.
pub(super) struct Series {
    pub(super) process: Process,
    looks: Vec<Holding>,
}

/// What is said of a process.
#[derive(Debug, Serialize)]
struct Held {
    pid: u32,
    verb: String,
    looks: usize,
    first_kb: u64,
    second_quarter_kb: f64,
    last_quarter_kb: f64,
    most_kb: u64,
    most_threads: u64,
    most_files: u64,
    is_flat: bool,
}

#[derive(Serialize)]
struct Outcome {
    hours: f64,
    recordings_mb: f64,
    clocks_mb: f64,
    processes: Vec<Held>,
}

impl Series {
    /// The first look.
    pub(super) fn begin(process: Process) -> Result<Self> {
        let mut series = Self { process, looks: Vec::new() };
        series.look()?;
        Ok(series)
    }

    /// Another look.
    pub(super) fn look(&mut self) -> Result<()> {
        let holding = self.process.holding();
        self.looks.push(holding.with_context(|| format!("{} ({}) ended", self.process.verb, self.process.pid))?);
        Ok(())
    }

    fn held(&self) -> Held {
        let quarter = |index: usize| {
            let (begin, end) = (index * self.looks.len() / 4, (index + 1) * self.looks.len() / 4);
            let mut kb: Vec<f64> = self.looks[begin..end].iter().map(|look| look.own_kb as f64).collect();
            Middle::of(&mut kb).map_or(f64::NAN, |middle| middle.median)
        };
        let most = |of: fn(&Holding) -> u64| self.looks.iter().map(of).max().unwrap_or_default();
        let (second_quarter_kb, last_quarter_kb) = (quarter(1), quarter(3));
        Held {
            pid: self.process.pid,
            verb: self.process.verb.clone(),
            looks: self.looks.len(),
            first_kb: self.looks.first().map_or(0, |look| look.own_kb),
            second_quarter_kb,
            last_quarter_kb,
            most_kb: most(|look| look.own_kb),
            most_threads: most(|look| look.threads),
            most_files: most(|look| look.files),
            is_flat: last_quarter_kb - second_quarter_kb <= FLAT_KB,
        }
    }
}

/// Prints all, and fails where something grew.
pub(super) fn print(series: &[Series], hours: f64, [recordings_mb, clocks_mb]: [f64; 2], json: bool) -> Result<()> {
    let outcome = Outcome { hours, recordings_mb, clocks_mb, processes: series.iter().map(Series::held).collect() };
    if json {
        println!("{}", serde_json::to_string(&outcome)?);
    } else {
        print!("{}", table(&outcome));
    }
    let grew: Vec<String> =
        outcome.processes.iter().filter(|one| !one.is_flat).map(|one| format!("{} ({})", one.verb, one.pid)).collect();
    if grew.is_empty() { Ok(()) } else { bail!("grew by more than {FLAT_KB} kB: {}", grew.join(", ")) }
}

fn table(outcome: &Outcome) -> String {
    let mut text = format!(
        "{:.2} hours; recordings {:.1} MB, clocks {:.1} MB\n\n| process | looks | own kB at first | 2nd quarter | last quarter | most | threads | files |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
        outcome.hours, outcome.recordings_mb, outcome.clocks_mb
    );
    for one in &outcome.processes {
        text += &format!(
            "| {} {} | {} | {} | {:.0} | {:.0} | {} | {} | {} |\n",
            one.verb,
            one.pid,
            one.looks,
            one.first_kb,
            one.second_quarter_kb,
            one.last_quarter_kb,
            one.most_kb,
            one.most_threads,
            one.most_files
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(kb: impl Fn(u64) -> u64) -> Held {
        let looks = (0..400).map(|look| Holding { own_kb: kb(look), threads: 1, files: 3 }).collect();
        Series { process: Process { pid: 1, verb: "agent".into() }, looks }.held()
    }

    #[test]
    fn a_slow_leak_is_seen_and_a_start_and_a_peak_are_not() {
        assert!(!held(|look| 10_000 + 4 * look).is_flat);
        assert!(held(|look| 10_000 + 50 * look.min(90)).is_flat);
        let peak = held(|look| if look == 390 { 900_000 } else { 10_000 });
        assert!(peak.is_flat && peak.most_kb == 900_000, "{peak:?}");
    }
}
