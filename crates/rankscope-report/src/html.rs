//! The report as one page: no network, no framework, opens from disk, mails, prints.
//!
//! The template renders what must be readable without scripts (title, facts, notes); the scripts draw the rest from what `shown.rs`
//! takes of the document, embedded as JSON. Files under `web/` are compiled in. The page's content security policy refuses every fetch, and
//! scripts set text, never markup, so that a hostile kernel name stays a name.
//!
//! Scripts lay out and compute no result. What they may show besides the document's own numbers, formatted: a part of a whole that
//! the document has as well, in percent or as a multiple; the least and the greatest of a list; how many entries a list has; and
//! the distance of a time from the first one drawn, or half the distance of two bounds. What a page needs beyond that, such as a
//! mean step or lateness beside the median rank, is computed in Rust and is in the page's document. What places and colours (ticks,
//! the ends of a colour scale, the height of a plot, the pause at which a line is interrupted) may be any function of the document,
//! quantiles included: it labels an axis at most, and is never put into a sentence or a table. `tests/page.rs` holds the pages to
//! this.

mod alike;
mod budget;
mod embed;
mod mean_step;
mod packed;
pub(crate) mod page;
mod shown;
mod step_map;
mod tables;

use std::collections::BTreeSet;

use crate::Error;
use crate::terminal::{clocks, windows};
use crate::text::{clean, rank_list};
use crate::units::{counted, duration, of};
pub(crate) use budget::{Cuts, keep};
pub(crate) use packed::Rows;
use page::{Banner, Fact, Kind, Page, Section};
use rankscope_document::{Clock, ClockMethod, ClockOffset, Document};
use shown::shown;

/// The document as a self-contained page.
///
/// Long lists are cut to what a browser draws with ease, most telling first; the page says what it left out.
///
/// # Errors
/// None that a document causes: only a defect in the compiled-in template.
pub fn html(document: &Document) -> Result<String, Error> {
    // Nothing is drawn of what is no training job.
    let drawn = !document.ranks.is_empty() && document.is_training();
    let tables = if drawn { tables::tables(document) } else { Vec::new() };
    let kind = if tables.is_empty() { &REPORT } else { &WITH_TABLES };
    let (shown, cuts) = drawn.then(|| shown(document, tables)).unzip();
    let page = Page {
        kind,
        title: &document.title,
        version: &document.rankscope_version,
        facts: facts(document),
        links: &[],
        notes: &document.notes,
        banner: banner(document),
        drawn,
        document: &shown,
        cuts: cuts.unwrap_or_default(),
    };
    page.render()
}

fn banner(document: &Document) -> Option<Banner> {
    if document.ranks.is_empty() {
        return Some(Banner { strong: "", text: "No trace could be read, so there is nothing to report." });
    }
    (document.is_training() && !document.device_activity).then_some(Banner {
        strong: "No device activity in these traces.",
        text: "Every time in this report is a host time: what operators and collective calls took on the CPU.",
    })
}

/// What was reported on, in a few words each.
fn facts(document: &Document) -> Vec<Fact> {
    let ranks = match document.world_size {
        Some(world) => format!("{} ranks", of(document.ranks.len() as u64, u64::from(world))),
        None => format!("{}, world size not recorded", counted(document.ranks.len(), "rank")),
    };
    let mut facts = vec![Fact::from(ranks)];
    if !document.missing_ranks.is_empty() {
        facts.push(format!("missing {}", rank_list(&document.missing_ranks, 8).replace('-', "–")).into());
    }
    if document.ranks.is_empty() {
        return facts;
    }
    facts.extend(steps(document).map(Fact::from));
    facts.extend(windows(&document.windows).map(Fact::from));
    facts.push(if document.device_activity { "device times" } else { "host times" }.to_owned().into());
    facts.push(clock_fact(&document.clock));
    if !document.classes.as_str().is_empty() {
        facts.push(format!("classes: {}", clean(document.classes.as_str())).into());
    }
    facts
}

/// The steps that any rank marks.
fn steps(document: &Document) -> Option<String> {
    let marked: BTreeSet<i64> = document.ranks.iter().flat_map(|rank| &rank.steps).map(|step| step.step).collect();
    let (first, last) = (marked.first()?, marked.last()?);
    let range = if first == last { format!("step {first}") } else { format!("{first} to {last}") };
    Some(if marked.len() < 2 { range } else { format!("{}, {range}", counted(marked.len(), "step")) })
}

/// What the times between ranks rest on, how wide the widest of its intervals is, and so how far it goes.
fn clock_fact(clock: &Clock) -> Fact {
    let half = |offset: &ClockOffset| Some(offset.hi_ns?.saturating_sub(offset.lo_ns?) / 2);
    let widest = clock.offsets.iter().filter_map(half).max().filter(|half| *half > 0);
    let within = widest.map(|half| format!(", within ±{}", duration(half as f64))).unwrap_or_default();
    let trust = match clock.method {
        ClockMethod::Measured | ClockMethod::OneHost => "sure",
        ClockMethod::PartlyMeasured => "fair",
        _ if clock.corrected => "fair",
        _ => "weak",
    };
    Fact { text: format!("{}{within}", clocks(clock)), trust: Some(trust) }
}

const TIME: Section = Section { id: "time", heading: "Where the time goes", link: "Time" };
const STRIP: Section = Section { id: "strip", heading: "Ranks in time", link: "Timeline" };
const STEPS: Section = Section { id: "steps", heading: "Steps", link: "Steps" };
const HELP: Section = Section { id: "help", heading: "What would help", link: "What would help" };
const WHY: Section = Section { id: "why", heading: "Why ranks were late", link: "Why" };
const PATH: Section = Section { id: "path", heading: "Critical path", link: "Critical path" };
const LATE: Section = Section { id: "late", heading: "Who is late", link: "Who is late" };
const COLLECTIVES: Section = Section { id: "collectives", heading: "Collectives", link: "Collectives" };
const LONGEST: Section = Section { id: "rank", heading: "Longest running", link: "Kernels" };
const TABLES: Section = Section { id: "tables", heading: "Tables", link: "Tables" };
const CLOCKS: Section = Section { id: "clocks", heading: "Clocks", link: "Clocks" };
const FILES: Section = Section { id: "files", heading: "Files", link: "Files" };

/// A report for whose tables somebody asked.
const WITH_TABLES: Kind =
    Kind { sections: &[STRIP, STEPS, TIME, LATE, WHY, HELP, PATH, COLLECTIVES, LONGEST, TABLES, CLOCKS, FILES], ..REPORT };

const REPORT: Kind = Kind {
    name: "rankscope",
    kicker: "rankscope report",
    sections: &[STRIP, STEPS, TIME, LATE, WHY, HELP, PATH, COLLECTIVES, LONGEST, CLOCKS, FILES],
    answers: true,
    tiles: false,
    no_findings: "Nothing stands out: the analysis has no finding about this run.",
    footer: "Rates are decimal (GB/s is 10⁹ bytes a second), sizes binary (KiB is 1024 bytes).",
    series: false,
    script: include_str!(concat!(env!("OUT_DIR"), "/report.js")),
};
