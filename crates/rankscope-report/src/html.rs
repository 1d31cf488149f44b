//! The report as one page: no network, no framework, opens from disk, mails, prints.
//!
//! The template renders what must be readable without scripts (title, facts, notes); the scripts draw the rest from the
//! document embedded as JSON. Files under `web/` are compiled in. The page's content security policy refuses every fetch, and
//! scripts set text, never markup, so that a hostile kernel name stays a name.

mod budget;
pub(crate) mod embed;

use minijinja::{Environment, Value, context};

use crate::terminal::clocks;
use crate::text::{clean, rank_list};
use crate::units::{counted, of};
use crate::{Document, Error, NoteLevel};

/// The document as a self-contained page.
///
/// Long lists are cut to what a browser draws with ease, most telling first; the page says what it left out.
///
/// # Errors
/// None that a document causes: only a defect in the compiled-in template.
pub fn html(document: &Document) -> Result<String, Error> {
    let (page, cuts) = budget::fit(document);
    let mut environment = Environment::new();
    environment.add_template(TEMPLATE, include_str!("../web/report.html"))?;
    let notes = |level| texts(document, level);
    let text = environment.get_template(TEMPLATE)?.render(context! {
        title => clean(&document.title),
        version => document.rankscope_version.as_str(),
        facts => facts(document),
        findings => notes(NoteLevel::Finding),
        cautions => notes(NoteLevel::Caution),
        problems => notes(NoteLevel::Problem),
        has_ranks => !document.ranks.is_empty(),
        device_activity => document.device_activity,
        css => Value::from_safe_string(include_str!("../web/report.css").to_owned()),
        js => Value::from_safe_string(script(&SCRIPTS)),
        document => Value::from_safe_string(embed::json(&page)),
        cuts => Value::from_safe_string(embed::json(&cuts)),
    })?;
    Ok(text)
}

/// The sentences of one level.
fn texts(document: &Document, level: NoteLevel) -> Vec<String> {
    document.notes.iter().filter(|note| note.level == level).map(|note| clean(&note.text)).collect()
}

/// What was reported on, in a few words each.
fn facts(document: &Document) -> Vec<String> {
    let ranks = match document.world_size {
        Some(world) => format!("{} ranks", of(document.ranks.len() as u64, u64::from(world))),
        None => format!("{}, world size not recorded", counted(document.ranks.len(), "rank")),
    };
    let mut facts = vec![ranks];
    if !document.missing_ranks.is_empty() {
        facts.push(format!("missing {}", rank_list(&document.missing_ranks, 8).replace('-', "–")));
    }
    if document.ranks.is_empty() {
        return facts;
    }
    facts.push(if document.device_activity { "device times" } else { "host times" }.to_owned());
    facts.push(clocks(&document.clock).to_owned());
    if !document.classes.is_empty() {
        facts.push(format!("classes: {}", clean(&document.classes)));
    }
    facts
}

/// The scripts as one strict function: they share names with each other and leave none to the page.
pub(crate) fn script(parts: &[&str]) -> String {
    let mut script = String::from("(() => {\n\"use strict\";\n");
    for part in parts {
        script.push_str(part);
    }
    script.push_str("})();\n");
    script
}

/// Ends in `.html` so that the engine escapes what it inserts.
const TEMPLATE: &str = "report.html";

/// In order of use: `main.js` runs the others.
const SCRIPTS: [&str; 13] = [
    include_str!("../web/js/format.js"),
    include_str!("../web/js/dom.js"),
    include_str!("../web/js/table.js"),
    include_str!("../web/js/tiles.js"),
    include_str!("../web/js/time.js"),
    include_str!("../web/js/ramp.js"),
    include_str!("../web/js/steps.js"),
    include_str!("../web/js/late.js"),
    include_str!("../web/js/collectives.js"),
    include_str!("../web/js/rank.js"),
    include_str!("../web/js/clocks.js"),
    include_str!("../web/js/files.js"),
    include_str!("../web/js/main.js"),
];
