//! Recordings of the processes that a recorded process started, such as loaders of data: they are the same rank's, on the same
//! host's clock, and are read as part of their parent's.
//!
//! They lie beside it, in `rank-0.workers/` for `rank-0.rkr`. Each recording counts from the wall clock as it found it, so they are
//! brought together by the counter of the host that all of them read. One that cannot be read is a problem of the trace, which is
//! whole without it.

use std::path::{Path, PathBuf};

use rankscope_align::apply;
use rankscope_formats::Member;
use rankscope_job::ahead_of_counter_ns;
use rankscope_run::{InputFile, files_in};
use rankscope_time::{ClockMap, RankClock, Span};
use rankscope_trace::{ProblemKind, Trace};

use crate::read::{Reading, read_alone};

/// Adds what the processes recorded that the one of `path` started.
pub(crate) fn join(path: &Path, trace: &mut Trace, reading: Reading) {
    for file in recordings(path) {
        let file = InputFile { path: file, named: true, earlier: false };
        read_alone(&file, reading, |Member { label, trace: read }| match read {
            Ok(worker) => add(trace, worker),
            Err(error) => {
                let detail = format!("the recording of another process, {label}, is left out: {error}");
                trace.provenance.problems.add_detailed(ProblemKind::Unsupported, 0, 1, detail);
            }
        });
    }
}

/// Adds what a process of the same host recorded, on the clock of `trace`.
pub(crate) fn add(trace: &mut Trace, mut worker: Trace) {
    let ahead = |trace: &Trace| ahead_of_counter_ns(&trace.provenance.clock_readings);
    if let (Some(own), Some(theirs)) = (ahead(trace), ahead(&worker)) {
        let offset = Span::from_nanos(own.saturating_sub(theirs));
        apply(&mut worker, &ClockMap::<RankClock, RankClock>::from_offset(offset, 0));
    }
    trace.join_export(worker);
}

/// Whether processes of the recording at `path` can have recordings.
fn may_have(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == "rkr")
}

fn recordings(path: &Path) -> Vec<PathBuf> {
    let folder = path.with_extension("workers");
    if !may_have(path) {
        return Vec::new();
    }
    let mut files = files_in(&folder).unwrap_or_default();
    files.retain(|path| may_have(path));
    files
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rankscope_trace::{CategoryKind, ClockReading, HostClock, SpanRow, TrackKey, TrackKind};

    use super::*;

    /// A span that began when the counter stood at `counter_ns`, in a trace that is `ahead_ns` of it.
    fn recorded(process: i64, counter_ns: i64, ahead_ns: i64) -> Trace {
        let mut trace = Trace::default();
        let place = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(process));
        let track = trace.tracks.find_or_add(TrackKind::Thread, Some(place), TrackKey::Number(process));
        let (category, name) = (trace.category("cpu_op", CategoryKind::CpuOp), trace.strings.intern("work"));
        trace.spans.push(SpanRow { start_ns: counter_ns + ahead_ns, dur_ns: 5, name, track, category, offset: 0 });
        for (width_ns, off_ns) in [(900, 400), (20, 0)] {
            let clock = HostClock::MonotonicRaw;
            trace.provenance.clock_readings.push(ClockReading { clock, trace_ns: 100 + ahead_ns + off_ns, ns: 100, width_ns });
        }
        trace
    }

    #[test]
    fn workers_come_together_with_their_parent_by_the_hosts_counter() {
        let mut trace = recorded(1, 1_000, 7_000);
        add(&mut trace, recorded(2, 1_010, 7_300));
        add(&mut trace, recorded(3, 990, -50));
        assert_eq!(trace.spans.start_ns, [8_000, 8_010, 7_990]);
        assert_eq!(trace.tracks.iter().filter(|(_, track)| track.kind == TrackKind::Process).count(), 3);
    }

    #[test]
    fn recordings_lie_beside_their_parents() {
        let root = tempfile::tempdir().unwrap();
        for file in ["rank-0.workers/7.rkr", "rank-0.workers/12.rkr", "rank-0.workers/notes.txt", "rank-1.workers/9.rkr"] {
            fs::create_dir_all(root.path().join(file).parent().unwrap()).unwrap();
            fs::write(root.path().join(file), "").unwrap();
        }
        let found = |name: &str| recordings(&root.path().join(name)).len();
        assert_eq!(["rank-0.rkr", "rank-1.rkr", "rank-2.rkr", "rank-0.json"].map(found), [2, 1, 0, 0]);
    }
}
