//! What processes are called where spans of several are told apart.

use std::collections::BTreeMap;

use rankscope_time::Rank;
use rankscope_trace::{Trace, TrackKey, TrackKind};

/// What to call each process: by its rank, else by its name and number, else by its file; with the file where two would share a
/// name. `rank_of` says which rank a trace is of, where that is known.
pub fn process_names(traces: &[Trace], rank_of: impl Fn(&Trace) -> Option<Rank>) -> Vec<String> {
    let names: Vec<String> = traces.iter().map(|trace| process_name(trace, rank_of(trace))).collect();
    let mut shared: BTreeMap<&str, usize> = BTreeMap::new();
    names.iter().for_each(|name| *shared.entry(name).or_default() += 1);
    let told_apart = |(name, trace): (&String, &Trace)| match shared[name.as_str()] {
        1 => name.clone(),
        _ => format!("{name}, {}", trace.provenance.file),
    };
    names.iter().zip(traces).map(told_apart).collect()
}

fn process_name(trace: &Trace, rank: Option<Rank>) -> String {
    if let Some(rank) = rank {
        return format!("rank {}", rank.0);
    }
    let processes: Vec<_> = trace.tracks.iter().filter(|(_, track)| track.kind == TrackKind::Process).collect();
    match &processes[..] {
        [(_, only)] => match (trace.strings.text(only.name), only.key) {
            ("", TrackKey::Number(pid)) => format!("process {pid}"),
            ("", TrackKey::Text(key)) => trace.strings.text(key).to_owned(),
            (name, TrackKey::Number(pid)) => format!("{name} ({pid})"),
            (name, TrackKey::Text(_)) => name.to_owned(),
        },
        _ => trace.provenance.file.clone(),
    }
}
