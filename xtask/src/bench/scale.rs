//! `cargo xtask bench scale`: what a report costs as ranks and collectives grow, per row: one rank's part in one collective.
//!
//! The sets hold the number of rows about still and move what may grow worse than it: ranks, collectives a rank, groups, and
//! sequences that lack numbers or were damaged. A set whose cost a row rises with its ranks has found a square. Sets are made
//! once and kept in `target/bench`.
//!
//! Memory a row is what a set needs beyond a job of hardly any rows: some 20 MB are the pages of the program and the buffers it reads
//! with, whatever it reads.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use rankscope_testkit::Rounds;
use serde::Serialize;

use super::child::{self, Cost};
use super::inputs::once;
use super::table::push;

/// Options of `cargo xtask bench scale`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// `json` for one document on stdout, anything else for a Markdown table.
    #[arg(long, default_value = "table")]
    format: String,
    /// Only these sets, for example `s64q,s64d`.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    sets: Vec<String>,
    /// Measure this program instead of building target/release/rankscope.
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// What is printed with `--format json`.
#[derive(Serialize)]
struct Outcome {
    /// Peak memory of a report on a job of hardly any rows.
    fixed_mb: f64,
    sets: Vec<Measured>,
}

/// One set, measured.
#[derive(Serialize)]
struct Measured {
    name: &'static str,
    ranks: u32,
    /// Those that are left, where some were lost.
    collectives_per_rank: u32,
    /// Collectives of all ranks.
    rows: u64,
    cpu_seconds: f64,
    peak_mb: f64,
}

/// A job to report on.
struct Set {
    name: &'static str,
    job: Rounds,
}

/// The sets. `q`: numbered, one group; `n`: not numbered; `d`: neither, and every rank lost five; `g`: numbered, groups of eight.
fn sets() -> Vec<Set> {
    let of = |ranks, rounds| Rounds { ranks, rounds, group: ranks, sequence: true, lost: 0, ranks_per_node: 8, seed: 1 };
    let plain = Rounds { sequence: false, ..of(64, 10_000) };
    vec![
        Set { name: "s16q", job: of(16, 10_000) },
        Set { name: "s32q", job: of(32, 10_000) },
        Set { name: "s64q", job: of(64, 10_000) },
        Set { name: "s64n", job: plain },
        Set { name: "s64d", job: Rounds { lost: 5, ..plain } },
        Set { name: "s128q", job: of(128, 5_000) },
        Set { name: "s256q", job: of(256, 1_000) },
        Set { name: "s512q", job: of(512, 500) },
        Set { name: "s1024q", job: of(1_024, 250) },
        Set { name: "s1024g", job: Rounds { group: 8, ..of(1_024, 250) } },
        Set { name: "s4096q", job: of(4_096, 250) },
    ]
}

/// What is left of a report's memory where there is hardly any row.
fn smallest() -> Set {
    Set { name: "s2q", job: Rounds { ranks: 2, rounds: 10, group: 2, sequence: true, lost: 0, ranks_per_node: 8, seed: 1 } }
}

/// Processor time that a row may cost, and memory beyond what is fixed.
const CPU_US_MAX: f64 = 6.0;
const BYTES_MAX: f64 = 200.0;

/// Runs the benchmark.
pub(crate) fn run(args: &Args) -> Result<()> {
    let sets = chosen(&args.sets)?;
    let (binary, folder) = super::at_hand(args.binary.as_deref())?;
    let fixed_mb = smallest().measure(&binary, &folder)?.peak_mb;
    let measured: Vec<Measured> = sets.iter().map(|set| set.measure(&binary, &folder)).collect::<Result<_>>()?;
    let outcome = Outcome { fixed_mb, sets: measured };
    match args.format.as_str() {
        "json" => println!("{}", serde_json::to_string(&outcome)?),
        _ => print!("{}", markdown(&outcome)),
    }
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<Set>> {
    let all = sets();
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|set| set.name != **name)) {
        let known: Vec<_> = all.iter().map(|set| set.name).collect();
        bail!("there is no set {unknown}; there are {}", known.join(", "));
    }
    Ok(all.into_iter().filter(|set| names.is_empty() || names.iter().any(|name| name == set.name)).collect())
}

impl Set {
    fn measure(&self, binary: &Path, folder: &Path) -> Result<Measured> {
        let traces = folder.join(self.name);
        once(&traces, |part| self.make(part))?;
        eprintln!("measuring {}", traces.display());
        let (stdout, stderr) = (folder.join("scale.stdout"), folder.join("scale.stderr"));
        let mut command = Command::new(binary);
        command.arg("report").arg(&traces).args(["--format", "json"]);
        command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        let (Cost { cpu_seconds, peak_mb, .. }, code) =
            child::run(&mut command).with_context(|| format!("failed to run {}", binary.display()))?;
        if code != 0 {
            bail!("no report of {}: exit code {code}; see {}", traces.display(), stderr.display());
        }
        let collectives_per_rank = self.job.rounds - self.job.lost;
        let rows = u64::from(self.job.ranks) * u64::from(collectives_per_rank);
        Ok(Measured { name: self.name, ranks: self.job.ranks, collectives_per_rank, rows, cpu_seconds, peak_mb })
    }

    fn make(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        for rank in 0..self.job.ranks {
            let mut out = BufWriter::with_capacity(1 << 20, File::create(folder.join(format!("rank{rank}.json")))?);
            self.job.write(rank, &mut out)?;
            out.flush()?;
        }
        Ok(())
    }
}

fn markdown(outcome: &Outcome) -> String {
    let mut text = String::new();
    text.push_str("| set | ranks | collectives a rank | rows | CPU s | us a row | peak MB | B a row | within |\n");
    text.push_str("|---|--:|--:|--:|--:|--:|--:|--:|---|\n");
    for set in &outcome.sets {
        let Measured { name, ranks, collectives_per_rank, rows, cpu_seconds, peak_mb } = set;
        let (us, bytes) = (cpu_seconds * 1e6 / *rows as f64, (peak_mb - outcome.fixed_mb) * 1e6 / *rows as f64);
        let within = match (us <= CPU_US_MAX, bytes <= BYTES_MAX) {
            (true, true) => "both",
            (true, false) => "CPU",
            (false, true) => "memory",
            (false, false) => "neither",
        };
        push(
            &mut text,
            format_args!(
                "| {name} | {ranks} | {collectives_per_rank} | {rows} | {cpu_seconds:.2} | {us:.1} | {peak_mb:.0} | {bytes:.0} | {within} |"
            ),
        );
    }
    push(
        &mut text,
        format_args!(
            "\nGates: {CPU_US_MAX} us of CPU and {BYTES_MAX} B a row beyond the {:.0} MB of a job of hardly any rows.",
            outcome.fixed_mb
        ),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_chosen_by_name_and_an_unknown_one_is_refused() {
        assert_eq!(chosen(&[]).unwrap().len(), sets().len());
        let some = chosen(&["s64d".to_owned(), "s16q".to_owned()]).unwrap();
        assert_eq!(some.iter().map(|set| set.name).collect::<Vec<_>>(), ["s16q", "s64d"]);
        let refused = chosen(&["s63q".to_owned()]).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("s63q") && refused.contains("s4096q"), "{refused}");
    }

    #[test]
    fn every_row_has_as_many_cells_as_the_head() {
        let (ranks, rows) = (64, 640_000);
        let set = Measured { name: "s64q", ranks, collectives_per_rank: 10_000, rows, cpu_seconds: 3.0, peak_mb: 100.0 };
        let text = markdown(&Outcome { fixed_mb: 20.0, sets: vec![set] });
        assert!(
            text.lines().take(3).all(|line| line.matches('|').count() == 10) && text.contains("| 4.7 | 100 | 125 | both |"),
            "{text}"
        );
    }
}
