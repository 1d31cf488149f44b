//! What the agents wrote against what is true.
//!
//! It reads the JSON lines itself and shares no code with the reader of the product, so that both must be right.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use rankscope_clock::simulate::SimClock;
use serde::Serialize;
use serde_json::Value;

use super::agents::{Agents, Cost};

/// What is printed.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    /// Rounds that were solved, by whichever master.
    rounds: usize,
    /// Estimates of nodes other than the reference.
    estimates: usize,
    /// Distance of the estimates from the truth.
    error_ns: Quantiles,
    /// Mean of estimate minus truth: what is left of it is an asymmetry of the paths, which no estimate can see.
    bias_ns: i64,
    /// Share of guaranteed intervals that hold the truth.
    bound_coverage: f64,
    /// Width of those intervals.
    bound_width_ns: Quantiles,
    /// Windows each node wrote.
    windows: Vec<usize>,
    /// Greatest distance between the starts of two consecutive windows of one node, over the usual distance.
    longest_gap_windows: f64,
    /// The hungriest agent, in cores.
    cores_max: f64,
    /// What the node that sends most sends, cross traffic included.
    bits_per_s_max: f64,
    /// From asking the agents to stop until the last was gone.
    stop_seconds: f64,
    /// Distance of chrony's estimates from the truth, where it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    chrony_error_ns: Option<Quantiles>,
}

#[derive(Debug, Default, Serialize)]
struct Quantiles {
    p50: i64,
    p99: i64,
    max: i64,
}

impl Quantiles {
    fn of(mut values: Vec<i64>) -> Self {
        values.sort_unstable();
        let at = |part: f64| values.get(((values.len().max(1) - 1) as f64 * part).ceil() as usize).copied().unwrap_or(0);
        Self { p50: at(0.5), p99: at(0.99), max: at(1.0) }
    }
}

/// Reads every file that the agents left and compares.
pub(crate) fn judge(agents: &Agents, costs: &[Cost], stop_seconds: f64, chrony_ns: Option<Vec<i64>>) -> Result<Verdict> {
    let mut truths = Vec::new();
    let mut windows = Vec::new();
    let mut longest_gap_windows: f64 = 0.0;
    for node in 0..agents.count() {
        let lines = lines(&agents.folder(node).join(format!("windows-node{node}.jsonl")))?;
        // A node that was started again chose its host clock anew; its last header counts from its own line on.
        truths.push(Truth { shifts: shifts(&lines), clock: agents.clock(node)? });
        let starts: Vec<i64> = lines.iter().filter_map(|line| line["window_start_ns"].as_i64()).collect();
        windows.push(starts.len());
        let mut gaps: Vec<i64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable();
        if let (Some(usual), Some(most)) = (gaps.get(gaps.len() / 2), gaps.last()) {
            longest_gap_windows = longest_gap_windows.max(*most as f64 / *usual as f64);
        }
    }
    let (mut rounds, mut errors, mut widths, mut held, mut sum_ns) = (0, Vec::new(), Vec::new(), 0usize, 0);
    for master in 0..agents.count() {
        let path = agents.folder(master).join("offsets.jsonl");
        let rows = if path.exists() { lines(&path)? } else { Vec::new() };
        let mut last_round = None;
        for row in rows.iter().filter(|row| row["reachable"] == true) {
            let round = row["round_id"].as_i64();
            rounds += usize::from(round != last_round);
            last_round = round;
            let Some(node) = row["node_id"].as_u64().filter(|node| *node != 0) else { continue };
            let field = |name: &str| row[name].as_i64().with_context(|| format!("{}: a row has no {name}", path.display()));
            let (at_ns, offset_ns) = (field("at_ns")?, field("offset_ns")?);
            let (reference, others) = truths.split_at_mut(1);
            let truth_ns = others[node as usize - 1].ahead_of(&mut reference[0], at_ns);
            let (lo_ns, hi_ns) = (field("bound_lo_ns")?, field("bound_hi_ns")?);
            errors.push((offset_ns - truth_ns).abs());
            sum_ns += offset_ns - truth_ns;
            widths.push(hi_ns - lo_ns);
            held += usize::from((lo_ns..=hi_ns).contains(&truth_ns));
        }
    }
    if errors.is_empty() {
        bail!("no agent wrote an estimate; the logs are below {}", agents.out.display());
    }
    let greatest = |value: fn(&Cost) -> f64| costs.iter().map(value).fold(0.0, f64::max);
    Ok(Verdict {
        rounds,
        estimates: errors.len(),
        bound_coverage: held as f64 / errors.len() as f64,
        bias_ns: sum_ns / errors.len() as i64,
        error_ns: Quantiles::of(errors),
        bound_width_ns: Quantiles::of(widths),
        windows,
        longest_gap_windows,
        cores_max: greatest(|cost| cost.cores),
        bits_per_s_max: greatest(|cost| cost.bits_per_s),
        stop_seconds,
        chrony_error_ns: chrony_ns.map(Quantiles::of),
    })
}

/// What a node's clock really shows: the kernel's raw clock, shifted when the agent started, and bent.
struct Truth {
    /// From when on, on the node's own clock, and host minus raw.
    shifts: Vec<(i64, i64)>,
    clock: SimClock,
}

impl Truth {
    fn shift_ns(&self, at_ns: i64) -> i64 {
        let begun = self.shifts.iter().rev().find(|(from_ns, _)| *from_ns <= at_ns);
        begun.or(self.shifts.first()).map_or(0, |(_, shift_ns)| *shift_ns)
    }

    /// How far this clock is ahead of `reference` when it shows `at_ns`.
    fn ahead_of(&mut self, reference: &mut Truth, at_ns: i64) -> i64 {
        let raw_ns = self.clock.true_ns(at_ns) - self.shift_ns(at_ns);
        // The reference did not start again while the rig ran, so its first shift is its only one.
        let shift_ns = reference.shifts.first().map_or(0, |(_, shift_ns)| *shift_ns);
        at_ns - reference.clock.local_ns(raw_ns + shift_ns)
    }
}

/// Every header's shift, from the first window after it on.
fn shifts(lines: &[Value]) -> Vec<(i64, i64)> {
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| line["meta"] == true) {
        let first = lines[index..].iter().find_map(|line| line["window_start_ns"].as_i64()).unwrap_or(i64::MIN);
        found.extend(line["host_minus_raw_ns"].as_i64().map(|shift_ns| (first, shift_ns)));
    }
    found
}

/// All lines of a file but a last one that was cut off.
fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| serde_json::from_str(line).with_context(|| path.display().to_string())).collect()
}

/// Tells people or programs.
pub(crate) fn print(verdict: &Verdict, json: bool) -> Result<()> {
    if json {
        println!("{}", serde_json::to_string(verdict)?);
        return Ok(());
    }
    let Verdict { error_ns, bound_width_ns, .. } = verdict;
    println!("rounds solved        {}", verdict.rounds);
    println!("windows per node     {:?}, longest gap {:.2} windows", verdict.windows, verdict.longest_gap_windows);
    println!(
        "error                p50 {} ns, p99 {} ns, max {} ns, mean {:+} ns",
        error_ns.p50, error_ns.p99, error_ns.max, verdict.bias_ns
    );
    if let Some(chrony_ns) = &verdict.chrony_error_ns {
        println!("chrony's error       p50 {} ns, p99 {} ns, max {} ns", chrony_ns.p50, chrony_ns.p99, chrony_ns.max);
    }
    println!("guarantee            holds for {:.1} %, width p50 {} ns", verdict.bound_coverage * 100.0, bound_width_ns.p50);
    println!("cost                 {:.2} % of a core, {:.0} kbit/s", verdict.cores_max * 100.0, verdict.bits_per_s_max / 1e3);
    println!("stop                 {:.2} s", verdict.stop_seconds);
    Ok(())
}
