//! The spans of any program by name: `rankscope spans`, schema 1.
//!
//! Every time is integer nanoseconds; docs/how-to/spans.md says what each figure means. Keys are only ever added within a schema
//! number.

use serde::{Deserialize, Serialize};

use crate::{Format, Note, Problem, SpansBy, SpansSort};

/// Spans by name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SpansDocument {
    /// Version of this layout: 1.
    pub schema: u32,
    /// Version of the program that wrote it.
    pub rankscope_version: String,
    /// What was read, for headings: the input paths.
    pub title: String,
    /// What has rows of its own.
    pub by: SpansBy,
    /// What rows are sorted by.
    pub sort: SpansSort,
    /// What the reader should know.
    pub notes: Vec<Note>,
    /// The processes, a file each.
    pub processes: Vec<SpansProcess>,
    /// Spans of threads, in order.
    pub spans: Vec<SpansRow>,
    /// Rows of `spans` that were left out, as asked.
    pub spans_left_out: u64,
    /// Asynchronous spans, in order.
    pub async_spans: Vec<SpansRow>,
    /// Rows of `async_spans` that were left out, as asked.
    pub async_spans_left_out: u64,
}

/// One process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SpansProcess {
    /// What it is called in rows.
    pub name: String,
    /// Its file.
    pub file: String,
    /// The file's format.
    pub format: Format,
    /// Its rank, where anything says so.
    pub rank: Option<u32>,
    /// Its host, where the file says so.
    pub host: Option<String>,
    /// When its first span began, in nanoseconds since the Unix epoch.
    pub start_ns: i64,
    /// When its last span ended.
    pub end_ns: i64,
    /// Threads and streams with spans.
    pub threads: u64,
    /// Their spans.
    pub spans: u64,
    /// Asynchronous spans.
    pub async_spans: u64,
    /// Spans of either sort that have no end in the file.
    pub unfinished: u64,
    /// What was wrong with the file, and what the recorder dropped.
    pub problems: Vec<Problem>,
}

/// The figures of one name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SpansRow {
    /// The name.
    pub name: String,
    /// The category, as the file has it.
    pub category: String,
    /// The process, where rows are of one.
    pub process: Option<String>,
    /// The thread, where rows are of one; `null` for asynchronous spans.
    pub thread: Option<String>,
    /// How many there are.
    pub count: u64,
    /// How many of them have no end in the file.
    pub unfinished: u64,
    /// Sum of their lengths.
    pub total_ns: i64,
    /// Sum of the time in which no span inside them was open; `null` for asynchronous spans.
    pub self_ns: Option<i64>,
    /// Median length, by nearest rank.
    pub p50_ns: i64,
    /// 99th percentile, by nearest rank.
    pub p99_ns: i64,
    /// The longest.
    pub max_ns: i64,
    /// Threads they ran on; `null` for asynchronous spans.
    pub threads: Option<u64>,
}
