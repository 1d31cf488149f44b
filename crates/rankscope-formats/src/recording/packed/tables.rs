//! The small blocks: metadata, sessions, anchors, names, threads, losses, totals. Numbers are varints, texts stand behind their
//! length, and each block is a list of rows up to its end.

use super::super::varint::{put, put_signed, take, take_signed};
use super::super::{Anchor, ClockId, DropReason, NameId, Remark, SessionMark, Thread};
use super::columns::take_bytes;

/// A text behind its length.
fn put_text(to: &mut Vec<u8>, text: &str) {
    put(to, text.len() as u64);
    to.extend_from_slice(text.as_bytes());
}

fn take_text(from: &mut &[u8]) -> Option<String> {
    Some(String::from_utf8_lossy(take_bytes(from)?).into_owned())
}

fn take_u32(from: &mut &[u8]) -> Option<u32> {
    take(from).and_then(|number| u32::try_from(number).ok())
}

/// All rows of a block; `None` if one is malformed.
fn rows<T>(mut bytes: &[u8], row: impl Fn(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let mut rows = Vec::new();
    while !bytes.is_empty() {
        rows.push(row(&mut bytes)?);
    }
    Some(rows)
}

pub(super) fn meta(meta: &[(String, String)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (key, json) in meta {
        put_text(&mut block, key);
        put_text(&mut block, json);
    }
    block
}

pub(super) fn read_meta(bytes: &[u8]) -> Option<Vec<(String, String)>> {
    rows(bytes, |from| Some((take_text(from)?, take_text(from)?)))
}

/// Sessions: number, start, stop and one (zero for none), and how the categories changed.
pub(super) fn sessions(sessions: &[SessionMark]) -> Vec<u8> {
    let mut block = Vec::new();
    for session in sessions {
        put(&mut block, session.id);
        put(&mut block, session.start_tick);
        put(&mut block, session.stop_tick.map_or(0, |tick| tick.saturating_add(1)));
        put(&mut block, session.changes.len() as u64);
        for (tick, categories) in &session.changes {
            put(&mut block, *tick);
            put(&mut block, u64::from(*categories));
        }
    }
    block
}

/// Anchors: clock, ticks and nanoseconds since the row before, width.
pub(super) fn anchors(anchors: &[Anchor]) -> Vec<u8> {
    let mut block = Vec::new();
    let (mut tick, mut ns) = (0, 0);
    for anchor in anchors {
        put(&mut block, u64::from(anchor.clock.0));
        put_signed(&mut block, anchor.tick.wrapping_sub(tick) as i64);
        put_signed(&mut block, anchor.ns.wrapping_sub(ns));
        put(&mut block, anchor.width_ticks);
        (tick, ns) = (anchor.tick, anchor.ns);
    }
    block
}

pub(super) fn read_anchors(mut bytes: &[u8]) -> Option<Vec<Anchor>> {
    let mut anchors = Vec::new();
    let (mut tick, mut ns) = (0_u64, 0_i64);
    while !bytes.is_empty() {
        let clock = ClockId(take_u32(&mut bytes)?);
        tick = tick.wrapping_add(take_signed(&mut bytes)? as u64);
        ns = ns.wrapping_add(take_signed(&mut bytes)?);
        anchors.push(Anchor { clock, tick, ns, width_ticks: take(&mut bytes)? });
    }
    Some(anchors)
}

/// Names: the number of the first, and then category, scope and text of each.
pub(super) fn names<'a>(first: u32, names: impl Iterator<Item = (u8, u8, &'a str)>) -> Vec<u8> {
    let mut block = Vec::new();
    put(&mut block, u64::from(first));
    for (category, scope, text) in names {
        block.extend([category, scope]);
        put_text(&mut block, text);
    }
    block
}

/// Number, category and text.
pub(super) fn read_names(mut bytes: &[u8]) -> Option<Vec<(u32, u8, String)>> {
    let first = take_u32(&mut bytes)?;
    let names = rows(bytes, |from| {
        let ([category, _scope], rest) = from.split_first_chunk()?;
        let category = *category;
        *from = rest;
        Some((category, take_text(from)?))
    })?;
    let last = u64::from(first) + names.len() as u64;
    (last <= u64::from(NameId::MAX) + 1)
        .then(|| names.into_iter().zip(first..).map(|((category, text), number)| (number, category, text)).collect())
}

/// A thread: stream, number, name.
pub(super) fn thread(thread: &Thread) -> Vec<u8> {
    let mut block = Vec::new();
    put(&mut block, u64::from(thread.stream));
    put(&mut block, thread.tid);
    put_text(&mut block, &thread.name);
    block
}

pub(super) fn read_thread(mut bytes: &[u8]) -> Option<(u32, u64, String)> {
    Some((take_u32(&mut bytes)?, take(&mut bytes)?, take_text(&mut bytes)?))
}

/// Losses and remarks: reason, stream, how many; and, as reason zero, the chunks that could not be read.
pub(super) fn drops(drops: &[(DropReason, u32, u64)], remarks: &[(Remark, u32, u64)], lost_chunks: u32) -> Vec<u8> {
    let mut block = Vec::new();
    let drops = drops.iter().map(|(reason, stream, count)| (*reason as u64, *stream, *count));
    let remarks = remarks.iter().map(|(remark, stream, count)| (*remark as u64, *stream, *count));
    let lost = (lost_chunks > 0).then_some((0, 0, u64::from(lost_chunks)));
    for (reason, stream, count) in drops.chain(remarks).chain(lost) {
        put(&mut block, reason);
        put(&mut block, u64::from(stream));
        put(&mut block, count);
    }
    block
}

/// What was lost before it could be packed.
pub(super) struct Losses {
    /// Events, where the reason is known.
    pub(super) drops: Vec<(DropReason, u32, u64)>,
    pub(super) chunks: u64,
}

pub(super) fn read_drops(bytes: &[u8]) -> Option<Losses> {
    let rows = rows(bytes, |from| Some((take(from)?, take_u32(from)?, take(from)?)))?;
    let chunks = rows.iter().filter(|row| row.0 == 0).map(|row| row.2).fold(0, u64::saturating_add);
    let known = rows.into_iter().filter_map(|(reason, stream, count)| {
        let reason = DropReason::of(u32::try_from(reason).ok()?)?;
        Some((reason, stream, count))
    });
    Some(Losses { drops: known.collect(), chunks })
}

/// Totals: events, blocks of events.
pub(super) fn end(events: u64, blocks: u64) -> Vec<u8> {
    let mut block = Vec::new();
    put(&mut block, events);
    put(&mut block, blocks);
    block
}
