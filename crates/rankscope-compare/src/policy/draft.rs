//! A policy to begin with, written from runs of the base: what they have, and margins that their spread allows.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rankscope_stats::RunSpread;

use crate::evidence::{self, Runs};
use crate::series::{self, Family, Metric};
use crate::{Settings, Side};

/// How many standard deviations between runs a margin is at least. With five runs a side an interval is about 1.5 of them to
/// each side, with three 2.3, so a narrower margin would leave most comparisons undecided.
const DEVIATIONS: f64 = 3.0;

/// Metrics of the job that a new policy guards, where the base has any of that time.
const GUARDED: [&str; 4] = [series::STEP, "computation_ns", "exposed_comm_ns", "exposed_memcpy_ns"];

/// Time that is less than this share of a step is not guarded: a tenth more of next to nothing is nothing.
const SHARE_MIN: f64 = 0.01;

/// The text of a policy by `base`, whose runs are of one configuration. `settings` gives the margins of metrics whose runs do not
/// differ by more.
pub fn draft(base: &Side, settings: &Settings) -> String {
    let series = evidence::of_side(base);
    let runs = base.runs.len();
    let medians: BTreeMap<&str, Vec<f64>> = series
        .iter()
        .map(|(metric, runs)| (metric.name.as_str(), runs.iter().filter_map(|run| series::median_of_run(run)).collect()))
        .collect();
    let mut text = head(base, settings);
    let spread = |name: &str| rankscope_stats::run_spread(medians.get(name)?);
    if let Some(spread) = spread(series::STEP).filter(|_| runs > 1) {
        text += &format!(
            "# Standard deviation between the {runs} runs of the base: lets one run a side have a verdict.\nrun_spread = {}\n\n",
            rounded(spread.relative)
        );
    } else {
        text += "# Standard deviation between runs of one configuration, relative to their mean. Without it (or --history) it takes three runs a\n# side to decide anything: one run does not tell how much runs differ.\n#run_spread = 0.003\n\n";
    }
    let step = medians.get(series::STEP).and_then(|medians| typical(medians)).unwrap_or(0.0);
    for name in GUARDED {
        let typical = medians.get(name).and_then(|medians| typical(medians)).unwrap_or(0.0);
        if typical > step * SHARE_MIN || name == series::STEP {
            text += &entry(name, settings.time_margin, spread(name), runs);
        }
    }
    text + &further(&series)
}

fn head(base: &Side, settings: &Settings) -> String {
    let mut text = String::from(
        "# The policy of a gate: rankscope compare BASE TEST --policy THIS-FILE\n\
         # A metric fails that got worse by its margin or more, and not by chance. Exit code 3 means that one failed.\n",
    );
    let _infallible = writeln!(text, "# Written from {} of {}.\n", counted(base.runs.len()), comment(&base.label));
    let _infallible = writeln!(
        text,
        "# How often the gate may fail where nothing changed, all its metrics together.\nalpha = {}\n",
        settings.alpha
    );
    text += "# What the evidence does not decide: \"fail\", \"warn\" or \"pass\".\non_inconclusive = \"warn\"\n\n";
    text += "# What each side must have at least; with less, nothing is decided.\nleast_runs = 1\nleast_steps = 10\n\n";
    text
}

fn counted(runs: usize) -> String {
    if runs == 1 { "one run".to_owned() } else { format!("{runs} runs") }
}

fn entry(name: &str, least: f64, spread: Option<RunSpread>, runs: usize) -> String {
    let wanted = spread.map_or(0.0, |spread| (spread.relative * DEVIATIONS * 1_000.0).ceil() / 1_000.0);
    let why = match spread {
        Some(spread) if wanted > least => {
            format!("three times the spread between the {runs} runs, {} %", rounded(spread.relative * 100.0))
        }
        Some(spread) => format!("the {runs} runs differ by less, {} %", rounded(spread.relative * 100.0)),
        None => "a change of a time that counts as none".to_owned(),
    };
    format!("[[metric]]\nname = {}\nmargin = {} # {why}\n\n", quoted(name), rounded(wanted.max(least)))
}

/// What could be guarded as well, commented out.
fn further(series: &[(&Metric, Runs<'_>)]) -> String {
    let count = |family| series.iter().filter(|(metric, _)| metric.family == family).count();
    let mut text = String::from(
        "# At most ten [[metric]] entries. A name may hold * and ?; every metric that it matches is looked at, and the more there are,\n\
         # the larger a change must be to be certain.\n",
    );
    let ranks = series.iter().filter(|(metric, _)| metric.name.starts_with("step_ns@rank")).count();
    if count(Family::Ranks) > 0 {
        let _infallible =
            writeln!(text, "\n# The steps of each rank: {ranks} here.\n#[[metric]]\n#name = \"step_ns\"\n#scope = \"ranks\"");
    }
    let busbw: Vec<&str> = series
        .iter()
        .filter(|(metric, _)| metric.family == Family::Collectives && metric.name.contains(".busbw"))
        .map(|(metric, _)| metric.name.as_str())
        .collect();
    if let Some(first) = busbw.first() {
        let _infallible = writeln!(
            text,
            "\n# Bandwidth of collectives: {} here, such as {}.\n#[[metric]]\n#name = \"comm.*.busbw*\"\n#margin = 0.02",
            busbw.len(),
            comment(first)
        );
    }
    text
}

fn typical(medians: &[f64]) -> Option<f64> {
    (!medians.is_empty()).then(|| series::median(&mut medians.to_vec()))
}

/// Two digits that tell, without an exponent.
fn rounded(share: f64) -> String {
    let digits = if share > 0.0 { (1 - share.log10().floor() as i32).clamp(1, 9) } else { 1 };
    let text = format!("{share:.*}", digits as usize);
    let short = text.trim_end_matches('0');
    if short.ends_with('.') { format!("{short}0") } else { short.to_owned() }
}

/// `text` as it may be in a comment, which a line break would end.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// `text` as a basic string of TOML.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}
