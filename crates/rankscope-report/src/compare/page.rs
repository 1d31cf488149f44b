//! The comparison as one page: verdicts, what the change is made of, how steps are distributed, collectives, and aorta's plots.
//!
//! It fetches nothing. Every figure is one of the document; what each means is on the page, and figures link to it.

use rankscope_document::{CompareDocument, Convention, Note, NoteLevel};

use super::{pairs, runs_of, sentence, shown};
use crate::Error;
use crate::html::Cuts;
use crate::html::page::{Banner, Kind, Page, PageLink, Section, plain_facts};
use crate::units::counted;

/// The document as a self-contained page, with ways to the pages beside it.
///
/// # Errors
/// None that a document causes: only a defect in the compiled-in template.
pub fn compare_html(document: &CompareDocument, links: &[PageLink]) -> Result<String, Error> {
    let mut notes: Vec<Note> = pairs(document)
        .map(|pair| Note { level: NoteLevel::Finding, text: sentence::of_pair(pair, runs_of(document, pair)) })
        .collect();
    notes.extend(document.notes.iter().cloned());
    let fitting = shown::fitting(document);
    notes.extend(fitting.as_ref().map(|(_, all)| left_out(*all)));
    let drawn = !document.first.metrics.is_empty();
    let nothing = Banner { strong: "", text: "The sides have no metric in common, so there is nothing to draw." };
    let title = document.sides.iter().map(|side| side.label.as_str()).collect::<Vec<_>>().join(" / ");
    let page = Page {
        kind: if document.ranking.is_some() { &RANKED } else { &COMPARE },
        title: if title.is_empty() { "nothing" } else { &title },
        version: &document.rankscope_version,
        facts: plain_facts(facts(document)),
        links,
        notes: &notes,
        banner: (!drawn).then_some(nothing),
        drawn,
        document: fitting.as_ref().map_or(document, |(page, _)| page),
        cuts: Cuts::default(),
    };
    page.render()
}

/// That the page does not have all of `all` ranks.
fn left_out(all: usize) -> Note {
    let text = format!(
        "This page has figures of the {} ranks whose steps changed most, of {all}; compare.json has all.",
        shown::RANKS
    );
    Note { level: NoteLevel::Caution, text }
}

/// What is compared, in a few words each.
fn facts(document: &CompareDocument) -> Vec<String> {
    let side = |(index, side): (usize, &rankscope_document::ComparedSide)| {
        let role = if index == 0 { "base" } else { "test" };
        let counts = [counted(side.runs.len(), "run"), counted(side.ranks, "rank"), counted(side.steps, "step")];
        format!("{role} {}: {}", side.label, counts.join(", "))
    };
    let mut facts: Vec<String> = document.sides.iter().take(SIDES).enumerate().map(side).collect();
    let more = document.sides.len().saturating_sub(SIDES);
    if more > 0 {
        facts.push(format!("{} more", counted(more, "test")));
    }
    facts.push("differences are test minus base: a positive time takes longer".to_owned());
    if document.side_by_side.iter().any(|beside| beside.convention == Convention::Aorta) {
        facts.push("percentages of the plots have aorta's signs: positive is better".to_owned());
    }
    facts
}

/// Sides that the head of the page names.
const SIDES: usize = 6;

const VERDICTS: Section = Section { id: "verdicts", heading: "Verdicts", link: "Verdicts" };
const WATERFALL: Section = Section { id: "waterfall", heading: "What the change is made of", link: "Waterfall" };
const STRIPS: Section = Section { id: "strips", heading: "The same step of both", link: "Timeline" };
const RANKING: Section = Section { id: "ranking", heading: "Ranking", link: "Ranking" };
const DISTRIBUTIONS: Section = Section { id: "distributions", heading: "Steps and ranks", link: "Distributions" };
const COLLECTIVES: Section = Section { id: "collectives", heading: "Collectives", link: "Collectives" };
const STRUCTURE: Section = Section { id: "structure", heading: "Changes of structure", link: "Structure" };
const PLOTS: Section = Section { id: "plots", heading: "Side by side", link: "Plots" };
const METRICS: Section = Section { id: "metrics", heading: "All metrics", link: "Metrics" };
const DEFINITIONS: Section = Section { id: "definitions", heading: "How each figure is computed", link: "Definitions" };

/// A comparison of more than two sides.
const RANKED: Kind = Kind {
    sections: &[VERDICTS, WATERFALL, STRIPS, RANKING, DISTRIBUTIONS, COLLECTIVES, STRUCTURE, PLOTS, METRICS, DEFINITIONS],
    ..COMPARE
};

const COMPARE: Kind = Kind {
    name: "rankscope compare",
    kicker: "rankscope compare",
    sections: &[VERDICTS, WATERFALL, STRIPS, DISTRIBUTIONS, COLLECTIVES, STRUCTURE, PLOTS, METRICS, DEFINITIONS],
    answers: false,
    tiles: true,
    no_findings: "",
    footer: "Rates are decimal (GB/s is 10⁹ bytes a second). Colours go by verdicts and fixed limits, never by what else is on the page.",
    series: true,
    script: include_str!(concat!(env!("OUT_DIR"), "/compare.js")),
};
