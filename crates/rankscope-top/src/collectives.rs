//! Groups and their operations: how long ranks wait for the last, how long transfers take, who comes last, and what is not over.

use rankscope_document::{LiveMeetings, LiveOpen};
use rankscope_report::{bytes, duration};

use crate::column::{ABSENT, Column, Value};

/// Columns of one of the two lists.
macro_rules! columns {
    ($list:ident, $($first:expr),+) => {
        &[
            $($first,)+
            Column::figures("met", 4, Value::Count(|scene, at| Some(scene.document.$list[at].met.into()))),
            Column::figures("wait", 8, Value::Time(|scene, at| scene.document.$list[at].wait_ns)),
            Column::figures("transfer", 8, Value::Time(|scene, at| scene.document.$list[at].transfer_ns)),
            Column::words("mostly last", 11, Value::Shown {
                cell: |scene, at| last(&scene.document.$list[at]),
                by: |scene, at| scene.document.$list[at].last.map(|last| last.rank.into()),
            }),
            Column::rest("unfinished", Value::Shown {
                cell: |scene, at| open(&scene.document.$list[at]),
                by: |scene, at| scene.document.$list[at].open.as_ref().map(|open| open.age_ns),
            }),
        ]
    };
}

pub(crate) const BY_GROUP: &[Column] = columns!(
    groups,
    Column::words("group", 16, Value::Text(|scene, at| scene.document.groups[at].group.clone())),
    Column::figures("ranks", 5, Value::Count(|scene, at| Some(scene.document.groups[at].members.into())))
);

pub(crate) const BY_OPERATION: &[Column] = columns!(
    collectives,
    Column::words("operation", 14, Value::Text(|scene, at| scene.document.collectives[at].op.clone().unwrap_or_default())),
    Column::words("group", 10, Value::Text(|scene, at| scene.document.collectives[at].group.clone())),
    Column::figures(
        "size",
        8,
        Value::Shown {
            cell: |scene, at| scene.document.collectives[at].bytes.map_or_else(|| ABSENT.to_owned(), bytes),
            by: |scene, at| scene.document.collectives[at].bytes.and_then(|bytes| i64::try_from(bytes).ok()),
        }
    )
    .if_wide(90)
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
