//! Groups and their operations: how long ranks wait for the last, how long transfers take, who comes last, and what is not over.

use rankscope_document::{LiveMeetings, LiveOpen};
use rankscope_report::{bytes, duration};

use crate::column::{ABSENT, Align, Column, NARROW, Order, always, time};

/// Columns of one of the two lists.
macro_rules! columns {
    ($list:ident, $($first:expr),+) => {
        &[
            $($first,)+
            Column {
                head: "met",
                width: Some(4),
                align: Align::Right,
                from_width: NARROW,
                is_known: always,
                cell: |scene, at| scene.document.$list[at].met.to_string(),
                order: |scene, at| Order::Number(Some(i64::from(scene.document.$list[at].met))),
            },
            Column {
                head: "wait",
                width: Some(8),
                align: Align::Right,
                from_width: NARROW,
                is_known: always,
                cell: |scene, at| time(scene.document.$list[at].wait_ns),
                order: |scene, at| Order::Number(scene.document.$list[at].wait_ns),
            },
            Column {
                head: "transfer",
                width: Some(8),
                align: Align::Right,
                from_width: NARROW,
                is_known: always,
                cell: |scene, at| time(scene.document.$list[at].transfer_ns),
                order: |scene, at| Order::Number(scene.document.$list[at].transfer_ns),
            },
            Column {
                head: "mostly last",
                width: Some(11),
                align: Align::Left,
                from_width: NARROW,
                is_known: always,
                cell: |scene, at| last(&scene.document.$list[at]),
                order: |scene, at| Order::Number(scene.document.$list[at].last.map(|last| i64::from(last.rank))),
            },
            Column {
                head: "unfinished",
                width: None,
                align: Align::Left,
                from_width: NARROW,
                is_known: always,
                cell: |scene, at| open(&scene.document.$list[at]),
                order: |scene, at| Order::Number(scene.document.$list[at].open.as_ref().map(|open| open.age_ns)),
            },
        ]
    };
}

pub(crate) const BY_GROUP: &[Column] = columns!(
    groups,
    Column {
        head: "group",
        width: Some(16),
        align: Align::Left,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| scene.document.groups[at].group.clone(),
        order: |scene, at| Order::Text(scene.document.groups[at].group.clone()),
    },
    Column {
        head: "ranks",
        width: Some(5),
        align: Align::Right,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| scene.document.groups[at].members.to_string(),
        order: |scene, at| Order::Number(Some(i64::from(scene.document.groups[at].members))),
    }
);

pub(crate) const BY_OPERATION: &[Column] = columns!(
    collectives,
    Column {
        head: "operation",
        width: Some(14),
        align: Align::Left,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| scene.document.collectives[at].op.clone().unwrap_or_default(),
        order: |scene, at| Order::Text(scene.document.collectives[at].op.clone().unwrap_or_default()),
    },
    Column {
        head: "group",
        width: Some(10),
        align: Align::Left,
        from_width: NARROW,
        is_known: always,
        cell: |scene, at| scene.document.collectives[at].group.clone(),
        order: |scene, at| Order::Text(scene.document.collectives[at].group.clone()),
    },
    Column {
        head: "size",
        width: Some(8),
        align: Align::Right,
        from_width: 90,
        is_known: always,
        cell: |scene, at| scene.document.collectives[at].bytes.map_or_else(|| ABSENT.to_owned(), bytes),
        order: |scene, at| Order::Number(scene.document.collectives[at].bytes.and_then(|bytes| i64::try_from(bytes).ok())),
    }
);

/// `rank 2, 9 of 10 times` would not fit.
fn last(met: &LiveMeetings) -> String {
    met.last.map_or_else(|| ABSENT.to_owned(), |last| format!("{} ({}/{})", last.rank, last.count, met.met))
}

/// Who is missing comes first: it is what is looked for, and what is behind may be cut.
fn open(met: &LiveMeetings) -> String {
    let Some(LiveOpen { seq, inside, age_ns, missing, missing_count, .. }) = &met.open else { return String::new() };
    let age = duration(*age_ns as f64);
    match (&missing[..], missing_count) {
        ([], _) => format!("{inside} of {} in {seq}, {age}", met.members),
        ([rank], _) => format!("rank {rank} missing, {age} in {seq}"),
        ([first, second], 2) => format!("ranks {first} and {second} missing, {age} in {seq}"),
        ([first, ..], count) => format!("rank {first} and {} more missing, {age} in {seq}", count.saturating_sub(1)),
    }
}

pub(crate) fn label(met: &LiveMeetings) -> String {
    format!("{} of {}", met.op.as_deref().unwrap_or("all"), met.group)
}
