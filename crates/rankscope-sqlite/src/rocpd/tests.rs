use std::sync::LazyLock;

use proptest::prelude::*;
use rankscope_formats::Foreign;
use rankscope_trace::{ArgValue, CategoryKind as K, CopyDirection};

use super::*;
use crate::made::{Made, spans};

/// What describes things, as rocprofv3 writes it for a process called `suffix`.
fn described(suffix: &str) -> String {
    format!(
        r#"CREATE TABLE "rocpd_metadata{suffix}" (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
        INSERT INTO "rocpd_metadata{suffix}" (tag, value) VALUES ('schema_version', '3'), ('guid', 'g');
        CREATE TABLE "rocpd_string{suffix}" (id INTEGER PRIMARY KEY, guid TEXT, string TEXT);
        INSERT INTO "rocpd_string{suffix}" (id, string) VALUES (1, 'HIP_RUNTIME_API_EXT'), (2, 'HSA_CORE_API'), (3, 'MARKER_CORE_API'),
            (4, 'RCCL_API'), (5, 'KERNEL_DISPATCH'), (6, 'MEMORY_COPY'), (10, 'hipLaunchKernel'), (11, 'hsa_signal_wait'),
            (12, 'roctxRangePushA'), (13, 'ncclAllReduce'), (14, 'MEMORY_COPY_HOST_TO_DEVICE'), (15, 'MEMORY_COPY_DEVICE_TO_DEVICE'),
            (16, 'MEMORY_COPY_HOST_TO_HOST');
        CREATE TABLE "rocpd_info_node{suffix}" (id INTEGER PRIMARY KEY, hostname TEXT);
        INSERT INTO "rocpd_info_node{suffix}" VALUES (1, 'node7');
        CREATE TABLE "rocpd_info_process{suffix}" (id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, environment JSONB);
        INSERT INTO "rocpd_info_process{suffix}" VALUES (1, 1, 10, '{{"HOME": "/", "RANK": "5", "WORLD_SIZE": "8", "SLURM_PROCID": "0"}}');
        CREATE TABLE "rocpd_info_thread{suffix}" (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER);
        INSERT INTO "rocpd_info_thread{suffix}" VALUES (1, 1, 11);
        CREATE TABLE "rocpd_info_agent{suffix}" (id INTEGER PRIMARY KEY, type TEXT, type_index INTEGER, name TEXT, product_name TEXT);
        INSERT INTO "rocpd_info_agent{suffix}" VALUES (0, 'CPU', 0, 'EPYC', 'EPYC'), (2, 'GPU', 0, 'gfx942', 'AMD Instinct MI300X'),
            (3, 'GPU', 1, 'gfx942', 'AMD Instinct MI300X');
        CREATE TABLE "rocpd_info_kernel_symbol{suffix}" (id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT);
        INSERT INTO "rocpd_info_kernel_symbol{suffix}" VALUES (7, '_Z4gemmv.kd', 'gemm(int)'), (8, 'relu.kd', '');
        CREATE TABLE "rocpd_event{suffix}" (id INTEGER PRIMARY KEY, category_id INTEGER, stack_id INTEGER, correlation_id INTEGER,
            extdata JSONB DEFAULT '{{}}');
        INSERT INTO "rocpd_event{suffix}" VALUES (1, 1, 101, 0, '{{}}'), (2, 5, 101, 0, '{{}}'), (3, 5, 102, 9, '{{}}'),
            (4, 2, 104, 0, '{{}}'), (5, 3, 20, 0, '{{"message": "forward"}}'), (6, 3, 21, 0, '{{"message": "loss is 3"}}'),
            (7, 4, 105, 0, '{{}}'), (8, 6, 103, 0, '{{}}'), (9, 6, 106, 0, '{{}}'), (10, 6, 108, 0, '{{}}'), (11, 3, 22, 0, '{{}}');
        CREATE TABLE "rocpd_track{suffix}" (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, agent_id INTEGER, queue_id INTEGER,
            stream_id INTEGER);
        INSERT INTO "rocpd_track{suffix}" VALUES (1, 1, 1, NULL, NULL, NULL), (2, 1, 1, 2, 2, 5), (3, 1, 1, 2, 2, 6), (4, 1, 1, 3, 2, 5);
        CREATE TABLE "rocpd_timestamp{suffix}" (id INTEGER PRIMARY KEY, value BIGINT);
        "#
    )
}

/// Rows with their times and places in themselves.
fn inline() -> String {
    let times = "start BIGINT, \"end\" BIGINT, event_id INTEGER";
    described("_a1")
        + &format!(
            r#"CREATE TABLE "rocpd_kernel_dispatch_a1" (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER,
                queue_id INTEGER, stream_id INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER,
                grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, {times});
            INSERT INTO "rocpd_kernel_dispatch_a1" VALUES (1, 1, 1, 2, 7, 2, 5, 256, 1, 1, 1000, 2, 1, 1130, 1171, 2),
                (2, 1, 1, 2, 8, 2, 6, 0, 0, 0, 10, 1, 1, 1140, 1140, 3);
            CREATE TABLE "rocpd_memory_copy_a1" (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, name_id INTEGER, dst_agent_id INTEGER,
                src_agent_id INTEGER, size INTEGER, stream_id INTEGER, {times});
            INSERT INTO "rocpd_memory_copy_a1" VALUES (1, 1, 1, 14, 2, 0, 4096, 5, 1180, 1190, 8), (2, 1, 1, 15, 3, 2, 4096, 5, 1191, 1192, 9),
                (3, 1, 1, 16, 0, 0, 4096, NULL, 1195, 1196, 10);
            CREATE TABLE "rocpd_region_a1" (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, name_id INTEGER, {times});
            INSERT INTO "rocpd_region_a1" VALUES (101, 1, 1, 10, 1100, 1120, 1), (104, 1, 1, 11, 1126, 1128, 4), (20, 1, 1, 12, 1090, 1300, 5),
                (105, 1, 1, 13, 1210, 1220, 7), (22, 1, 1, 12, 1201, 1202, 11);
            CREATE TABLE "rocpd_sample_a1" (id INTEGER PRIMARY KEY, track_id INTEGER, timestamp BIGINT, event_id INTEGER);
            INSERT INTO "rocpd_sample_a1" VALUES (21, 1, 1200, 6);
            CREATE VIEW rocpd_region AS SELECT * FROM "rocpd_region_a1";"#
        )
}

/// The same rows with their times and places in tables of their own.
fn normalised() -> String {
    let times = "track_id INTEGER, start_id INTEGER, end_id INTEGER, event_id INTEGER";
    let stamps: Vec<String> = (1000..1400).map(|stamp| format!("({stamp}, {stamp})")).collect();
    described("_a1")
        + &format!(
            r#"INSERT INTO "rocpd_timestamp_a1" VALUES {};
            CREATE TABLE "rocpd_kernel_dispatch_a1" (id INTEGER PRIMARY KEY, kernel_id INTEGER, workgroup_size_x INTEGER,
                workgroup_size_y INTEGER, workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, {times});
            INSERT INTO "rocpd_kernel_dispatch_a1" VALUES (1, 7, 256, 1, 1, 1000, 2, 1, 2, 1130, 1171, 2),
                (2, 8, 0, 0, 0, 10, 1, 1, 3, 1140, 1140, 3);
            CREATE TABLE "rocpd_memory_copy_a1" (id INTEGER PRIMARY KEY, name_id INTEGER, dst_agent_id INTEGER, src_agent_id INTEGER,
                size INTEGER, {times});
            INSERT INTO "rocpd_memory_copy_a1" VALUES (1, 14, 2, 0, 4096, 2, 1180, 1190, 8), (2, 15, 3, 2, 4096, 4, 1191, 1192, 9),
                (3, 16, 0, 0, 4096, 1, 1195, 1196, 10);
            CREATE TABLE "rocpd_region_a1" (id INTEGER PRIMARY KEY, name_id INTEGER, {times});
            INSERT INTO "rocpd_region_a1" VALUES (101, 10, 1, 1100, 1120, 1), (104, 11, 1, 1126, 1128, 4), (20, 12, 1, 1090, 1300, 5),
                (105, 13, 1, 1210, 1220, 7), (22, 12, 1, 1201, 1202, 11);
            CREATE TABLE "rocpd_sample_a1" (id INTEGER PRIMARY KEY, track_id INTEGER, name_id INTEGER, timestamp_id INTEGER, event_id INTEGER);
            INSERT INTO "rocpd_sample_a1" VALUES (21, 1, 12, 1200, 6);"#,
            stamps.join(", ")
        )
}

#[test]
fn both_layouts_become_what_they_say() {
    let expected = [
        (K::UserAnnotation, "forward", "Process 10 11", 1090, 210),
        (K::Runtime, "hipLaunchKernel", "Process 10 11", 1100, 20),
        (K::Driver, "hsa_signal_wait", "Process 10 11", 1126, 2),
        (K::Kernel, "gemm(int)", "Device 0 5", 1130, 41),
        (K::Kernel, "relu", "Device 0 6", 1140, 0),
        (K::Memcpy, "MEMORY_COPY_HOST_TO_DEVICE", "Device 0 5", 1180, 10),
        (K::Memcpy, "MEMORY_COPY_DEVICE_TO_DEVICE", "Device 1 5", 1191, 1),
        (K::Other, "MEMORY_COPY_HOST_TO_HOST", "Process 10 11", 1195, 1),
        (K::Other, "roctxRangePushA", "Process 10 11", 1201, 1),
        (K::CpuOp, "ncclAllReduce", "Process 10 11", 1210, 10),
    ];
    let expected = expected.map(|(kind, name, place, start, dur)| (kind, name.to_owned(), place.to_owned(), start, dur));
    for sql in [inline(), normalised()] {
        let trace = Made::of(&sql).trace();
        assert_eq!(spans(&trace), expected);
        let mark = trace.instants[0];
        assert_eq!((trace.strings.text(mark.name), mark.time_ns), ("loss is 3", 1200));
        assert_eq!(trace.correlations.iter().filter(|(_, id)| *id == 101).count(), 2, "the launch and its kernel");
        assert_eq!(trace.external_ids.iter().map(|(_, id)| id).collect::<Vec<_>>(), [9]);
        let directions: Vec<_> = trace.directions.iter().map(|(_, direction)| direction).collect();
        assert_eq!(directions, [CopyDirection::HostToDevice, CopyDirection::PeerToPeer]);
        assert_eq!(trace.bytes.iter().map(|(_, bytes)| bytes).collect::<Vec<_>>(), [4096; 3]);
        let gemm = trace.spans.ids().find(|span| trace.name(*span) == "gemm(int)").unwrap();
        let arg = |key: &str| trace.spans.args.value(gemm.0 as usize, trace.strings.find(key).unwrap()).unwrap();
        let json = |key| if let ArgValue::Json(text) = arg(key) { trace.strings.text(text) } else { "" };
        assert_eq!((json("grid"), json("block"), arg("queue")), ("[4, 2, 1]", "[256, 1, 1]", ArgValue::I64(2)));
        let about = &trace.provenance;
        assert_eq!((about.host.as_deref(), about.format.name()), (Some("node7"), "rocpd"));
        assert_eq!((about.own_rank(), about.world_size), (Some(Rank(5)), Some(8)), "as the environment says");
        assert_eq!(about.devices.iter().map(|device| &device.name[..]).collect::<Vec<_>>(), ["AMD Instinct MI300X"; 2]);
        assert!(about.problems.is_empty(), "{:?}", about.problems);
    }
}

#[test]
fn nothing_appears_beside_the_database() {
    let made = Made::of(&("PRAGMA journal_mode = WAL;".to_owned() + &inline()));
    let before = made.beside();
    std::fs::set_permissions(&made.path, std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap();
    assert_eq!(made.trace().spans.len(), 10);
    assert_eq!(made.beside(), before);
}

#[test]
fn several_processes_are_several_traces() {
    let made = Made::of(&(inline() + &inline().replace("_a1", "_b2").replace("VIEW rocpd_region", "VIEW other")));
    let files: Vec<_> = made.read().unwrap().into_iter().map(|trace| trace.provenance.file).collect();
    assert_eq!(files, ["rank3.db:a1", "rank3.db:b2"]);
}

#[test]
fn another_schema_is_told_and_what_is_missing_is_empty() {
    let only = r#"CREATE TABLE "rocpd_metadata_x" (tag TEXT, value TEXT); INSERT INTO "rocpd_metadata_x" VALUES ('schema_version', '9');
        CREATE TABLE "rocpd_kernel_dispatch_x" (id INTEGER PRIMARY KEY, start BIGINT, "end" BIGINT, kernel_id INTEGER);
        INSERT INTO "rocpd_kernel_dispatch_x" VALUES (1, 5, 9, 3), (2, 9, 5, NULL), (3, NULL, 7, 3), (4, 'soon', 7, 3);
        CREATE TABLE "rocpd_pmc_event_x" (id INTEGER); INSERT INTO "rocpd_pmc_event_x" VALUES (1);"#;
    let trace = Made::of(only).trace();
    assert_eq!(spans(&trace).iter().map(|row| (&row.1[..], row.4)).collect::<Vec<_>>(), [("kernel 3", 4), ("kernel", 0)]);
    let problems = &trace.provenance.problems;
    let said: Vec<_> =
        problems.iter().map(|problem| format!("{} {}: {}", problem.count, problem.kind, problem.detail)).collect();
    let has = |text: &str| assert!(said.iter().any(|said| said.contains(text)), "{text}: {said:?}");
    has("schema version 9 of rocpd; this build knows 3");
    has("2 unsupported");
    has("1 negative duration: rocpd_kernel_dispatch_x");
    has("2 missing timestamp: rocpd_kernel_dispatch_x");
    assert!(problems.iter().all(|problem| problem.offset < 1 << 20));
}

#[test]
fn databases_of_others_and_damaged_ones_are_named() {
    let found = |made: &Made| match made.read() {
        Err(Error::NotATrace { found }) => found,
        other => panic!("{other:?}"),
    };
    let of = |sql: &str| found(&Made::of(sql));
    let tables = vec!["albums".to_owned(), "rocpd_api".to_owned()];
    assert_eq!(of("CREATE TABLE albums (a); CREATE TABLE rocpd_api (a);"), Foreign::OtherDatabase { tables });
    assert_eq!(of("CREATE TABLE \"rocpd_region_x\" (a);"), Foreign::EmptyDatabase { profiler: "ROCm's profilers" });
    let made = Made::of(&inline());
    let bytes = std::fs::read(&made.path).unwrap();
    std::fs::write(&made.path, &bytes[..100]).unwrap();
    assert!(matches!(found(&made), Foreign::DamagedDatabase { .. }));
}

#[test]
fn a_damaged_page_costs_the_rest_of_its_table() {
    let made = Made::of(&inline());
    let at = Database::open(&made.path).unwrap().table("rocpd_memory_copy_a1").unwrap().offset as usize;
    let mut bytes = std::fs::read(&made.path).unwrap();
    bytes[at..at + 64].fill(0xff);
    std::fs::write(&made.path, bytes).unwrap();
    let trace = made.trace();
    assert_eq!(trace.spans.len(), 7);
    let problem = trace.provenance.problems.iter().next().unwrap().clone();
    assert_eq!((problem.kind, problem.offset), (ProblemKind::DamagedBlock, at as u64));
    assert!(problem.detail.contains("rocpd_memory_copy_a1"), "{}", problem.detail);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any damage gives traces or an error.
    #[test]
    fn damage_never_panics(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40), cut in 0usize..4) {
        static GOOD: LazyLock<Vec<u8>> = LazyLock::new(|| std::fs::read(Made::of(&inline()).path).unwrap());
        let made = Made::of("PRAGMA user_version = 1;");
        let mut bytes = GOOD.clone();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - cut * 1000);
        std::fs::write(&made.path, bytes).unwrap();
        for trace in made.read().into_iter().flatten() {
            prop_assert!(trace.spans.dur_ns.iter().all(|dur| *dur >= 0));
        }
    }
}
