//! What was reported on, and what is missing from it.

use super::Sheet;
use crate::text::{clean, rank_list, shorten, wrap};
use crate::units::{counted, of};
use crate::{Clock, Document};

pub(super) fn draw(document: &Document, sheet: Sheet) -> Vec<String> {
    let title = shorten(&clean(&document.title), sheet.width - 11);
    let mut lines = vec![format!("{}  {}", sheet.paint.dim("rankscope"), sheet.paint.bold(&title))];
    lines.extend(wrap(&facts(document).join(" · "), sheet.width));
    if document.ranks.is_empty() {
        lines.extend(["".to_owned(), NO_TRACE.to_owned()]);
    } else if !document.device_activity {
        lines.push(String::new());
        lines.extend(wrap(HOST_TIMES, sheet.width));
    }
    lines
}

fn facts(document: &Document) -> Vec<String> {
    let mut facts = vec![match document.world_size {
        Some(world) => format!("ranks {}", of(document.ranks.len() as u64, u64::from(world))),
        None => format!("{}, world size not recorded", counted(document.ranks.len(), "rank")),
    }];
    if !document.missing_ranks.is_empty() {
        facts.push(format!("missing {}", rank_list(&document.missing_ranks, 6)));
    }
    if document.ranks.is_empty() {
        return facts;
    }
    facts.push(if document.device_activity { "device times" } else { "host times" }.to_owned());
    facts.push(clocks(&document.clock).to_owned());
    if document.classes != "default" {
        facts.push(format!("classes {}", clean(&document.classes)));
    }
    facts
}

/// What the times between ranks rest on, in two words.
pub(crate) fn clocks(clock: &Clock) -> &'static str {
    match clock.method.as_str() {
        "measured" => "clocks measured",
        "partly_measured" => "clocks partly measured",
        "one_host" => "one clock",
        _ if clock.corrected => "clocks corrected",
        _ => "clocks as recorded",
    }
}

const NO_TRACE: &str = "No trace could be read, so there is nothing to report.";
const HOST_TIMES: &str =
    "No device activity in these traces: every time below is a host time, that of operators and calls on the CPU.";
