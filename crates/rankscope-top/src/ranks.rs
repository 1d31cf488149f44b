//! Ranks: who comes late by its own work, how sure that is, what others wait for it, and what it is in.

use rankscope_document::{LiveCollective, LiveRank};
use rankscope_report::duration;

use crate::column::{ABSENT, Align, Column, NARROW, Order, always, error, figure, part_of_step, time};
use crate::scene::Scene;
use crate::trend::bars;

/// Bars of a trend.
const TREND: u16 = 16;

pub(crate) const COLUMNS: &[Column] = &[
    Column {
        head: "rank",
        width: Some(6),
        align: Align::Right,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| {
            let rank = of(scene, at).rank;
            if scene.is_alarmed(rank) { format!("!{rank}") } else { rank.to_string() }
        },
        order: |scene, at| Order::Number(Some(i64::from(of(scene, at).rank))),
    },
    Column {
        head: "host",
        width: Some(14),
        align: Align::Left,
        from_width: 100,
        is_known: |scene| scene.document.ranks.iter().any(|rank| rank.node.is_some()),
        cell: |scene, at| scene.host(of(scene, at).node),
        order: |scene, at| Order::Text(scene.host(of(scene, at).node)),
    },
    Column {
        head: "step",
        width: Some(7),
        align: Align::Right,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| figure(of(scene, at).step),
        order: |scene, at| Order::Number(of(scene, at).step),
    },
    Column {
        head: "late by",
        width: Some(8),
        align: Align::Right,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| time(of(scene, at).lateness_ns),
        order: |scene, at| Order::Number(of(scene, at).lateness_ns),
    },
    Column {
        head: "clocks",
        width: Some(9),
        align: Align::Right,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| error(of(scene, at).clock_error_ns),
        order: |scene, at| Order::Number(of(scene, at).clock_error_ns),
    },
    Column {
        head: "caused",
        width: Some(8),
        align: Align::Right,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| time(of(scene, at).caused_wait_ns),
        order: |scene, at| Order::Number(of(scene, at).caused_wait_ns),
    },
    Column {
        head: "exposed",
        width: Some(7),
        align: Align::Right,
        from_width: NARROW,
        is_known: |scene| scene.document.ranks.iter().any(|rank| rank.exposed_comm_ns.is_some()),
        cell: |scene, at| part_of_step(of(scene, at).exposed_comm_ns, scene.document.step_ns),
        order: |scene, at| Order::Number(of(scene, at).exposed_comm_ns),
    },
    Column {
        head: "inside",
        width: Some(7),
        align: Align::Right,
        from_width: 90,
        is_known: always,
        cell: |scene, at| part_of_step(of(scene, at).collective_ns, scene.document.step_ns),
        order: |scene, at| Order::Number(of(scene, at).collective_ns),
    },
    Column {
        head: "moved",
        width: Some(8),
        align: Align::Right,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| duration(of(scene, at).progress_age_ns as f64),
        order: |scene, at| Order::Number(Some(of(scene, at).progress_age_ns)),
    },
    Column {
        head: "trend",
        width: Some(TREND),
        align: Align::Left,
        from_width: 120,
        is_known: always,
        cell: |scene, at| bars(scene.trends.lateness_ns(of(scene, at).rank), usize::from(TREND)),
        order: |scene, at| Order::Number(of(scene, at).lateness_ns),
    },
    Column {
        head: "is in",
        width: None,
        align: Align::Left,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| of(scene, at).open.as_ref().map(is_in).unwrap_or_default(),
        order: |scene, at| Order::Number(of(scene, at).open.as_ref().map(|open| open.age_ns)),
    },
];

fn of(scene: &Scene, at: usize) -> &LiveRank {
    &scene.document.ranks[at]
}

/// Age first: it is what is looked for, and what is behind may be cut.
pub(crate) fn is_in(open: &LiveCollective) -> String {
    let LiveCollective { group, seq, op, age_ns, .. } = open;
    format!("{} in {op} {seq} of {group}", duration(*age_ns as f64))
}

pub(crate) fn label(scene: &Scene, at: usize) -> String {
    let rank = of(scene, at);
    let open = rank.open.as_ref().map(|open| format!("{} {}", open.op, open.group)).unwrap_or_default();
    format!("rank {} {} {open}", rank.rank, scene.host(rank.node))
}

/// The rank that `label` is of.
pub(crate) fn of_label(label: &str) -> Option<u32> {
    label.strip_prefix("rank ")?.split(' ').next()?.parse().ok()
}

/// What a rank's clock error leaves of its lateness, in a word.
pub(crate) fn verdict(rank: &LiveRank) -> &'static str {
    match (rank.lateness_ns, rank.clock_error_ns) {
        (Some(late_ns), Some(error_ns)) if late_ns > error_ns => "late beyond what clocks may be off",
        (Some(_), Some(_)) => "not late beyond what clocks may be off",
        _ => ABSENT,
    }
}
