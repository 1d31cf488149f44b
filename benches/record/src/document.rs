//! The whole table, as one JSON document. Medians; the minima stand beside them under `min`.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::turns::{self, Samples};

/// Turns of every contestant.
const ROUNDS: usize = 25;
/// Runs of everything that is a process from start to end.
const REPEATS: usize = 5;
/// The rivals, by the names of their crates.
const RIVALS: [&str; 6] = ["puffin", "fastrace", "tracing-chrome", "tracing-perfetto", "perfetto-recorder", "tracy-client"];

/// Measures everything and prints it.
pub fn print() -> Result<()> {
    let mut samples = turns::play(ROUNDS)?;
    let median = summary(&mut samples, |sorted| sorted[sorted.len() / 2]);
    let min = summary(&mut samples, |sorted| sorted[0]);
    let mut document = spans(&median);
    document["min"] = spans(&min);
    stops(&mut document)?;
    exports(&mut document)?;
    document["sessions_1000_rss_grown_mb"] = part(&["sessions", "1000"])?["grown_mb"].take();
    document["machine"] = machine();
    document["rounds"] = ROUNDS.into();
    println!("{document}");
    Ok(())
}

fn summary(samples: &mut [Samples], of: impl Fn(&[f64]) -> f64) -> BTreeMap<&'static str, f64> {
    let sorted = samples.iter_mut().map(|one| {
        one.span_ns.sort_by(f64::total_cmp);
        (one.name, rounded(of(&one.span_ns)))
    });
    sorted.collect()
}

fn spans(of: &BTreeMap<&'static str, f64>) -> Value {
    let rivals: BTreeMap<_, _> = RIVALS.iter().map(|name| (*name, of[name])).collect();
    let threads = |prefix: &str| ["1", "2", "4"].map(|threads| (threads, of[format!("{prefix}_{threads}").as_str()]));
    json!({
        "floor_ns": of["floor"],
        "off_ns": of["off"],
        "span_ns": of["span"],
        "span_two_args_ns": of["span_two_args"],
        "rivals_span_ns": rivals,
        "threads": BTreeMap::from(threads("threads")),
        "floor_threads": BTreeMap::from(threads("floor_threads")),
    })
}

/// Stops behind more and more spans, in turn; bytes per span from the largest.
fn stops(document: &mut Value) -> Result<()> {
    const SIZES: [(&str, &str); 3] = [("1e4", "10000"), ("1e6", "1000000"), ("1e7", "10000000")];
    let mut stop_ms: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for _ in 0..REPEATS {
        for (name, spans) in SIZES {
            let outcome = part(&["stop", spans])?;
            stop_ms.entry(name).or_default().push(number(&outcome, "stop_ms")?);
            document["bytes_per_span"] = rounded(number(&outcome, "bytes")? / number(&outcome, "spans")?).into();
        }
    }
    document["stop_ms"] = medians(&stop_ms);
    document["min"]["stop_ms"] = minima(&stop_ms);
    Ok(())
}

/// A million spans in every format, in turn; ten million once for the memory.
fn exports(document: &mut Value) -> Result<()> {
    const FORMATS: [&str; 3] = ["native", "kineto_json", "perfetto"];
    let mut ns_per_event: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut bytes_per_event = BTreeMap::new();
    for _ in 0..REPEATS {
        for format in FORMATS {
            let outcome = part(&["export", format, "memory", "1000000"])?;
            ns_per_event.entry(format).or_default().push(number(&outcome, "ns_per_event")?);
            bytes_per_event.insert(format, rounded(number(&outcome, "bytes_per_event")?));
        }
    }
    document["export_ns_per_event"] = medians(&ns_per_event);
    document["min"]["export_ns_per_event"] = minima(&ns_per_event);
    document["disk_bytes_per_event"] = bytes_per_event["native"].into();
    document["export_bytes_per_event"] = json!(bytes_per_event);
    let mut peaks = BTreeMap::new();
    for format in FORMATS {
        let outcome = part(&["export", format, "memory", "10000000"])?;
        peaks.insert(format, rounded(number(&outcome, "export_peak_mb")?));
    }
    document["export_1e7_peak_mb"] = json!(peaks);
    Ok(())
}

/// Runs one part in a process of its own.
fn part(args: &[&str]) -> Result<Value> {
    eprintln!("{}", args.join(" "));
    let output = Command::new(std::env::current_exe()?).args(args).stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("{} failed ({})", args.join(" "), output.status);
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("{} printed no JSON", args.join(" ")))
}

fn number(outcome: &Value, key: &str) -> Result<f64> {
    outcome[key].as_f64().with_context(|| format!("no {key} in {outcome}"))
}

fn medians(samples: &BTreeMap<&str, Vec<f64>>) -> Value {
    picked(samples, |sorted| sorted[sorted.len() / 2])
}

fn minima(samples: &BTreeMap<&str, Vec<f64>>) -> Value {
    picked(samples, |sorted| sorted[0])
}

fn picked(samples: &BTreeMap<&str, Vec<f64>>, of: impl Fn(&[f64]) -> f64) -> Value {
    let picked = samples.iter().map(|(name, samples)| {
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        (*name, rounded(of(&sorted)))
    });
    json!(picked.collect::<BTreeMap<_, _>>())
}

/// To the hundredth: more digits would be noise.
fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Which machine this was.
fn machine() -> Value {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    json!({ "processor": model, "processors": processors, "kernel": kernel.trim() })
}
