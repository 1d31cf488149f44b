//! Draws what analysis found and computes nothing: a number that is not in the [`Document`](rankscope_document::Document) appears nowhere.
//!
//! The documents are the types of `rankscope-document`; `report.json`, the terminal summary and `report.html` are views of one of them.
//! The clocks of nodes over a run have a table and a page, so does a plan of who computes which piece of attention; how ranks were
//! put on one clock and what each name of span costs have a table.
//! Views format, scale, sort and leave out, and say so where they leave out. They touch no files: callers get strings.
//!
//! ```
//! use rankscope_document::Document;
//! use rankscope_report::{Style, duration, html, terminal};
//!
//! let document = Document { schema: 1, title: "a job".to_owned(), world_size: Some(8), ..Document::default() };
//! let text = terminal(&document, Style { color: false, width: 100 });
//! assert!(text.contains("a job") && !text.contains('\u{1b}'));
//!
//! let page = html(&document)?;
//! assert!(page.starts_with("<!doctype html>"));
//! assert_eq!(duration(1_234_567.0), "1.23 ms");
//! # Ok::<(), rankscope_report::Error>(())
//! ```

mod alignment;
mod clock;
mod compare;
mod dispatch;
mod doctor;
mod error;
mod hang;
mod history;
mod html;
mod json;
mod live;
mod markdown;
mod metrics;
pub mod plain;
mod snapshot;
mod spans;
mod tables;
mod terminal;
mod text;
mod units;
mod validation;
mod what_if;

pub use alignment::alignment_terminal;
pub use clock::{ClockTables, clock_html, clock_terminal};
pub use compare::{StructureRow, compare_html, comparison, junit, markdown, step_sentence, structure_rows};
pub use dispatch::dispatch_html;
pub use doctor::doctor_terminal;
pub use error::Error;
pub use hang::{hang_event_line, hang_terminal};
pub use history::{history, history_html};
pub use html::html;
pub use html::page::PageLink;
pub use json::{Layout, json, write_comparison, write_history, write_json};
pub use live::{alarm_line, live_terminal};
pub use markdown::report_markdown;
pub use metrics::{Figure, FigureKind, FigurePoint, FigureUnit, LiveCounts, live_figures, live_metrics};
pub use snapshot::snapshot_terminal;
pub use spans::spans_terminal;
pub use tables::{Lack, TableView, lacks, operators, table};
pub use terminal::{Style, columns, paragraph, terminal};
pub use text::steers;
pub use units::{bytes, duration, rate};
pub use validation::{validation_html, validation_sentences};
pub use what_if::what_if_terminal;
