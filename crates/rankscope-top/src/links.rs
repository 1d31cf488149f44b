//! Ways between hosts, as clock agents measured them last: round trips, losses, and what clocks are apart.

use rankscope_document::LiveLink;

use crate::column::{ABSENT, Align, Column, NARROW, Order, always, error, time};
use crate::scene::Scene;

pub(crate) const COLUMNS: &[Column] = &[
    Column {
        head: "from",
        width: Some(14),
        align: Align::Left,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| scene.host(Some(of(scene, at).from)),
        order: |scene, at| Order::Number(Some(i64::from(of(scene, at).from))),
    },
    Column {
        head: "to",
        width: None,
        align: Align::Left,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| scene.host(Some(of(scene, at).to)),
        order: |scene, at| Order::Number(Some(i64::from(of(scene, at).to))),
    },
    Column {
        head: "round trip",
        width: Some(11),
        align: Align::Right,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| time(of(scene, at).rtt_min_ns),
        order: |scene, at| Order::Number(of(scene, at).rtt_min_ns),
    },
    Column {
        head: "clock ahead",
        width: Some(11),
        align: Align::Right,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| time(of(scene, at).offset_ns),
        order: |scene, at| Order::Number(of(scene, at).offset_ns),
    },
    Column {
        head: "off by",
        width: Some(9),
        align: Align::Right,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| error(of(scene, at).offset_error_ns),
        order: |scene, at| Order::Number(of(scene, at).offset_error_ns),
    },
    Column {
        head: "lost",
        width: Some(8),
        align: Align::Right,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| lost(of(scene, at)),
        order: |scene, at| Order::Number(Some(i64::from(of(scene, at).lost))),
    },
];

fn of(scene: &Scene, at: usize) -> &LiveLink {
    &scene.document.links[at]
}

fn lost(link: &LiveLink) -> String {
    let sent = link.answered.saturating_add(link.lost);
    if sent == 0 { ABSENT.to_owned() } else { format!("{:.1} %", 100.0 * f64::from(link.lost) / f64::from(sent)) }
}

pub(crate) fn label(link: &LiveLink) -> String {
    format!("link {} {}", link.from, link.to)
}
