//! The plan as one page: load before and after, who sends to whom, and the longest documents as strips.
//!
//! Like the report it fetches nothing and scripts set text, never markup. Strips are cut to what can be read; the page says so.

use minijinja::{Environment, Value, context};

use super::DispatchDocument;
use crate::html::{embed, script};
use crate::text::clean;
use crate::units::{bytes, counted};
use crate::{Error, NoteLevel};

/// The document as a self-contained page.
///
/// # Errors
/// None that a document causes: only a defect in the compiled-in template.
pub fn dispatch_html(document: &DispatchDocument) -> Result<String, Error> {
    let mut environment = Environment::new();
    environment.add_template(TEMPLATE, include_str!("../../web/dispatch.html"))?;
    let notes =
        |level| document.notes.iter().filter(|note| note.level == level).map(|note| clean(&note.text)).collect::<Vec<_>>();
    let mut shown = document.clone();
    shown.documents.truncate(STRIPS);
    let text = environment.get_template(TEMPLATE)?.render(context! {
        title => clean(&document.title),
        version => document.rankscope_version.as_str(),
        facts => facts(document),
        findings => notes(NoteLevel::Finding),
        cautions => notes(NoteLevel::Caution),
        problems => notes(NoteLevel::Problem),
        css => Value::from_safe_string(include_str!("../../web/report.css").to_owned()),
        js => Value::from_safe_string(script(&SCRIPTS)),
        document => Value::from_safe_string(embed::json(&shown)),
    })?;
    Ok(text)
}

fn facts(document: &DispatchDocument) -> Vec<String> {
    let mut facts = vec![
        counted(document.ranks.len(), "rank"),
        counted(document.document_count as usize, "document"),
        counted(document.tokens as usize, "token"),
        format!("planner: {}", clean(&document.planner)),
        format!("{} leave their rank", bytes(document.moved_bytes)),
    ];
    facts.extend(document.eps.map(|eps| format!("at most {:.3} times the mean", 1.0 + eps)));
    facts
}

/// Documents drawn at most: more strips than this nobody compares.
const STRIPS: usize = 60;

/// Ends in `.html` so that the engine escapes what it inserts.
const TEMPLATE: &str = "dispatch.html";

const SCRIPTS: [&str; 8] = [
    include_str!("../../web/js/format.js"),
    include_str!("../../web/js/dom.js"),
    include_str!("../../web/js/table.js"),
    include_str!("../../web/js/ramp.js"),
    include_str!("../../web/js/loads.js"),
    include_str!("../../web/js/traffic.js"),
    include_str!("../../web/js/strips.js"),
    include_str!("../../web/js/dispatch.js"),
];
