//! What holds of the graph of any trace: of made jobs, of public traces, and of damaged ones.

use std::fs::{self, File};
use std::io::Cursor;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rankscope_analyze::{Classes, Side};
use rankscope_collectives::extract;
use rankscope_execution::{Dependency, Execution, LaneKind, PieceId, Stretch};
use rankscope_formats::{ArgsPolicy, ReadOptions, read};
use rankscope_testkit::{Dialect, Job, Need, damage, given, simulated};
use rankscope_time::Rank;
use rankscope_trace::{Awaited, CategoryKind, SpanRow, Trace, TrackKey, TrackKind};

fn execution(trace: &Trace) -> Execution {
    let classes = Classes::default();
    Execution::of(trace, &extract(Rank(0), trace, &classes.patterns), &classes)
}

/// What holds of the graph of every trace.
fn assert_laws(trace: &Trace, what: &str) -> Execution {
    let execution = execution(trace);
    assert_eq!(execution, self::execution(trace), "{what}: the same trace gives the same graph");
    let (side, work) = Classes::default().work(trace);
    let is_stream = |id: &PieceId| execution.lane(execution.piece(*id).lane).kind == LaneKind::Stream;
    let device_ns: i64 = execution.ids().filter(is_stream).map(|id| execution.piece(id).dur_ns).sum();
    let work_ns: i64 = work.iter().map(|one| one.end_ns - one.start_ns).sum();
    if side == Side::Device && !execution.is_empty() {
        assert_eq!(device_ns, work_ns, "{what}: all device work is there");
    } else {
        assert_eq!(device_ns, 0, "{what}");
    }
    for id in execution.ids() {
        let piece = execution.piece(id);
        assert!(piece.dur_ns >= 0, "{what}: {piece:?}");
        assert_eq!(execution.shares(id).map(|share| share.ns).sum::<i64>(), piece.dur_ns, "{what}: {piece:?}");
        for (before, how) in execution.dependencies(id) {
            let overlaps = execution.end_ns(before) > piece.start_ns;
            assert!(before < id && !(overlaps && (how != Dependency::Lane || !is_stream(&id))), "{what}: {piece:?} {how:?}");
        }
        let step = (execution.len() / 50).max(1);
        if (id.0 as usize).is_multiple_of(step) {
            assert_partition(&execution, id, what);
        }
    }
    execution
}

fn assert_partition(execution: &Execution, id: PieceId, what: &str) {
    let from_ns = execution.start_ns(PieceId(0));
    let stretches = execution.back(id, from_ns);
    assert_eq!(stretches.iter().map(Stretch::ns).sum::<i64>(), execution.start_ns(id) - from_ns, "{what}: {id:?}");
    let meets = stretches.windows(2).all(|pair| pair[0].start_ns == pair[1].end_ns);
    assert!(meets, "{what}: {id:?}");
}

fn traces_of(bytes: &[u8]) -> Vec<Trace> {
    let options = ReadOptions::default().with_args(ArgsPolicy::All);
    read(Cursor::new(bytes.to_vec()), &options).into_iter().flatten().filter_map(|member| member.trace.ok()).collect()
}

#[test]
fn the_laws_hold_of_made_jobs_and_damaged_ones() {
    let job = Job::default();
    for (name, dialect) in Dialect::all() {
        let bytes = job.rank_bytes(1, &dialect);
        for trace in traces_of(&bytes) {
            assert!(!assert_laws(&trace, name).is_empty(), "{name}");
        }
        for permille in [100, 350, 700, 990] {
            let cut = damage::truncate(&bytes, bytes.len() * permille / 1_000);
            traces_of(&cut).iter().for_each(|trace| drop(assert_laws(trace, name)));
        }
        let unlike = damage::control_characters(&bytes, 7);
        traces_of(&unlike.bytes).iter().for_each(|trace| drop(assert_laws(trace, name)));
    }
}

#[test]
fn the_laws_hold_of_public_traces() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let mut graphs = 0;
    for folder in ["traces", "jobs"] {
        for path in files(&corpus.join(folder)) {
            let Ok(members) = read(File::open(&path).expect("it is there"), &ReadOptions::default().with_args(ArgsPolicy::All))
            else {
                continue;
            };
            for trace in members.into_iter().filter_map(|member| member.trace.ok()) {
                graphs += u32::from(!assert_laws(&trace, &path.display().to_string()).is_empty());
            }
        }
    }
    assert!(graphs >= 20, "{graphs} graphs of the corpus");
}

/// Where devices wait for their hosts in every layer, messages came long before, and nothing in time shows that they are waited for.
#[test]
fn what_a_rank_received_is_waited_for_although_it_came_before() {
    let layout = simulated::Layout { ranks: 2, tensor: 1, pipeline: 2, experts: false, gpus_per_node: 1 };
    let cause = Some(simulated::Cause::Synchronization);
    let job = simulated::Job { layout, layers: 1, microbatches: 4, cause, ..simulated::Job::default() };
    let mut bytes = Vec::new();
    job.rank_json(1, &mut bytes).expect("memory is there");
    let execution = execution(&traces_of(&bytes)[0]);
    // Its stream for messages from the stage before.
    let is_message = |id: &PieceId| execution.lane(execution.piece(*id).lane).name.contains("37");
    let received: Vec<PieceId> = execution.ids().filter(is_message).collect();
    assert_eq!(received.len(), 4 * 8, "one a microbatch and step: {:?}", execution.lanes());
    for one in received {
        let waits = |id: &PieceId| execution.piece(*id).waits_for == Some(one);
        assert!(execution.ids().any(|id| waits(&id)), "{:?}", execution.piece(one));
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("it can be listed").map(|entry| entry.expect("so can this").path());
    let (folders, mut files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| self::files(folder)));
    files.sort();
    files
}

/// Spans of any category on any track, calls and work with few correlation ids, so that most things that are odd happen.
fn any_trace() -> impl Strategy<Value = Trace> {
    let span =
        (0..14_usize, 0..4_i64, 0..3_000_i64, prop_oneof![Just(0), 1..300_i64, 1_000..200_000_i64], 0..12_u64, 0..6_usize);
    prop::collection::vec(span, 0..120).prop_map(|spans| {
        let mut trace = Trace::default();
        let kinds = [
            ("cpu_op", CategoryKind::CpuOp, "c10d::allreduce_"),
            ("cpu_op", CategoryKind::CpuOp, "aten::mm"),
            ("user_annotation", CategoryKind::UserAnnotation, "gloo:all_reduce"),
            ("user_annotation", CategoryKind::UserAnnotation, "ProfilerStep#3"),
            ("python_function", CategoryKind::PythonFunction, "train.py(3): step"),
            ("cuda_runtime", CategoryKind::Runtime, "cudaLaunchKernel"),
            ("cuda_runtime", CategoryKind::Runtime, "cudaDeviceSynchronize"),
            ("kernel", CategoryKind::Kernel, "gemm"),
            ("kernel", CategoryKind::Kernel, "ncclDevKernel_AllReduce"),
            ("gpu_memcpy", CategoryKind::Memcpy, "Memcpy DtoH (Device -> Pageable)"),
            ("cuda_runtime", CategoryKind::Runtime, "cudaEventRecord"),
            ("cuda_runtime", CategoryKind::Runtime, "cudaStreamWaitEvent"),
            ("cuda_sync", CategoryKind::Sync, "Stream Wait Event"),
            ("cuda_sync", CategoryKind::Sync, "Event Sync"),
        ];
        for (kind, track, start_ns, dur_ns, correlation, scale) in spans {
            let (category, kind, name) = kinds[kind];
            let category = trace.category(category, kind);
            let (parent, child) = if kind.is_on_device() {
                (TrackKind::Device, TrackKind::Stream)
            } else {
                (TrackKind::Process, TrackKind::Thread)
            };
            let parent = trace.tracks.find_or_add(parent, None, TrackKey::Number(0));
            let track = trace.tracks.find_or_add(child, Some(parent), TrackKey::Number(track));
            let name = trace.strings.intern(name);
            let start_ns = start_ns * [1, 1, 10, 100, 1_000, 100_000][scale];
            let span = trace.spans.push(SpanRow { start_ns, dur_ns, name, track, category, offset: 0 });
            if kind.is_launch() || kind.is_device_work() || kind == CategoryKind::Sync {
                trace.correlations.push(span, correlation);
            }
            if kind == CategoryKind::Sync {
                // By calls before and after, that record events and others.
                let recorded_by = (scale > 0).then_some((correlation + scale as u64) % 12);
                trace.awaited.push(span, Awaited { stream: Some((start_ns % 5) as u32), recorded_by });
            }
        }
        trace.mark_profiler_steps();
        trace
    })
}

proptest! {
    #[test]
    fn the_laws_hold_of_any_trace(trace in any_trace()) {
        assert_laws(&trace, "made");
    }

    #[test]
    fn the_laws_hold_of_any_trace_without_devices(mut trace in any_trace()) {
        trace.categories.iter_mut().filter(|category| category.kind.is_on_device()).for_each(|category| category.kind = CategoryKind::CpuOp);
        assert_laws(&trace, "made");
    }
}
