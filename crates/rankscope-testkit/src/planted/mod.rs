//! Known changes made in the traces of a job, real ones or synthetic: what a comparison has to find again.
//!
//! A change takes effect as it would have: where a kernel takes longer, everything that its rank does afterwards comes later, and
//! the other ranks wait for it in the next collective. The one idea is time that is put in (`warp`); every change is a list of such
//! insertions and of events that are renamed, copied or left out.
//!
//! A trace of one rank makes a job of several, each the same: a base in which nobody waits for anybody.

mod changes;
mod events;
mod overlap;
mod warp;

use std::io::Read;
use std::path::Path;

use serde_json::Value;

pub use changes::Device;

/// The traces of a job, as Kineto writes them.
#[derive(Clone, Debug)]
pub struct PlantedJob {
    ranks: Vec<Value>,
    /// Ranks whose traces are lost.
    lost: Vec<usize>,
}

impl PlantedJob {
    /// The job whose ranks left `traces`, in order; each may be compressed.
    ///
    /// # Panics
    /// If one is no Kineto trace.
    pub fn of(traces: &[Vec<u8>]) -> Self {
        Self { ranks: traces.iter().map(|bytes| parsed(bytes)).collect(), lost: Vec::new() }
    }

    /// A job of `ranks` ranks that all left `trace`.
    ///
    /// # Panics
    /// If it is no Kineto trace.
    pub fn alike(trace: &[u8], ranks: u32) -> Self {
        let one = parsed(trace);
        Self { ranks: (0..ranks).map(|rank| as_rank(one.clone(), rank, ranks)).collect(), lost: Vec::new() }
    }

    /// The trace of `rank` is lost.
    pub fn lose_rank(&mut self, rank: usize) {
        self.lost.push(rank);
    }

    /// Writes `rank0.json` and so on into `folder`.
    ///
    /// # Panics
    /// If they cannot be written.
    pub fn write(&self, folder: &Path) {
        for (rank, trace) in self.ranks.iter().enumerate().filter(|(rank, _)| !self.lost.contains(rank)) {
            let bytes = serde_json::to_vec(trace).expect("a tree of values is JSON");
            std::fs::write(folder.join(format!("rank{rank}.json")), bytes).expect("the folder can be written to");
        }
    }
}

fn parsed(bytes: &[u8]) -> Value {
    let mut text = Vec::new();
    let plain = if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::GzDecoder::new(bytes).read_to_end(&mut text).expect("a whole gzip file");
        &text
    } else {
        bytes
    };
    let trace: Value = serde_json::from_slice(plain).expect("JSON");
    assert!(trace["traceEvents"].is_array(), "a Kineto trace has a list of events");
    trace
}

/// `trace` as that of `rank` in a job of `ranks` ranks that form one process group.
fn as_rank(mut trace: Value, rank: u32, ranks: u32) -> Value {
    let all: Vec<u32> = (0..ranks).collect();
    let info = &mut trace["distributedInfo"];
    info["rank"] = rank.into();
    info["world_size"] = ranks.into();
    for group in info["pg_config"].as_array_mut().into_iter().flatten() {
        group["pg_size"] = ranks.into();
        group["ranks"] = all.clone().into();
    }
    for event in events::of_mut(&mut trace) {
        let Some(args) = event.get_mut("args").and_then(Value::as_object_mut) else { continue };
        if args.contains_key("Process Group Ranks") {
            args.insert("Process Group Ranks".to_owned(), format!("{all:?}").into());
            args.insert("Group size".to_owned(), ranks.into());
        }
        if args.contains_key("Rank") {
            args.insert("Rank".to_owned(), rank.into());
        }
    }
    trace
}
