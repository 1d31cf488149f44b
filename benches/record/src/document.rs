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
/// Measures everything and prints it.
pub fn print() -> Result<()> {
    let mut samples = turns::play(ROUNDS)?;
    samples
        .iter_mut()
        .for_each(|one| [&mut one.span_ns, &mut one.cpu_ns].into_iter().for_each(|ns| ns.sort_by(f64::total_cmp)));
    let mut document = json!({
        "span_ns": summary(&samples, |one| median(&one.span_ns)),
        "cpu_ns": summary(&samples, |one| median(&one.cpu_ns)),
        "min": { "span_ns": summary(&samples, |one| one.span_ns[0]) },
    });
    stops(&mut document)?;
    exports(&mut document)?;
    document["sessions_1000_rss_grown_mb"] = part(&["sessions", "1000"])?["grown_mb"].take();
    document["machine"] = machine();
    document["rounds"] = ROUNDS.into();
    println!("{document}");
    Ok(())
}

/// A number of every contestant, by its name.
fn summary(samples: &[Samples], of: impl Fn(&Samples) -> f64) -> BTreeMap<&'static str, f64> {
    samples.iter().map(|one| (one.name, rounded(of(one)))).collect()
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
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
