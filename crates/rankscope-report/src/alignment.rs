//! The table of how every rank came on to one clock.

use rankscope_document::{AlignmentDocument, ClockMethod, RankAlignment};

use crate::Style;
use crate::terminal::{Sheet, Table, drawn, sentences};
use crate::text::{clean, shorten};
use crate::units::{duration, offset, or_absent};

/// The document as text.
pub fn alignment_terminal(document: &AlignmentDocument, style: Style) -> String {
    let sheet = Sheet::of(style);
    let title = shorten(&clean(&document.title), sheet.width() - 11);
    let mut lines = vec![format!("{}  {}", sheet.paint().dim("rankscope"), sheet.paint().bold(&title)), facts(document)];
    let notes = sentences(&document.notes, sheet);
    if !notes.is_empty() {
        lines.push(String::new());
        lines.extend(notes);
    }
    lines.push(String::new());
    let aside = format!("ahead of {} by this much; subtracted", document.reference);
    lines.push(sheet.heading("CLOCKS", &aside));
    lines.extend(drawn(&table(document), sheet));
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn facts(document: &AlignmentDocument) -> String {
    let method = match document.method {
        ClockMethod::Measured => "clocks measured by packets",
        ClockMethod::PartlyMeasured => "clocks measured for some ranks",
        ClockMethod::OneHost => "one host, one clock",
        ClockMethod::Collectives => "clocks estimated from the collectives (weaker than measured ones)",
        _ => "timestamps as recorded",
    };
    let events: u64 = document.ranks.iter().map(|rank| rank.events).sum();
    format!("{} ranks · {events} events · {method}", document.ranks.len())
}

fn table(document: &AlignmentDocument) -> Table {
    let header = ["rank", "node", "offset", "drift ppm", "guaranteed", "any stamp", "events", "extrapolated"];
    let mut table = Table::new(&header, 0);
    for rank in &document.ranks {
        table.push(vec![
            rank.rank.to_string(),
            or_absent(rank.node, |node| node.to_string()),
            if rank.applied { offset(rank.offset_ns) } else { "0".to_owned() },
            format!("{:+.3}", rank.drift_ppb as f64 / 1e3),
            guaranteed(rank),
            or_absent(rank.uncertainty_max_ns, |ns| format!("±{}", duration(ns as f64))),
            rank.events.to_string(),
            rank.extrapolated.iter().max().copied().unwrap_or(0).to_string(),
        ]);
    }
    table
}

/// The bound, as seen from what is subtracted.
fn guaranteed(rank: &RankAlignment) -> String {
    let seen_from = if rank.applied { rank.offset_ns } else { 0 };
    if rank.bound_lo_ns.is_none() && rank.bound_hi_ns.is_none() {
        return "nothing".to_owned();
    }
    let end = |bound: Option<i64>| or_absent(bound, |ns| signed(ns.saturating_sub(seen_from)));
    format!("{} .. {}", end(rank.bound_lo_ns), end(rank.bound_hi_ns))
}

fn signed(ns: i64) -> String {
    let text = duration(ns as f64);
    if ns > 0 { format!("+{text}") } else { text }
}
