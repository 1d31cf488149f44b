//! Ranks: who comes late by its own work, how sure that is, what others wait for it, and what it is in.

use rankscope_document::{LiveCollective, LiveRank};
use rankscope_report::duration;

use crate::column::{ABSENT, Column, Value, part_of_step};
use crate::scene::Scene;
use crate::trend::bars;

/// Bars of a trend.
const TREND: u16 = 16;

pub(crate) const COLUMNS: &[Column] = &[
    Column::figures("rank", 6, Value::Shown { cell: number, by: |scene, at| Some(of(scene, at).rank.into()) }),
    Column::words("host", 14, Value::Text(|scene, at| scene.host(of(scene, at).node)))
        .if_wide(100)
        .if_known(|scene| scene.document.ranks.iter().any(|rank| rank.node.is_some())),
    Column::figures("step", 7, Value::Count(|scene, at| of(scene, at).step)),
    Column::figures("late by", 8, Value::Time(|scene, at| of(scene, at).lateness_ns)),
    Column::figures("clocks", 9, Value::Error(|scene, at| of(scene, at).clock_error_ns)),
    Column::figures("caused", 8, Value::Time(|scene, at| of(scene, at).caused_wait_ns)),
    Column::figures(
        "exposed",
        7,
        Value::Shown {
            cell: |scene, at| part_of_step(of(scene, at).exposed_comm_ns, scene.document.step_ns),
            by: |scene, at| of(scene, at).exposed_comm_ns,
        },
    )
    .if_known(|scene| scene.document.ranks.iter().any(|rank| rank.exposed_comm_ns.is_some())),
    Column::figures(
        "inside",
        7,
        Value::Shown {
            cell: |scene, at| part_of_step(of(scene, at).collective_ns, scene.document.step_ns),
            by: |scene, at| of(scene, at).collective_ns,
        },
    )
    .if_wide(90),
    Column::figures("moved", 8, Value::Time(|scene, at| Some(of(scene, at).progress_age_ns))),
    Column::words(
        "trend",
        TREND,
        Value::Shown {
            cell: |scene, at| bars(scene.trends.lateness_ns(of(scene, at).rank), usize::from(TREND)),
            by: |scene, at| of(scene, at).lateness_ns,
        },
    )
    .if_wide(120),
    Column::rest(
        "is in",
        Value::Shown {
            cell: |scene, at| doing(of(scene, at)).unwrap_or_default(),
            by: |scene, at| of(scene, at).open.as_ref().map(|open| open.age_ns).or(of(scene, at).phase_age_ns),
        },
    ),
];

/// With a mark where there is an alarm about it.
fn number(scene: &Scene, at: usize) -> String {
    let rank = of(scene, at).rank;
    if scene.is_alarmed(rank) { format!("!{rank}") } else { rank.to_string() }
}

fn of(scene: &Scene, at: usize) -> &LiveRank {
    &scene.document.ranks[at]
}

/// The collective that a rank is in, and the phase that it marks.
pub(crate) fn doing(rank: &LiveRank) -> Option<String> {
    match (&rank.open, phase(rank)) {
        (Some(open), Some(phase)) => Some(format!("{}; {phase}", is_in(open))),
        (Some(open), None) => Some(is_in(open)),
        (None, phase) => phase,
    }
}

/// The phase that it marks; that it trains goes without saying.
pub(crate) fn phase(rank: &LiveRank) -> Option<String> {
    let phase = rank.phase.as_deref().filter(|phase| *phase != "training")?;
    Some(format!("{} in {phase}", duration(rank.phase_age_ns.unwrap_or(0) as f64)))
}

/// Age first: it is what is looked for, and what is behind may be cut.
pub(crate) fn is_in(open: &LiveCollective) -> String {
    let LiveCollective { group, seq, op, age_ns, .. } = open;
    format!("{} in {op} {seq} of {group}", duration(*age_ns as f64))
}

/// What it is called, whatever it is in.
pub(crate) fn key(rank: u32) -> String {
    format!("rank {rank}")
}

pub(crate) fn label(scene: &Scene, at: usize) -> String {
    let rank = of(scene, at);
    let open = rank.open.as_ref().map(|open| format!("{} {}", open.op, open.group)).unwrap_or_default();
    format!("{} {} {open}", key(rank.rank), scene.host(rank.node))
}

/// What a rank's clock error leaves of its lateness, in a word.
pub(crate) fn verdict(rank: &LiveRank) -> &'static str {
    match (rank.lateness_ns, rank.clock_error_ns) {
        (Some(late_ns), Some(error_ns)) if late_ns > error_ns => "late beyond what clocks may be off",
        (Some(_), Some(_)) => "not late beyond what clocks may be off",
        _ => ABSENT,
    }
}
