//! The collectives that cost most, by the time nothing hid.

use std::cmp::Reverse;

use rankscope_document::{CollectiveGroup, Document, WaitsFor, spelling};

use super::Sheet;
use super::table::{Table, beside};
use crate::text::{clean, shorten};
use crate::units::{bytes, duration, of, or_absent, rate};

pub(super) fn draw(document: &Document, sheet: Sheet) -> Vec<String> {
    let mut groups: Vec<&CollectiveGroup> = document.collectives.groups.iter().collect();
    if groups.is_empty() {
        return Vec::new();
    }
    groups.sort_by_key(|group| (Reverse(group.exposed_ns), Reverse(group.count)));
    let shown = &groups[..groups.len().min(MOST)];
    let aside = if groups.len() > MOST {
        format!("most exposed first, {}; times are means, exposed is summed over ranks", of(MOST as u64, groups.len() as u64))
    } else {
        "most exposed first; times are means, exposed is summed over ranks".to_owned()
    };
    let mut lines = vec![sheet.heading("COLLECTIVES", &aside)];
    lines.extend(beside(&names(shown), &figures(shown), " ranks", sheet));
    lines
}

fn names(groups: &[&CollectiveGroup]) -> Table {
    let mut table = Table::new(&["name", "type", "size", "ranks"], 2);
    for group in groups {
        table.push(vec![
            shorten(&clean(spelling::collective(&group.name, group.kind.as_str())), LONGEST_NAME),
            shorten(&clean(&spelling::dtype(&group.dtype)), LONGEST_TYPE),
            or_absent(group.bytes, bytes),
            group.ranks.to_string(),
        ]);
    }
    table
}

fn figures(groups: &[&CollectiveGroup]) -> Table {
    let mut table = Table::new(&["matched", "transfer", "wait", "start skew", "bus bw", "exposed"], 0);
    for group in groups {
        table.push(vec![
            of(group.matched, group.count),
            or_absent(group.transfer_ns_mean, duration),
            wait(group),
            or_absent(group.start_skew_ns_mean, duration),
            or_absent(group.busbw_gbps_mean, rate),
            duration(group.exposed_ns as f64),
        ]);
    }
    table
}

/// The wait; where a root decides, a rank may have left before the others came, and waited no longer than this.
fn wait(group: &CollectiveGroup) -> String {
    let wait = or_absent(group.wait_ns_mean, duration);
    let is_at_most = group.waits_for == WaitsFor::Some && group.wait_ns_mean.is_some_and(|ns| ns > 0.0);
    if is_at_most { format!("\u{2264}{wait}") } else { wait }
}

/// Rows before the rest is for report.html.
const MOST: usize = 8;
const LONGEST_NAME: usize = 28;
const LONGEST_TYPE: usize = 12;
