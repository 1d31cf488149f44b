//! The plan as one page: load before and after, who sends to whom, and the longest documents as strips.
//!
//! Like the report it fetches nothing and scripts set text, never markup. Strips are cut to what can be read; the page says so.

use rankscope_document::{DispatchDocument, DispatchedDocument};

use crate::Error;
use crate::html::Cuts;
use crate::html::page::{Kind, Page, Section, plain_facts};
use crate::text::clean;
use crate::units::{bytes, counted};

/// The document as a self-contained page.
///
/// # Errors
/// None that a document causes: only a defect in the compiled-in template.
pub fn dispatch_html(document: &DispatchDocument) -> Result<String, Error> {
    let mut shown = document.clone();
    shown.documents.truncate(drawn(document));
    let page = Page {
        kind: &PLAN,
        title: &document.title,
        version: &document.rankscope_version,
        facts: plain_facts(facts(document)),
        links: &[],
        notes: &document.notes,
        banner: None,
        drawn: true,
        document: &shown,
        cuts: Cuts::default(),
    };
    page.render()
}

/// How many of the documents fit: one at least, and those after it as long as there are strips.
fn drawn(document: &DispatchDocument) -> usize {
    let mut strips = 0;
    let fits = |one: &&DispatchedDocument| {
        strips += one.heads.len().max(1);
        strips <= STRIPS
    };
    document.documents.iter().take_while(fits).count().max(1)
}

fn facts(document: &DispatchDocument) -> Vec<String> {
    let mut facts = vec![
        counted(document.ranks.len(), "rank"),
        counted(document.document_count as usize, "document"),
        counted(document.tokens as usize, "token"),
        format!("planner: {}", clean(&document.planner)),
        format!("{} move to another rank", bytes(document.moved_bytes)),
    ];
    facts.extend((document.pass == "backward").then(|| "a backward pass".to_owned()));
    facts.extend(document.head_groups.map(|groups| format!("heads in {groups} groups")));
    facts.extend(document.eps.map(|eps| format!("at most {:.3} times the mean", 1.0 + eps)));
    facts
}

/// Strips drawn at most, one for each part of the heads of a document: more than this nobody compares.
const STRIPS: usize = 60;

const PLAN: Kind = Kind {
    name: "rankscope dispatch",
    kicker: "rankscope dispatch",
    sections: &[
        Section { id: "loads", heading: "Load before and after", link: "Load" },
        Section { id: "traffic", heading: "Who sends to whom", link: "Traffic" },
        Section { id: "strips", heading: "Where documents are computed", link: "Documents" },
        Section { id: "ranks", heading: "Ranks", link: "Ranks" },
    ],
    answers: false,
    tiles: false,
    no_findings: "",
    footer: "Before: every rank computes the attention of the tokens it holds. After: as planned.",
    series: false,
    script: include_str!(concat!(env!("OUT_DIR"), "/dispatch.js")),
};
