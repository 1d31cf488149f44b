//! What an export costs: time, bytes on disk, and resident memory, of the recording and of the export.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use rankscope_record::{ExportFormat, Overflow, Session, SessionOptions, Storage};

use crate::{memory, ours};

/// Records `spans` spans into `storage` (`memory` or `file`), exports them in `format`, prints what it took.
pub fn run(format: &str, storage: &str, spans: u64) -> Result<()> {
    let (format, name) = match format {
        "native" => (ExportFormat::Native, "trace.rkr"),
        "kineto_json" => (ExportFormat::KinetoJson, "trace.json"),
        "perfetto" => (ExportFormat::Perfetto, "trace.pftrace"),
        _ => bail!("no format is called {format:?}"),
    };
    let folder = tempfile::tempdir()?;
    let storage = match storage {
        "memory" => Storage::Memory,
        "file" => Storage::File(folder.path().join("live.rks")),
        _ => bail!("no storage is called {storage:?}"),
    };
    // Room for a thousand million.
    let overflow = Overflow::Stop { max_bytes: 64 << 30 };
    let session = Session::start(SessionOptions::default().with_storage(storage).with_overflow(overflow))?;
    memory::forget_peak()?;
    let begun = Instant::now();
    ours::nested_spans(spans);
    let record_seconds = begun.elapsed().as_secs_f64();
    let record_peak_mb = memory::megabytes("VmHWM")?;
    let stopped = session.stop()?;
    let recorded: u64 = stopped.report.threads.iter().map(|thread| thread.spans).sum();

    let path = folder.path().join(name);
    memory::forget_peak()?;
    let begun = Instant::now();
    stopped.recorded.export(format, &path)?;
    let seconds = begun.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(&path).context("the export left no file")?.len();
    println!(
        "{}",
        serde_json::json!({
            "spans": recorded,
            "ns_per_event": seconds * 1e9 / recorded as f64,
            "bytes_per_event": bytes as f64 / recorded as f64,
            "live_bytes": stopped.report.bytes,
            "record_seconds": record_seconds,
            "record_peak_mb": record_peak_mb,
            "export_peak_mb": memory::megabytes("VmHWM")?,
        })
    );
    Ok(())
}
