//! `cargo xtask bench live`: what watching a running job is worth and costs. A look at the pages of many ranks and the leader of many agents are measured; `--detectors` simulates days of jobs whose truth is
//! known, healthy ones and such with something planted, and tells how often alarms are wrong and how long they take.

mod days;
mod leader;
mod pages;
mod passed;
mod planted;
mod rates;

use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::Serialize;

use days::Healthy;
use leader::Led;
use pages::Looked;
use planted::{Hangs, Stragglers};

/// Options of `cargo xtask bench live`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Simulate job-days, and count false alarms, delays and wrong names. Takes a minute or two.
    #[arg(long)]
    detectors: bool,
    /// Healthy job-days, of all five shapes together.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(5..))]
    days: u64,
    /// Jobs with a slow rank for each shape and each slowness, and jobs that hang for each shape.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    trials: u64,
    /// Agents whose leader is measured, all on this machine.
    #[arg(long, default_value_t = leader::AGENTS, value_parser = clap::value_parser!(u32).range(2..))]
    agents: u32,
    /// Measure what it costs to have the pages of so many nodes of eight ranks passed on to the first one, instead of the rest.
    #[arg(long, value_parser = clap::value_parser!(u32).range(65..))]
    nodes: Option<u32>,
    /// Collectives a second of each of their ranks.
    #[arg(long, default_value_t = 8, requires = "nodes")]
    collectives: u64,
    /// Measure this program instead of building target/release/rankscope.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// `json` for one document on stdout, anything else for Markdown tables.
    #[arg(long, default_value = "table")]
    format: String,
}

/// What is printed with `--format json`.
#[derive(Serialize)]
struct Outcome {
    healthy: Vec<Healthy>,
    stragglers: Vec<Stragglers>,
    hangs: Vec<Hangs>,
    missed: Vec<String>,
}

/// Runs what is asked for.
pub(super) fn run(args: &Args) -> Result<()> {
    match args.nodes {
        Some(nodes) => passed_on(args, nodes),
        None if args.detectors => detectors(args),
        None => looks(args),
    }
}

/// What passing on pages costs.
fn passed_on(args: &Args, nodes: u32) -> Result<()> {
    let passed = passed::measured(nodes, args.collectives)?;
    match args.format.as_str() {
        "json" => println!("{}", serde_json::to_string(&passed)?),
        _ => print!("{}", passed::table(&passed)),
    }
    if passed.iter().all(passed::Passed::is_met) { Ok(()) } else { bail!("missed: passing on the pages of {nodes} nodes") }
}

/// What watching costs.
#[derive(Serialize)]
struct Costs {
    looked: Vec<Looked>,
    led: Led,
}

/// What a look costs, and the leader of agents.
fn looks(args: &Args) -> Result<()> {
    let (binary, folder) = super::at_hand(args.binary.as_deref())?;
    let costs = Costs { looked: pages::measured(&binary, &folder)?, led: leader::measured(&binary, &folder, args.agents)? };
    match args.format.as_str() {
        "json" => println!("{}", serde_json::to_string(&costs)?),
        _ => print!("{}{}", pages::table(&costs.looked), leader::table(&costs.led)),
    }
    let looks = costs.looked.iter().filter(|one| !one.is_met()).map(|one| format!("looking at {} ranks", one.ranks));
    let led = (!costs.led.is_met()).then(|| format!("leading {} agents", costs.led.agents));
    let missed: Vec<String> = looks.chain(led).collect();
    if missed.is_empty() { Ok(()) } else { bail!("missed: {}", missed.join(", ")) }
}

fn detectors(args: &Args) -> Result<()> {
    let healthy = days::measured(args.days);
    let stragglers = planted::stragglers(args.trials);
    let hangs = planted::hangs(args.trials);
    let missed = missed(&healthy, &stragglers, &hangs);
    let outcome = Outcome { healthy, stragglers, hangs, missed };
    match args.format.as_str() {
        "json" => println!("{}", serde_json::to_string(&outcome)?),
        _ => print!("{}", tables(&outcome)),
    }
    if !outcome.missed.is_empty() {
        bail!("missed: {}", outcome.missed.join("; "));
    }
    Ok(())
}

/// Which of the targets were missed.
fn missed(healthy: &[Healthy], stragglers: &[Stragglers], hangs: &[Hangs]) -> Vec<String> {
    let mut missed = Vec::new();
    let mut want = |is_met: bool, what: String| {
        if !is_met {
            missed.push(what);
        }
    };
    let (days, alarms) = healthy.iter().fold((0.0, 0), |(days, alarms), one| (days + one.days, alarms + one.false_alarms()));
    want(alarms as f64 / days <= 0.1, format!("{alarms} false alarms in {days} days"));
    for one in stragglers {
        let what = |figure: String| format!("{figure} of {}, +{:.0} %", one.shape, 100.0 * (one.factor - 1.0));
        let (p50, p99) = match one.factor {
            factor if factor < 1.05 => (60, u64::MAX),
            _ => (30, 120),
        };
        want(one.delay_steps.p50 <= p50, what(format!("a median delay of {} steps", one.delay_steps.p50)));
        if one.factor >= 1.05 {
            want(one.delay_steps.p99 <= p99, what(format!("a slowest hundredth of {} steps", one.delay_steps.p99)));
            want(one.named_right >= 0.99, what(format!("{:.1} % named right", 100.0 * one.named_right)));
        }
    }
    for one in hangs {
        want(one.confirmed == one.trials && one.slowest_seconds <= 60.0, format!("hangs of {}", one.shape));
    }
    missed
}

fn tables(outcome: &Outcome) -> String {
    let mut text = String::from(
        "| healthy jobs | days | late rank | slow job | hang | false alarms a day (95 %) |\n|---|--:|--:|--:|--:|--:|\n",
    );
    for one in &outcome.healthy {
        let (low, high) = rates::interval(one.false_alarms());
        text += &format!(
            "| {} | {} | {} | {} | {} | {:.3} ({:.3} to {:.3}) |\n",
            one.shape,
            one.days,
            one.stragglers,
            one.slow,
            one.hangs,
            one.false_alarms() as f64 / one.days,
            low / one.days,
            high / one.days
        );
    }
    text += "\n| a slow rank | slower by | jobs | named right | wrong rank | missed | delay p50 | p90 | p99, steps |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n";
    for one in &outcome.stragglers {
        text += &format!(
            "| {} | {:.0} % | {} | {:.1} % | {} | {} | {} | {} | {} |\n",
            one.shape,
            100.0 * (one.factor - 1.0),
            one.trials,
            100.0 * one.named_right,
            one.wrong,
            one.missed,
            one.delay_steps.p50,
            one.delay_steps.p90,
            one.delay_steps.p99
        );
    }
    text += "\n| a hang | jobs | confirmed | median s | slowest s |\n|---|--:|--:|--:|--:|\n";
    for one in &outcome.hangs {
        text += &format!(
            "| {} | {} | {} | {:.0} | {:.0} |\n",
            one.shape, one.trials, one.confirmed, one.median_seconds, one.slowest_seconds
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As few as these do not prove the targets; they are held against what chance leaves of them.
    #[test]
    fn healthy_days_wake_nobody_too_often_and_what_is_planted_is_found_and_named() {
        let (days, alarms) = (10, days::measured(10).iter().map(Healthy::false_alarms).sum());
        assert!(rates::interval(alarms).0 / f64::from(days) <= 0.1, "{alarms} false alarms");
        for one in planted::stragglers(10).iter().filter(|one| one.factor >= 1.05) {
            assert!(one.named_right == 1.0 && one.delay_steps.p50 <= 30, "{one:?}");
        }
        assert!(planted::hangs(3).iter().all(|one| one.confirmed == one.trials && one.slowest_seconds <= 60.0));
    }
}
