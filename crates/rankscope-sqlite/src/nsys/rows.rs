//! Rows of tables of events, as activities of their processes.

use rankscope_formats::activity::{Activities, Activity, Sort};
use rankscope_trace::{ArgValue, CopyDirection, ProblemKind, SpanId, StrId, TrackId};

use super::Reader;
use super::events;
use super::processes::tid;
use crate::database::Row;

/// Reads all tables of events.
pub(super) fn read_all(reader: &mut Reader<'_>) {
    let calls = ["start", "end", "globalTid", "correlationId", "nameId"];
    reader.each("CUPTI_ACTIVITY_KIND_RUNTIME", &calls, |reader, row, offset| call(reader, None, row, offset));
    reader.each("CUPTI_ACTIVITY_KIND_DRIVER", &calls, |reader, row, offset| {
        call(reader, Some(Sort::DriverCall), row, offset);
    });
    for library in ["CUDNN_EVENTS", "CUBLAS_EVENTS"] {
        reader.each(library, &calls, |reader, row, offset| call(reader, Some(Sort::LibraryCall), row, offset));
    }
    reader.each("CUPTI_ACTIVITY_KIND_KERNEL", &with_shared(&KERNEL_COLUMNS), kernel);
    reader.each("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", &with_shared(&["graphId"]), graph);
    reader.each("CUPTI_ACTIVITY_KIND_MEMCPY", &with_shared(&["bytes", "copyKind", "srcKind", "dstKind"]), copy);
    reader.each("CUPTI_ACTIVITY_KIND_MEMSET", &with_shared(&["bytes"]), fill);
    reader.each("CUPTI_ACTIVITY_KIND_CUDA_EVENT", &events::COLUMNS, |reader, row, _| reader.events.add(row));
    reader.events.sort();
    let sync_columns = with_shared(&["syncType", "contextId", "eventId", "eventSyncId"]);
    reader.each("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", &sync_columns, sync);
    let ranges = ["start", "end", "globalTid", "eventType", "text", "textId"];
    reader.each("NVTX_EVENTS", &ranges, range);
}

/// Columns that all work on devices has.
const SHARED: [&str; 6] = ["start", "end", "globalPid", "correlationId", "deviceId", "streamId"];
const OWN: usize = SHARED.len();

const KERNEL_COLUMNS: [&str; 8] = ["demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"];

fn with_shared(own: &[&'static str]) -> Vec<&'static str> {
    SHARED.iter().chain(own).copied().collect()
}

fn call(reader: &mut Reader<'_>, sort: Option<Sort>, row: &Row<'_>, offset: u64) {
    let (start_ns, end_ns) = times(reader, row);
    let name = row.integer(4).and_then(|id| reader.strings.get(&id)).map_or("call", |name| without_version(name));
    let sort =
        sort.unwrap_or(if name.starts_with("cu") && !name.starts_with("cuda") { Sort::DriverCall } else { Sort::RuntimeCall });
    let global = row.integer(2);
    let (process, pid) = reader.processes.of(global);
    let track = process.thread(pid, tid(global));
    let name = process.trace().strings.intern(name);
    // A library's calls have no ids, or ids of their own.
    let correlation = row.id(3).filter(|_| sort != Sort::LibraryCall);
    let activity = Activity { sort, name, track, start_ns, end_ns, correlation, external_id: None, bytes: None, offset };
    process.push(&activity, &[]);
}

/// `cudaLaunchKernel` of `cudaLaunchKernel_v7000`.
fn without_version(name: &str) -> &str {
    let version = name.rsplit_once("_v").filter(|(_, version)| version.bytes().all(|byte| byte.is_ascii_digit()));
    version.filter(|(_, version)| version.len() >= 4).map_or(name, |(name, _)| name)
}

fn times(reader: &Reader<'_>, row: &Row<'_>) -> (Option<i64>, Option<i64>) {
    (reader.processes.time(row.integer(0)), reader.processes.time(row.integer(1)))
}

fn kernel(reader: &mut Reader<'_>, row: &Row<'_>, offset: u64) {
    let names = [OWN, OWN + 1].map(|at| row.integer(at).and_then(|id| reader.strings.get(&id)).cloned());
    let name = names.into_iter().flatten().next();
    if name.is_none() {
        reader.problems.add_detailed(ProblemKind::MissingInterned, offset, 1, "a kernel's name".to_owned());
    }
    let args = |process: &mut Activities| {
        let strings = &mut process.trace().strings;
        [("grid", OWN + 2), ("block", OWN + 5)]
            .map(|(key, first)| {
                let size = [0, 1, 2].map(|axis| row.size(first + axis).unwrap_or(0));
                let text = strings.intern(&format!("{size:?}"));
                (strings.intern(key), ArgValue::Json(text))
            })
            .to_vec()
    };
    on_device(reader, Sort::Kernel, name.as_deref().unwrap_or("kernel"), None, row, offset, args);
}

fn graph(reader: &mut Reader<'_>, row: &Row<'_>, offset: u64) {
    let name = row.integer(OWN).map_or_else(|| "CUDA graph".to_owned(), |graph| format!("CUDA graph {graph}"));
    on_device(reader, Sort::Kernel, &name, None, row, offset, |_| Vec::new());
}

/// What CUPTI numbers its kinds of memory by.
const MEMORY: [&str; 5] = ["Pageable", "Pinned", "Device", "Array", "Managed"];

fn copy(reader: &mut Reader<'_>, row: &Row<'_>, offset: u64) {
    let (way, direction) = match row.integer(OWN + 1) {
        Some(1) => ("HtoD", CopyDirection::HostToDevice),
        Some(2) => ("DtoH", CopyDirection::DeviceToHost),
        Some(3) => ("HtoA", CopyDirection::HostToDevice),
        Some(4) => ("AtoH", CopyDirection::DeviceToHost),
        Some(5..=8) => ("DtoD", CopyDirection::DeviceToDevice),
        Some(9) => ("HtoH", CopyDirection::Other),
        Some(10) => ("PtoP", CopyDirection::PeerToPeer),
        _ => ("unknown", CopyDirection::Other),
    };
    let memory = |at| row.integer(at).and_then(|kind| MEMORY.get(usize::try_from(kind).ok()?));
    let name = match (memory(OWN + 2), memory(OWN + 3)) {
        (Some(from), Some(to)) => format!("Memcpy {way} ({from} -> {to})"),
        _ => format!("Memcpy {way}"),
    };
    on_device(reader, Sort::Copy(direction), &name, row.size(OWN), row, offset, |_| Vec::new());
}

fn fill(reader: &mut Reader<'_>, row: &Row<'_>, offset: u64) {
    on_device(reader, Sort::Fill, "Memset", row.size(OWN), row, offset, |_| Vec::new());
}

fn sync(reader: &mut Reader<'_>, row: &Row<'_>, offset: u64) {
    let name = match row.integer(OWN) {
        Some(1) => "Event Sync",
        Some(2) => "Stream Wait Event",
        Some(3) => "Stream Sync",
        Some(4) => "Context Sync",
        _ => "Sync",
    };
    let event = [row.integer(OWN + 2), row.integer(OWN + 3)];
    let of_event = matches!(row.integer(OWN), Some(1 | 2));
    let call = row.id(3).filter(|_| of_event);
    let awaited = call.map(|call| reader.events.awaited((row.integer(2), row.integer(OWN + 1)), call, event));
    let awaited = awaited.filter(|awaited| !awaited.is_empty());
    let args = |process: &mut Activities| {
        let named = awaited.map(|awaited| [(WAITS_FOR, awaited.stream.map(u64::from)), (RECORDED_BY, awaited.recorded_by)]);
        let strings = &mut process.trace().strings;
        let named = named.into_iter().flatten().filter_map(|(key, value)| Some((strings.intern(key), ArgValue::U64(value?))));
        named.collect()
    };
    let span = on_device(reader, Sort::Sync, name, None, row, offset, args);
    if let (Some(span), Some(awaited)) = (span, awaited) {
        reader.processes.of(row.integer(2)).0.trace().awaited.push(span, awaited);
    }
}

/// What torch's profiler calls what a wait is for.
const WAITS_FOR: &str = "wait_on_stream";
const RECORDED_BY: &str = "wait_on_cuda_event_record_corr_id";

fn on_device(
    reader: &mut Reader<'_>,
    sort: Sort,
    name: &str,
    bytes: Option<u64>,
    row: &Row<'_>,
    offset: u64,
    args: impl FnOnce(&mut Activities) -> Vec<(StrId, ArgValue)>,
) -> Option<SpanId> {
    let (start_ns, end_ns) = times(reader, row);
    let (process, _) = reader.processes.of(row.integer(2));
    let track = stream(process, row);
    let args = if process.keeps_args() { args(process) } else { Vec::new() };
    let name = process.trace().strings.intern(name);
    let activity = Activity { sort, name, track, start_ns, end_ns, correlation: row.id(3), external_id: None, bytes, offset };
    process.push(&activity, &args)
}

fn stream(process: &mut Activities, row: &Row<'_>) -> TrackId {
    // What CUPTI writes for no stream: waiting for a whole context.
    const NONE: i64 = u32::MAX as i64;
    let stream = row.integer(5).map_or(0, |stream| if stream == NONE { -1 } else { stream });
    process.stream(row.integer(4).unwrap_or(0), stream)
}

/// A range or mark of NVTX. Its sorts that name things (domains, categories, threads) are no events.
fn range(reader: &mut Reader<'_>, row: &Row<'_>, offset: u64) {
    const MARK: i64 = 34;
    const PUSH_POP: i64 = 59;
    const START_END: i64 = 60;
    const NAMING: [i64; 4] = [33, 39, 75, 76];
    let kind = row.integer(3);
    let is_known = matches!(kind, Some(MARK | PUSH_POP | START_END));
    if !is_known {
        if !kind.is_some_and(|kind| NAMING.contains(&kind)) {
            reader.problems.add_detailed(ProblemKind::Unsupported, offset, 1, "an unknown sort of NVTX event".to_owned());
        }
        return;
    }
    let (start_ns, end_ns) = times(reader, row);
    let text = row.text(4).or_else(|| row.integer(5).and_then(|id| reader.strings.get(&id)).cloned());
    let global = row.integer(2);
    let (process, pid) = reader.processes.of(global);
    let name = process.trace().strings.intern(text.as_deref().unwrap_or("range"));
    let track = if kind == Some(START_END) { process.async_ranges(pid) } else { process.thread(pid, tid(global)) };
    if kind == Some(MARK) {
        return process.mark(name, track, start_ns, offset);
    }
    let sort = Sort::Range;
    let activity = Activity { sort, name, track, start_ns, end_ns, correlation: None, external_id: None, bytes: None, offset };
    process.push(&activity, &[]);
}
