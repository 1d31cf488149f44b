//! The clocks as one page: every node's offset against its own straight line, with its band.
//!
//! Like the report it fetches nothing. Points are handed to the scripts as columns, and thinned where a screen could not show
//! them all: steps and degraded rounds stay.

use rankscope_document::{ClockDocument, ClockPoint, NodeClock};
use serde::Serialize;

use crate::Error;
use crate::html::Cuts;
use crate::html::page::{Banner, Kind, Page, Section, plain_facts};
use crate::units::counted;

/// The document as a self-contained page.
///
/// # Errors
/// None that a document causes: only a defect in the compiled-in template.
pub fn clock_html(document: &ClockDocument) -> Result<String, Error> {
    let every = thinning(document);
    let nodes: Vec<Columns> = document.nodes.iter().map(|node| Columns::of(node, every)).collect();
    let drawn = nodes.iter().any(|node| !node.x.is_empty());
    let nothing = Banner { strong: "", text: "No node could be placed in any round, so there is nothing to draw." };
    let page = Page {
        kind: &CLOCKS,
        title: &document.title,
        version: &document.rankscope_version,
        facts: plain_facts(facts(document, every)),
        links: &[],
        notes: &document.notes,
        banner: (!drawn).then_some(nothing),
        drawn,
        document: &nodes,
        cuts: Cuts::default(),
    };
    page.render()
}

/// One node's points as columns: a third of the text that rows would take.
#[derive(Serialize)]
struct Columns {
    node: u32,
    unreachable: u32,
    round: Vec<u64>,
    x: Vec<f64>,
    offset: Vec<i64>,
    stray: Vec<i64>,
    /// From the offset.
    lo: Vec<Option<i64>>,
    hi: Vec<Option<i64>>,
    ppm: Vec<f64>,
    residual: Vec<f64>,
    /// Places of rounds that are degraded.
    degraded: Vec<usize>,
    /// Places of rounds before which the clock jumped.
    steps: Vec<usize>,
}

impl Columns {
    fn of(node: &NodeClock, every: usize) -> Self {
        let is_kept = |(index, point): &(usize, &ClockPoint)| index % every == 0 || point.degraded || point.step;
        let points: Vec<&ClockPoint> = node.points.iter().enumerate().filter(is_kept).map(|(_, point)| point).collect();
        let places = |is: fn(&ClockPoint) -> bool| (0..points.len()).filter(|at| is(points[*at])).collect();
        let beside = |point: &ClockPoint, bound: Option<i64>| bound.map(|bound| bound.saturating_sub(point.offset_ns));
        Self {
            node: node.node,
            unreachable: node.unreachable,
            round: points.iter().map(|point| point.round).collect(),
            x: points.iter().map(|point| point.elapsed_s).collect(),
            offset: points.iter().map(|point| point.offset_ns).collect(),
            stray: points.iter().map(|point| point.stray_ns).collect(),
            lo: points.iter().map(|point| beside(point, point.bound_lo_ns)).collect(),
            hi: points.iter().map(|point| beside(point, point.bound_hi_ns)).collect(),
            ppm: points.iter().map(|point| point.skew_ppb / 1e3).collect(),
            residual: points.iter().map(|point| point.residual_ns).collect(),
            degraded: places(|point| point.degraded),
            steps: places(|point| point.step),
        }
    }
}

/// One point in how many is drawn.
fn thinning(document: &ClockDocument) -> usize {
    let points: usize = document.nodes.iter().map(|node| node.points.len()).sum();
    points.div_ceil(POINTS).max(1)
}

/// About 8 MB of text.
const POINTS: usize = 100_000;

fn facts(document: &ClockDocument, every: usize) -> Vec<String> {
    let mut facts = vec![counted(document.nodes.len(), "node"), counted(document.rounds as usize, "round")];
    facts.extend(document.reference.map(|node| format!("against node {node}")));
    if every > 1 {
        facts.push(format!("one round in {every} is drawn, and every round that is degraded or follows a step"));
    }
    facts
}

const CLOCKS: Kind = Kind {
    name: "rankscope clocks",
    kicker: "rankscope clocks",
    sections: &[
        Section { id: "offsets", heading: "Offsets over time", link: "Offsets" },
        Section { id: "nodes", heading: "Nodes", link: "Nodes" },
    ],
    answers: false,
    tiles: false,
    no_findings: "",
    footer: "An offset is the node's clock minus the reference's; the band is what it can be at all.",
    series: true,
    script: include_str!(concat!(env!("OUT_DIR"), "/clock.js")),
};
