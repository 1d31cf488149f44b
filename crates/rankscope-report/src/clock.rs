//! Where the clocks of all nodes stood over a run, drawn as tables and as a page.
//!
//! Offsets of seconds are drawn against each clock's own straight line, which the document gives; nothing is fitted here.

mod page;
mod tables;

pub use page::clock_html;
pub use tables::{ClockTables, clock_terminal};
