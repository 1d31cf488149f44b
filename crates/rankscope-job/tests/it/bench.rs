//! From jobs of the testkit to traces, parts and documents.

use std::io::Cursor;

use rankscope_analyze::Classes;
use rankscope_document::Document;
use rankscope_formats::{ReadOptions, Scope, read};
use rankscope_job::{Analysed, Facts, Job, Judging, Part, Parts, Place, Rules, judge};
use rankscope_testkit::{Dialect, Job as Synthetic};
use rankscope_trace::Trace;

/// The one trace in `bytes`, called `file`.
pub(crate) fn trace(file: &str, bytes: Vec<u8>, scope: Scope) -> Trace {
    let options = ReadOptions::default().with_label(file).with_scope(scope);
    let mut members = read(Cursor::new(bytes), &options).expect("it can be opened");
    members.remove(0).trace.expect("it is a trace")
}

/// The part of `trace` by the usual rules.
pub(crate) fn part(mut trace: Trace) -> Part {
    Part::of(&mut trace, &Classes::default())
}

/// The `number`th file of a job.
pub(crate) fn place(number: usize) -> Place {
    Place { file: number as u32, member: 0 }
}

/// Every rank of `job`, written in `dialect`, mapped by `rules`.
pub(crate) fn parts(job: &Synthetic, dialect: &Dialect, rules: &Rules) -> Parts {
    let classes = rules.compiled().expect("rules");
    let scope = if rules.devices_only { Scope::Device } else { Scope::All };
    let mut parts = Parts::new(rules.clone());
    for rank in 0..job.ranks {
        let mut trace = trace(&format!("rank{rank}.json"), job.rank_bytes(rank, dialect), scope);
        parts.add(place(rank as usize), Part::of(&mut trace, &classes)).expect("one part a place");
    }
    parts
}

/// Judges `parts` as nobody asked for anything.
pub(crate) fn judged(parts: Parts) -> Job {
    judge(parts, &Facts::default(), Judging::default()).expect("it can be judged")
}

/// The document of `parts`, of one step where one is asked for.
pub(crate) fn document(parts: Parts, step: Option<i64>) -> Document {
    Analysed::of(judged(parts), step).expect("that step is there").document("a job")
}

/// The document of `job` as torch writes it.
pub(crate) fn report(job: &Synthetic) -> Document {
    document(parts(job, &Dialect::default(), &Rules::default()), None)
}

/// Whatever a document holds, to be compared.
pub(crate) fn json(of: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(of).expect("JSON")
}

/// A little job: what a law needs to see, and quick to read.
pub(crate) fn little() -> Synthetic {
    Synthetic { ranks: 3, steps: 2, layers: 2, ops_per_step: 8, python_frames: 0, ..Synthetic::default() }
}

/// `trace` as a profiler would have left it `later_ns` later, `steps` further on.
pub(crate) fn moved(mut trace: Trace, later_ns: i64, steps: i64) -> Trace {
    trace.spans.start_ns.iter_mut().for_each(|start| *start += later_ns);
    trace.steps.iter_mut().for_each(|mark| mark.number += steps);
    trace
}
