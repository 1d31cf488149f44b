//! A sheet for each sort of operator that has a performance model, called as TraceLens calls it, with what the model was given as
//! `param: KEY` columns.

use rankscope_document::{PARAMS, Row, Rows, Value};

use super::figure::Figure::{self, Hundred, Json, Key, Mean};
use super::figure::{Line, lines};
use super::{keyed, leading};
use crate::Error;
use crate::book::{Book, Sheet};
use crate::column::{Column, Kind};

/// The table whose rows have models.
pub(super) const TABLE: &str = "unified_perf_summary";

/// The columns after the parameters.
const COLUMNS: &[(&str, Kind, Figure)] = &[
    ("GFLOPS_first", Kind::Giga, Key("flops")),
    ("Data Moved (MB)_first", Kind::MiB, Key("bytes")),
    ("FLOPS/Byte_first", Kind::Rate, Key("intensity")),
    ("TB/s_mean", Kind::Rate, Key("tb_per_s")),
    ("TB/s_median", Kind::Rate, Key("tb_per_s_median")),
    ("TB/s_min", Kind::Rate, Key("tb_per_s_min")),
    ("TB/s_max", Kind::Rate, Key("tb_per_s_max")),
    ("TFLOPS/s_mean", Kind::Rate, Key("tflops")),
    ("TFLOPS/s_median", Kind::Rate, Key("tflops_median")),
    ("TFLOPS/s_min", Kind::Rate, Key("tflops_min")),
    ("TFLOPS/s_max", Kind::Rate, Key("tflops_max")),
    ("process_name_first", Kind::Text(12), Key("process_name")),
    ("process_label_first", Kind::Text(12), Key("process_label")),
    ("thread_name_first", Kind::Text(24), Key("thread_name")),
    ("Compute Spec", Kind::Text(12), Key("compute_spec")),
    ("kernel_details__summarize_kernel_stats", Kind::Text(40), Json("kernels")),
    ("Input Dims_first", Kind::Text(40), Key("input_dims")),
    ("Input type_first", Kind::Text(30), Key("input_types")),
    ("Input Strides_first", Kind::Text(30), Key("input_strides")),
    ("Concrete Inputs_first", Kind::Text(30), Key("concrete_inputs")),
    ("Kernel Time (µs)_mean", Kind::Us, Mean("kernel_ns", "count")),
    ("Kernel Time (µs)_median", Kind::Us, Key("median_ns")),
    ("Kernel Time (µs)_std", Kind::Us, Key("std_ns")),
    ("Kernel Time (µs)_min", Kind::Us, Key("min_ns")),
    ("Kernel Time (µs)_max", Kind::Us, Key("max_ns")),
    ("Kernel Time (µs)_sum", Kind::Us, Key("kernel_ns")),
    ("name_count", Kind::Count, Key("count")),
    ("UID_first", Kind::Id, Key("example_event")),
    ("Roofline Bound", Kind::Text(12), Key("bound")),
    ("Roofline Time (µs)", Kind::Us, Mean("roofline_ns", "count")),
    ("Pct Roofline_mean", Kind::Bar, Hundred("roofline_share")),
    ("time that could be saved (ms)", Kind::Ms, Key("saved_ns")),
    ("op category", Kind::Text(16), Key("category")),
];

/// Adds the sheets for what `rows` have models of.
pub(super) fn add(book: &mut Book, rows: &Rows, total: &dyn Fn(Option<u32>) -> f64, shows_rank: bool) -> Result<(), Error> {
    let (Some(model), Some(name)) = (rows.column("model"), rows.column("name")) else { return Ok(()) };
    fn named(row: &Row, model: usize, name: usize) -> Option<&str> {
        Some(sheet_name(row.values[model].text()?, row.values[name].text().unwrap_or("")))
    }
    let mut sheets: Vec<&str> = Vec::new();
    for sheet in rows.rows.iter().filter_map(|row| named(row, model, name)) {
        if !sheets.contains(&sheet) {
            sheets.push(sheet);
        }
    }
    sheets.sort();
    for sheet in sheets {
        let lines = lines(rows, total, |row| named(row, model, name) == Some(sheet));
        let mut columns = leading(shows_rank);
        columns.extend(Key("name").column("name", Kind::Text(40), rows, &lines));
        columns.extend(params(rows, &lines));
        columns.extend(COLUMNS.iter().filter_map(|(header, kind, figure)| figure.column(header, *kind, rows, &lines)));
        let is_named =
            |key: &str| ["name", "model"].contains(&key) || COLUMNS.iter().any(|(_, _, figure)| figure.shows() == Some(key));
        columns.extend(keyed::columns(rows, &lines, is_named));
        book.add(Sheet { name: sheet.to_owned(), about: "Operators with a performance model of this sort: what they were given, what they achieved, what could be saved", columns, rows: lines })?;
    }
    Ok(())
}

/// TraceLens' name for the sheet of `model`; softmax, which is among its reductions, goes by the operator's `name`.
fn sheet_name<'a>(model: &'a str, name: &str) -> &'a str {
    match model {
        "gemm" | "grouped_gemm" => "GEMM",
        "conv_fwd" => "CONV_fwd",
        "conv_bwd" => "CONV_bwd",
        "attention_fwd" => "SDPA_fwd",
        "attention_bwd" => "SDPA_bwd",
        "norm_fwd" | "norm_bwd" => "Normalization",
        "unary" => "UnaryElementwise",
        "binary" => "BinaryElementwise",
        "softmax" if name.contains("backward") => "Reduce_bwd",
        "reduce" | "softmax" => "Reduce_fwd",
        other => other,
    }
}

/// A column for each parameter that any of `lines` has.
fn params<'a>(rows: &Rows, lines: &[Line<'a>]) -> Vec<Column<'a, Line<'a>>> {
    let Some(at) = rows.column(PARAMS) else { return Vec::new() };
    let mut keys: Vec<&str> = Vec::new();
    for line in lines {
        let Value::Object(params) = &line.row.values[at] else { continue };
        for (key, _) in params {
            if !keys.contains(&key.as_str()) {
                keys.push(key);
            }
        }
    }
    keys.into_iter().map(|key| keyed::param(key, at, lines)).collect()
}
