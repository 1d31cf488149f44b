//! The report as one page: no network, no framework, opens from disk, mails, prints.
//!
//! The template renders what must be readable without scripts (title, facts, notes); the scripts draw the rest from the
//! document embedded as JSON. Files under `web/` are compiled in. The page's content security policy refuses every fetch, and
//! scripts set text, never markup, so that a hostile kernel name stays a name.

mod budget;
pub(crate) mod embed;
pub(crate) mod page;

use minijinja::context;
use rankscope_document::Document;

use crate::Error;
use crate::terminal::{clocks, windows};
use crate::text::{clean, rank_list};
use crate::units::{counted, of};
use page::Page;

/// The document as a self-contained page.
///
/// Long lists are cut to what a browser draws with ease, most telling first; the page says what it left out.
///
/// # Errors
/// None that a document causes: only a defect in the compiled-in template.
pub fn html(document: &Document) -> Result<String, Error> {
    // Nothing is drawn of what is no training job.
    let notes_alone = (!document.is_training()).then(|| Document { ranks: Vec::new(), ..document.clone() });
    let (shown, cuts) = budget::fit(notes_alone.as_ref().unwrap_or(document));
    let page = Page {
        template: include_str!("../web/report.html"),
        title: &document.title,
        version: &document.rankscope_version,
        facts: facts(document),
        notes: &document.notes,
        scripts: &SCRIPTS,
        document: embed::json(&shown),
        cuts: embed::json(&cuts),
    };
    let (has_traces, device_activity) = (!document.ranks.is_empty(), document.device_activity);
    page.render(context! { has_traces, has_ranks => has_traces && notes_alone.is_none(), device_activity })
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
    facts.extend(windows(&document.windows));
    facts.push(if document.device_activity { "device times" } else { "host times" }.to_owned());
    facts.push(clocks(&document.clock).to_owned());
    if !document.classes.is_empty() {
        facts.push(format!("classes: {}", clean(&document.classes)));
    }
    facts
}

/// In order of use: `main.js` runs the others.
const SCRIPTS: [&str; 14] = [
    include_str!("../web/js/format.js"),
    include_str!("../web/js/dom.js"),
    include_str!("../web/js/table.js"),
    include_str!("../web/js/tiles.js"),
    include_str!("../web/js/time.js"),
    include_str!("../web/js/canvas.js"),
    include_str!("../web/js/ramp.js"),
    include_str!("../web/js/steps.js"),
    include_str!("../web/js/late.js"),
    include_str!("../web/js/collectives.js"),
    include_str!("../web/js/rank.js"),
    include_str!("../web/js/clocks.js"),
    include_str!("../web/js/files.js"),
    include_str!("../web/js/main.js"),
];
