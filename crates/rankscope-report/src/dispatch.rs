//! A plan for context-parallel attention, drawn as a page. Nothing is planned or summed here: the caller fills in what the plan says.

mod page;

pub use page::dispatch_html;
