//! A network out of measurements: the document of `dispatch calibrate`.

use rankscope_dispatch::network::Level;
use rankscope_dispatch::network::calibrate::{Calibrated, Calibration, Errors, Samples};
use serde_json::{Value, json};

use crate::network;

/// Where the figures of a network come from that was calibrated with these files.
#[must_use]
pub fn source(files: &[(String, Samples)]) -> String {
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    format!("calibrated from {}", names.join(", "))
}

/// All of it: the files, what was fitted to them, and the network as its file has it.
#[must_use]
pub fn document(files: &[(String, Samples)], calibrated: &Calibrated) -> Value {
    json!({
        "schema": 1,
        "files": files.iter().map(file).collect::<Vec<_>>(),
        "levels": calibrated.levels.iter().map(level).collect::<Vec<_>>(),
        "network": network::value(&calibrated.network, source(files)),
    })
}

fn file((name, samples): &(String, Samples)) -> Value {
    json!({
        "file": name,
        "operation": samples.operation.as_str(),
        "ranks": samples.ranks,
        "hosts": samples.hosts,
        "rows": samples.rows.len(),
    })
}

fn level((level, fit): &(Level, Calibration)) -> Value {
    let outlier = fit.outliers.iter().map(|row| json!({"line": row.place, "size_bytes": row.size_bytes, "error": row.error}));
    json!({
        "level": level.as_str(),
        "base_ns": fit.base.as_nanos(),
        "alpha_ns": fit.cost.alpha.as_nanos(),
        "bytes_per_second": fit.cost.bytes_per_second,
        "bulk_bytes": fit.bulk_bytes,
        "fitted": errors(&fit.fitted),
        "held_out": fit.held_out.as_ref().map(errors),
        "held_out_small": fit.held_out_small.as_ref().map(errors),
        "outliers": outlier.collect::<Vec<_>>(),
    })
}

fn errors(errors: &Errors) -> Value {
    json!({"rows": errors.rows, "mean": errors.mean, "worst": errors.worst, "worst_line": errors.worst_place})
}
