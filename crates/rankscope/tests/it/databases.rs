//! Databases of profilers, from the file to tables and other formats. They are of our own making, after the published schemas.

use std::path::Path;

use serde_json::Value;

use crate::common::{failure, rankscope, report};

const NSYS: &str = "
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'gemm'), (3, 'cublasSgemm');
    CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT); INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3');
    CREATE TABLE CUBLAS_EVENTS (start INT, end INT, globalTid INT, nameId INT);
    INSERT INTO CUBLAS_EVENTS VALUES (100, 200, 167772171, 3);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (110, 120, 167772171, 1, 1), (300, 310, 167772171, 2, 1);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, correlationId INT, globalPid INT, demangledName INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (150, 1151, 0, 7, 1, 167772160, 2), (2000, 2030, 0, 7, 2, 167772160, 2),
        (3000, 3005, 0, 7, 3, 167772160, 2);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, streamId INT, globalPid INT, bytes INT, copyKind INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (4000, 4100, 0, 7, 167772160, 1000, 2);";

const ROCPD: &str = r#"
    CREATE TABLE rocpd_string_g (id INTEGER PRIMARY KEY, string TEXT); INSERT INTO rocpd_string_g VALUES (1, 'HIP_RUNTIME_API'), (2, 'hipLaunchKernel');
    CREATE TABLE rocpd_info_kernel_symbol_g (id INTEGER PRIMARY KEY, display_name TEXT); INSERT INTO rocpd_info_kernel_symbol_g VALUES (1, 'gemm');
    CREATE TABLE rocpd_info_agent_g (id INTEGER PRIMARY KEY, type TEXT, type_index INT, product_name TEXT);
    INSERT INTO rocpd_info_agent_g VALUES (4, 'GPU', 0, 'AMD Instinct MI300X');
    CREATE TABLE rocpd_event_g (id INTEGER PRIMARY KEY, category_id INT, stack_id INT); INSERT INTO rocpd_event_g VALUES (1, 1, 7), (2, NULL, 7);
    CREATE TABLE rocpd_region_g (id INTEGER PRIMARY KEY, pid INT, tid INT, start INT, "end" INT, name_id INT, event_id INT);
    INSERT INTO rocpd_region_g VALUES (1, 10, 11, 100, 120, 2, 1);
    CREATE TABLE rocpd_kernel_dispatch_g (id INTEGER PRIMARY KEY, pid INT, tid INT, agent_id INT, stream_id INT, kernel_id INT, start INT, "end" INT, event_id INT);
    INSERT INTO rocpd_kernel_dispatch_g VALUES (1, 10, 11, 4, 3, 1, 150, 1151, 2), (2, 10, 11, 4, 3, 1, 2000, 2030, NULL);"#;

fn make(path: &Path, sql: &str) {
    let database = rusqlite::Connection::open(path).expect("a database");
    database.execute_batch(&format!("PRAGMA synchronous = OFF; {sql}")).expect("tables");
}

/// Parent, name, stream, count and time of every kernel.
fn kernels(path: &Path) -> Vec<(Value, Value, Value, u64, u64)> {
    let output = rankscope(&["report", "kernels", path.to_str().expect("a path"), "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).expect("rows");
    let row = |row: &Value| {
        let number = |key: &str| row[key].as_u64().expect("a number");
        (row["parent_op"].clone(), row["name"].clone(), row["stream"].clone(), number("count"), number("sum_ns"))
    };
    rows.iter().map(row).collect()
}

#[test]
fn kernels_of_databases_are_attributed_and_add_up() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let nsys = directory.path().join("rank0.sqlite");
    make(&nsys, NSYS);
    let row = |parent: Value, name: &str, stream: &str, count, sum| (parent, name.into(), stream.into(), count, sum);
    let expected = [
        row("cublasSgemm".into(), "gemm", "7", 1, 1001),
        row(Value::Null, "Memcpy DtoH", "7", 1, 100),
        row("cudaLaunchKernel".into(), "gemm", "7", 1, 30),
        row(Value::Null, "gemm", "7", 1, 5),
    ];
    assert_eq!(kernels(&nsys), expected);
    let document = report(&nsys, &["--tables", "all"]);
    let rank = &document["ranks"][0];
    assert_eq!((&rank["format"], &rank["tables"]["card"]), (&"nsys".into(), &"H100 SXM".into()));
    assert_eq!((&rank["tables"]["kernel_ns"], &rank["tables"]["unattributed_kernel_ns"]), (&1136.into(), &105.into()));

    let rocpd = directory.path().join("rank1_results.db");
    make(&rocpd, ROCPD);
    let expected = [row("hipLaunchKernel".into(), "gemm", "3", 1, 1001), row(Value::Null, "gemm", "3", 1, 30)];
    assert_eq!(kernels(&rocpd), expected);
    let both = report(directory.path(), &[]);
    let formats: Vec<_> = both["ranks"].as_array().expect("ranks").iter().map(|rank| &rank["format"]).collect();
    assert_eq!(formats, ["nsys", "rocpd"]);
}

#[test]
fn a_database_converts_to_every_format() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let nsys = directory.path().join("rank0.sqlite");
    make(&nsys, NSYS);
    for name in ["rank0.json", "rank0.pftrace", "rank0.xplane.pb"] {
        let made = directory.path().join(name);
        let args = ["convert", nsys.to_str().expect("a path"), made.to_str().expect("a path")];
        assert!(rankscope(&args).status.success(), "{name}");
        assert_eq!(kernels(&made), kernels(&nsys), "{name}");
    }
}

#[test]
fn a_database_of_something_else_is_refused_by_its_tables() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("metrics.db");
    make(&path, "CREATE TABLE losses (step, loss); CREATE TABLE runs (id);");
    let said = failure(&["report", path.to_str().expect("a path")]);
    assert!(said.contains("not a trace") && said.contains("losses, runs"), "{said}");
}
