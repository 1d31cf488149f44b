//! The history as one page: sparklines of every metric with its changes of level, and the latest run beside its level.

use rankscope_document::HistoryDocument;

use super::facts;
use crate::Error;
use crate::html::Cuts;
use crate::html::page::{Banner, Kind, Page, PageLink, Section, plain_facts};

/// The document as a self-contained page, with ways to the pages beside it.
///
/// # Errors
/// None that a document causes: only a defect in the compiled-in template.
pub fn history_html(document: &HistoryDocument, links: &[PageLink]) -> Result<String, Error> {
    let page = Page {
        kind: &HISTORY,
        title: &document.title,
        version: &document.rankscope_version,
        facts: plain_facts(vec![facts(document)]),
        links,
        notes: &document.notes,
        banner: document.metrics.is_empty().then_some(Banner { strong: "", text: "The latest run has no metric to follow." }),
        drawn: !document.metrics.is_empty(),
        document,
        cuts: Cuts::default(),
    };
    page.render()
}

const HISTORY: Kind = Kind {
    name: "rankscope history",
    kicker: "rankscope compare --history",
    sections: &[
        Section { id: "levels", heading: "Metrics over all runs", link: "Metrics" },
        Section { id: "changes", heading: "Changes of level", link: "Changes" },
        Section { id: "runs", heading: "Runs", link: "Runs" },
    ],
    answers: false,
    tiles: false,
    no_findings: "",
    footer: "A run's value is the median of its steps, warm-up left out. Differences are later minus earlier: a positive time takes longer.",
    series: false,
    script: include_str!(concat!(env!("OUT_DIR"), "/history.js")),
};
