use rankscope_trace::{CategoryKind as K, CopyDirection};

use super::*;
use crate::made::{Made, spans};

const BASE_NS: i64 = 1_700_000_000_000_000_000;

/// The global id of a thread of a process on the first virtual machine but one.
fn global(pid: i64, tid: i64) -> i64 {
    (1 << 48) | (pid << 24) | tid
}

/// A report of a launcher and a process that has one of everything.
fn report() -> String {
    let (gpid, thread) = (global(10, 0), global(10, 11));
    format!(
        "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
        INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.11.4');
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
        INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cuLaunchKernel'), (3, 'gemm(int)'), (4, 'gemm'), (5, 'main'),
            (6, 'forward'), (7, 'cudnnConvolutionForward'), (8, 'cudaMemcpyAsync_v3020');
        CREATE TABLE ThreadNames (nameId INT, priority INT, globalTid INT);
        INSERT INTO ThreadNames VALUES (5, 0, {thread});
        CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT, utcTime TEXT, localTime TEXT);
        INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ({BASE_NS}, 'x', 'y');
        CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INT, name TEXT, value TEXT);
        INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, 'Hostname', 'node7'), (0, 'Other', 'x');
        CREATE TABLE MPI_RANKS (globalTid INT, rank INT); INSERT INTO MPI_RANKS VALUES ({thread}, 6);
        CREATE TABLE TARGET_INFO_GPU (vmId INT, id INT, name TEXT);
        INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'Quadro P400'), (0, 1, 'NVIDIA H100 80GB HBM3');
        CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INT, cudaId INT, pid INT);
        INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 10);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, eventClass INT, globalTid INT, correlationId INT, nameId INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 20, 0, {thread}, 101, 1), (22, 25, 1, {thread}, 102, 2), (26, 28, 0, {thread}, 103, 8);
        CREATE TABLE CUDNN_EVENTS (start INT, end INT, globalTid INT, nameId INT);
        INSERT INTO CUDNN_EVENTS VALUES (21, 26, {thread}, 7);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT,
            globalPid INT, demangledName INT, shortName INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (30, 71, 0, 1, 7, 101, {gpid}, 3, 4, 4, 2, 1, 256, 1, 1),
            (40, 41, 0, 1, 7, 102, {gpid}, NULL, 4, 1, 1, 1, 32, 1, 1), (50, 52, 0, 1, 7, 102, {gpid}, 99, 99, 1, 1, 1, 32, 1, 1);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, streamId INT, correlationId INT, globalPid INT, bytes INT,
            copyKind INT, srcKind INT, dstKind INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (80, 90, 0, 13, 103, {gpid}, 4096, 1, 1, 2), (91, 92, 0, 13, 104, {gpid}, 64, 77, NULL, NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INT, end INT, deviceId INT, streamId INT, correlationId INT, globalPid INT, bytes INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (93, 94, 0, 7, 105, {gpid}, 512);
        CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, deviceId INT, streamId INT, correlationId INT, globalPid INT,
            syncType INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (95, 99, 0, 4294967295, 106, {gpid}, 4);
        CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, textId INT, globalTid INT);
        INSERT INTO NVTX_EVENTS VALUES (1, 60, 59, NULL, 6, {thread}), (2, NULL, 60, 'open', NULL, {thread}), (3, NULL, 34, 'here', NULL, {thread}),
            (NULL, NULL, 75, 'NCCL', NULL, {thread}), (4, 5, 99, 'new', NULL, {thread}), (0, 500, 59, 'launcher', NULL, {});
        CREATE TABLE OSRT_API (start INT, end INT); INSERT INTO OSRT_API VALUES (1, 2);",
        global(9, 9)
    )
}

#[test]
fn every_row_becomes_what_it_is() {
    let trace = Made::of(&report()).trace();
    let host = "Process 10 11";
    let expected = [
        (K::Runtime, "cudaLaunchKernel", host, 0, 20),
        (K::UserAnnotation, "forward", host, 1, 59),
        (K::UserAnnotation, "open", "Process 10 async", 2, 97),
        (K::CpuOp, "cudnnConvolutionForward", host, 21, 5),
        (K::Driver, "cuLaunchKernel", host, 22, 3),
        (K::Runtime, "cudaMemcpyAsync", host, 26, 2),
        (K::Kernel, "gemm(int)", "Device 0 7", 30, 41),
        (K::Kernel, "gemm", "Device 0 7", 40, 1),
        (K::Kernel, "kernel", "Device 0 7", 50, 2),
        (K::Memcpy, "Memcpy HtoD (Pinned -> Device)", "Device 0 13", 80, 10),
        (K::Memcpy, "Memcpy unknown", "Device 0 13", 91, 1),
        (K::Memset, "Memset", "Device 0 7", 93, 1),
        (K::Sync, "Context Sync", "Device 0 -1", 95, 4),
    ];
    let expected =
        expected.map(|(kind, name, place, start, dur)| (kind, name.to_owned(), place.to_owned(), BASE_NS + start, dur));
    assert_eq!(spans(&trace), expected);
    assert_eq!((trace.strings.text(trace.instants[0].name), trace.instants[0].time_ns), ("here", BASE_NS + 3));
    let launched: Vec<_> = trace.correlations.iter().filter(|(_, id)| *id == 102).map(|(span, _)| trace.name(span)).collect();
    assert_eq!(launched, ["cuLaunchKernel", "gemm", "kernel"], "one launch, two kernels");
    let directions: Vec<_> = trace.directions.iter().map(|(_, direction)| direction).collect();
    assert_eq!(directions, [CopyDirection::HostToDevice, CopyDirection::Other]);
    let about = &trace.provenance;
    assert_eq!((about.host.as_deref(), about.format.name(), about.clock_base_ns), (Some("node7"), "nsys", Some(BASE_NS)));
    assert_eq!(
        about.devices.iter().map(|device| (device.index, &device.name[..])).collect::<Vec<_>>(),
        [(0, "NVIDIA H100 80GB HBM3")]
    );
    assert_eq!((&about.file[..], about.own_rank()), ("rank3.db", Some(Rank(6))));
    let thread = trace.tracks.iter().find(|(_, track)| trace.strings.text(track.name) == "main");
    assert!(thread.is_some_and(|(_, track)| track.kind == rankscope_trace::TrackKind::Thread));
}

#[test]
fn what_is_left_out_is_told() {
    let trace = Made::of(&report()).trace();
    let problems = &trace.provenance.problems;
    let count = |kind| problems.count(kind);
    // The unknown sort of NVTX event, the launcher, and the table of the system's calls.
    assert_eq!(count(ProblemKind::Unsupported), 3);
    assert_eq!(count(ProblemKind::MissingInterned), 1);
    assert_eq!((count(ProblemKind::UnbalancedSpan), trace.unfinished.len()), (1, 1));
}

#[test]
fn processes_with_equal_correlation_ids_are_kept_apart() {
    let other = report().replace(&global(10, 0).to_string(), &global(12, 0).to_string());
    let other = other.replace(&global(10, 11).to_string(), &global(12, 11).to_string());
    let inserts: Vec<&str> = other.split(';').filter(|part| part.contains("INSERT INTO CUPTI")).collect();
    let made = Made::of(&format!("{}{};", report(), inserts.join(";")));
    let traces = made.read().unwrap();
    assert_eq!(traces.iter().map(|trace| &trace.provenance.file[..]).collect::<Vec<_>>(), ["rank3.db:pid10", "rank3.db:pid12"]);
    assert!(traces.iter().all(|trace| trace.correlations.iter().filter(|(_, id)| *id == 101).count() == 2));
}

#[test]
fn another_schema_is_told_and_what_is_missing_is_empty() {
    let made = Made::of(
        "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT); INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '7.0.0');
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, streamId INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 9, 7), (9, 5, 7), (NULL, 5, 7);",
    );
    let trace = made.trace();
    assert_eq!(spans(&trace).iter().map(|row| (&row.2[..], row.4)).collect::<Vec<_>>(), [("Device 0 7", 4), ("Device 0 7", 0)]);
    let problems = &trace.provenance.problems;
    assert!(problems.iter().any(|problem| problem.detail.contains("schema version 7.0.0 of nsys; this build knows up to 3")));
    assert_eq!((problems.count(ProblemKind::NegativeDuration), problems.count(ProblemKind::MissingTimestamp)), (1, 1));
    let empty = Made::of("CREATE TABLE StringIds (id, value); CREATE TABLE NVTX_EVENTS (start);").read();
    assert!(matches!(empty, Err(Error::NotATrace { found: Foreign::EmptyDatabase { profiler: "Nsight Systems" } })));
}

/// An event that is recorded twice, on two streams, and waited for after each; and one that was recorded before the report begins.
#[test]
fn a_wait_is_for_the_last_record_of_its_event_before_it() {
    let gpid = global(10, 0);
    let waited = |numbers: [i64; 4]| {
        let [first, second, third, stranger] = numbers;
        let made = Made::of(&format!(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, correlationId INT, globalPid INT);
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 9, 0, 7, 1, {gpid});
            CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT,
                eventId INT, eventSyncId INT);
            INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1, 13, 30, {gpid}, 4, 102), (0, 1, 7, 10, {gpid}, 4, 101),
                (0, 2, 21, 12, {gpid}, 4, 101), (0, 1, 17, 11, {gpid}, 5, 103);
            CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, deviceId INT, contextId INT, streamId INT,
                correlationId INT, globalPid INT, syncType INT, eventId INT, eventSyncId INT);
            INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (20, 21, 0, 1, 9, 20, {gpid}, 2, 4, {first}),
                (40, 41, 0, 1, 9, 40, {gpid}, 2, 4, {second}), (50, 51, 0, 1, 4294967295, 50, {gpid}, 1, 4, {third}),
                (60, 61, 0, 1, 9, 60, {gpid}, 2, 99, {stranger}), (70, 71, 0, 1, 7, 70, {gpid}, 3, 4, 101);"
        ));
        let trace = made.trace();
        let awaited = trace.awaited.iter().map(|(span, awaited)| {
            (trace.correlations.get(span).unwrap(), awaited.stream.unwrap(), awaited.recorded_by.unwrap())
        });
        awaited.collect::<Vec<_>>()
    };
    assert_eq!(waited([0; 4]), [(20, 7, 10), (40, 13, 30), (50, 13, 30)]);
    assert_eq!(waited([101, 101, 102, 999]), [(20, 7, 10), (40, 7, 10), (50, 13, 30)], "where it is said which record");
}
