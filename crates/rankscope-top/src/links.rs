//! Ways between hosts, as clock agents measured them last: round trips, losses, and what clocks are apart.

use rankscope_document::LiveLink;

use crate::column::{ABSENT, Column, Value};
use crate::scene::Scene;

pub(crate) const COLUMNS: &[Column] = &[
    Column::words(
        "from",
        14,
        Value::Shown {
            cell: |scene, at| scene.host(Some(of(scene, at).from)),
            by: |scene, at| Some(of(scene, at).from.into()),
        },
    ),
    Column::rest(
        "to",
        Value::Shown { cell: |scene, at| scene.host(Some(of(scene, at).to)), by: |scene, at| Some(of(scene, at).to.into()) },
    ),
    Column::figures("round trip", 11, Value::Time(|scene, at| of(scene, at).rtt_min_ns)),
    Column::figures("clock ahead", 11, Value::Time(|scene, at| of(scene, at).offset_ns)),
    Column::figures("off by", 9, Value::Error(|scene, at| of(scene, at).offset_error_ns)),
    Column::figures(
        "lost",
        8,
        Value::Shown { cell: |scene, at| lost(of(scene, at)), by: |scene, at| Some(of(scene, at).lost.into()) },
    ),
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
