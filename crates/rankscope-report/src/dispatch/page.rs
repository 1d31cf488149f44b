//! The plan as one page: load before and after, who sends to whom, and the longest documents as strips.
//!
//! Like the report it fetches nothing and scripts set text, never markup. Strips are cut to what can be read; the page says so.

use minijinja::context;
use rankscope_document::DispatchDocument;

use crate::Error;
use crate::html::embed;
use crate::html::page::Page;
use crate::text::clean;
use crate::units::{bytes, counted};

/// The document as a self-contained page.
///
/// # Errors
/// None that a document causes: only a defect in the compiled-in template.
pub fn dispatch_html(document: &DispatchDocument) -> Result<String, Error> {
    let mut shown = document.clone();
    shown.documents.truncate(STRIPS);
    let page = Page {
        template: include_str!("../../web/dispatch.html"),
        title: &document.title,
        version: &document.rankscope_version,
        facts: facts(document),
        notes: &document.notes,
        scripts: &SCRIPTS,
        document: embed::json(&shown),
        cuts: "{}".to_owned(),
    };
    page.render(context! {})
}

fn facts(document: &DispatchDocument) -> Vec<String> {
    let mut facts = vec![
        counted(document.ranks.len(), "rank"),
        counted(document.document_count as usize, "document"),
        counted(document.tokens as usize, "token"),
        format!("planner: {}", clean(&document.planner)),
        format!("{} move to another rank", bytes(document.moved_bytes)),
    ];
    facts.extend(document.eps.map(|eps| format!("at most {:.3} times the mean", 1.0 + eps)));
    facts
}

/// Documents drawn at most: more strips than this nobody compares.
const STRIPS: usize = 60;

const SCRIPTS: [&str; 9] = [
    include_str!("../../web/js/format.js"),
    include_str!("../../web/js/dom.js"),
    include_str!("../../web/js/table.js"),
    include_str!("../../web/js/canvas.js"),
    include_str!("../../web/js/ramp.js"),
    include_str!("../../web/js/loads.js"),
    include_str!("../../web/js/traffic.js"),
    include_str!("../../web/js/strips.js"),
    include_str!("../../web/js/dispatch.js"),
];
