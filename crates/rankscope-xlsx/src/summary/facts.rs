//! What was reported on, in words.

use std::collections::BTreeSet;

use rankscope_document::{Classes, ClockMethod, Document};

/// Facts of the job, with their labels.
pub(super) fn of(document: &Document) -> Vec<(&'static str, String)> {
    let mut facts = vec![("ranks", ranks(document))];
    if !document.missing_ranks.is_empty() {
        facts.push(("missing ranks", list(&document.missing_ranks)));
    }
    let hosts: BTreeSet<&str> = document.ranks.iter().filter_map(|rank| rank.host.as_deref()).collect();
    if !hosts.is_empty() {
        facts.push(("hosts", names(&hosts)));
    }
    let devices: BTreeSet<&str> = document.ranks.iter().filter_map(|rank| rank.device.as_deref()).collect();
    if !devices.is_empty() {
        facts.push(("devices", names(&devices)));
    }
    facts.extend(windows(document).map(|windows| ("windows", windows)));
    let times = if document.device_activity { "devices" } else { "the host: the traces show no device work" };
    facts.push(("times of", times.to_owned()));
    facts.push(("clocks", clocks(document).to_owned()));
    if document.classes != Classes::Default {
        facts.push(("classes", document.classes.to_string()));
    }
    facts.push(("written by", format!("rankscope {}", document.rankscope_version)));
    facts
}

fn ranks(document: &Document) -> String {
    match document.world_size {
        Some(world) => format!("{} of {world}", document.ranks.len()),
        None => format!("{}; the traces do not say how many the job has", document.ranks.len()),
    }
}

/// How long the profilers recorded on all ranks, and which steps.
fn windows(document: &Document) -> Option<String> {
    const SHOWN: usize = 4;
    let of = |window: &rankscope_document::Window| {
        let ms = window.end_ns.saturating_sub(window.start_ns) as f64 / 1e6;
        match (window.first_step, window.last_step) {
            (Some(first), Some(last)) if first < last => format!("{ms:.3} ms, steps {first} to {last}"),
            (Some(step), _) => format!("{ms:.3} ms, step {step}"),
            _ => format!("{ms:.3} ms"),
        }
    };
    let shown: Vec<String> = document.windows.iter().take(SHOWN).map(of).collect();
    let more = document.windows.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    (!shown.is_empty()).then(|| shown.join("; ") + &more)
}

/// The first of `names`.
fn names(names: &BTreeSet<&str>) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<&str> = names.iter().copied().take(SHOWN).collect();
    let more = names.len().saturating_sub(SHOWN);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// `ranks`, the first of them.
fn list(ranks: &[u32]) -> String {
    const SHOWN: usize = 32;
    let shown: Vec<String> = ranks.iter().take(SHOWN).map(u32::to_string).collect();
    let more = ranks.len().saturating_sub(SHOWN);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

fn clocks(document: &Document) -> &'static str {
    match document.clock.method {
        ClockMethod::Measured => "measured",
        ClockMethod::PartlyMeasured => "partly measured",
        ClockMethod::OneHost => "all ranks on the clock of one host",
        _ if document.clock.corrected => "corrected",
        _ => "as recorded",
    }
}
