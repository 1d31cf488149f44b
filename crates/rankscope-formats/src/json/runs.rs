//! Several ranks in one Chrome JSON, in order of time, without holding more than one of them.
//!
//! Each rank is first written as a *run*: its events as finished text, sorted, each behind its time. [`merge`] then takes from
//! all runs always the earliest event, so it holds one event and one small buffer a rank. Files of this kind have no field for
//! the rank, so what has to be unique in a file is given anew by [`Numbers`]: process ids and ids of flows.
//!
//! A run is private to this program and lives for one command: a record is its time and its length, 8 and 4 bytes little-endian,
//! and the text.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read, Write};

use rankscope_time::Rank;
use rankscope_trace::{SpanId, StrId, Trace, TrackId, TrackKey, TrackKind};
use rustc_hash::FxHashMap;

use super::write::{Writer, quote};
use crate::Error;

/// What has been given away of the file's numbers.
///
/// Rank `r`'s processes and devices are numbered from `1000 r` on, processes first; a rank that has a thousand or more moves
/// those behind it to the next thousand. Flows are numbered from 1 in the order they come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers {
    next_pid: u64,
    flows: u64,
}

/// Process ids that are set aside for a rank.
const PIDS: u64 = 1000;

/// Writes the events of one rank as a run, its stamps relative to `base_ns`, and returns how many there are, names of tracks
/// not counted.
///
/// # Errors
/// [`Error::Io`] where `output` fails.
pub fn write_run(
    trace: &Trace,
    rank: Rank,
    base_ns: i64,
    numbers: &mut Numbers,
    output: &mut impl Write,
) -> Result<u64, Error> {
    let mut text = Vec::new();
    let mut writer = Writer::with_base(trace, base_ns, &mut text);
    let pids = pids(trace, rank, numbers);
    for ((id, track), place) in trace.tracks.iter().zip(&mut writer.places) {
        place.0 = pids[&track.parent.unwrap_or(id)].to_string();
    }
    let start_ns = trace.bounds_ns().map_or(base_ns, |(start, _)| start);
    for (id, _) in trace.tracks.iter() {
        for (name, key, value) in names(trace, rank, id, &pids) {
            writer.naming(id, start_ns, name, key, &value)?;
            record(i64::MIN, writer.restart(), output)?;
        }
    }
    let mut flows: FxHashMap<(u64, u16, StrId), u64> = FxHashMap::default();
    let items = items(trace, |span| writer.is_async(span));
    for (time_ns, item) in &items {
        match *item {
            Item::Span(span) => writer.span(span)?,
            Item::AsyncEnd(span) => writer.async_end(span)?,
            Item::Instant(at) => writer.instant(at as usize)?,
            Item::Counter(at) => writer.counter(at as usize)?,
            Item::Flow(at) => {
                let point = &trace.flows[at as usize];
                let next = numbers.flows + flows.len() as u64 + 1;
                writer.flow(point, *flows.entry((point.id, point.category, point.name)).or_insert(next))?;
            }
        }
        record(*time_ns, writer.restart(), output)?;
    }
    numbers.flows += flows.len() as u64;
    Ok(items.len() as u64)
}

/// Writes the events of all `runs` in order of time, those of one time in the order of the runs. `header` is further members of
/// the file, key and JSON text. Returns how many events were written, names of tracks included.
///
/// # Errors
/// [`Error::Io`] where a run cannot be read or `output` fails.
pub fn merge(header: &[(&str, String)], base_ns: i64, runs: &mut [impl Read], output: &mut impl Write) -> Result<u64, Error> {
    write!(output, "{{\n  \"schemaVersion\": 1,\n")?;
    for (key, value) in header {
        writeln!(output, "  {}: {value},", quote(key))?;
    }
    if base_ns != 0 {
        writeln!(output, "  \"baseTimeNanoseconds\": {base_ns},")?;
    }
    write!(output, "  \"displayTimeUnit\": \"ms\",\n  \"traceEvents\": [")?;
    let mut texts = vec![Vec::new(); runs.len()];
    let mut heads = BinaryHeap::with_capacity(runs.len());
    for (at, run) in runs.iter_mut().enumerate() {
        heads.extend(next(run, &mut texts[at])?.map(|time_ns| Reverse((time_ns, at))));
    }
    let mut written = 0;
    while let Some(Reverse((_, at))) = heads.pop() {
        output.write_all(if written == 0 { b"" } else { b"," })?;
        output.write_all(&texts[at])?;
        written += 1;
        heads.extend(next(&mut runs[at], &mut texts[at])?.map(|time_ns| Reverse((time_ns, at))));
    }
    output.write_all(b"\n  ]\n}\n")?;
    Ok(written)
}

/// Appends the text that stands in `text` to a run, and takes it away.
fn record(time_ns: i64, text: &mut Vec<u8>, output: &mut impl Write) -> io::Result<()> {
    let len = u32::try_from(text.len()).map_err(|_| io::Error::other("an event of four gigabytes"))?;
    output.write_all(&time_ns.to_le_bytes())?;
    output.write_all(&len.to_le_bytes())?;
    output.write_all(text)?;
    text.clear();
    Ok(())
}

/// Puts the next event of a run into `text`; none at its end.
fn next(run: &mut impl Read, text: &mut Vec<u8>) -> io::Result<Option<i64>> {
    let mut time = [0; 8];
    if run.read(&mut time[..1])? == 0 {
        return Ok(None);
    }
    run.read_exact(&mut time[1..])?;
    let mut len = [0; 4];
    run.read_exact(&mut len)?;
    let len = u64::from(u32::from_le_bytes(len));
    text.clear();
    if run.take(len).read_to_end(text)? as u64 != len {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(i64::from_le_bytes(time)))
}

/// The process id of every process and device.
fn pids(trace: &Trace, rank: Rank, numbers: &mut Numbers) -> FxHashMap<TrackId, u64> {
    let first = numbers.next_pid.max(u64::from(rank.0) * PIDS);
    let mut roots: Vec<_> = trace.tracks.iter().filter(|(_, track)| track.parent.is_none()).collect();
    roots.sort_by_key(|(id, track)| (track.kind == TrackKind::Device, track.sort_index, *id));
    numbers.next_pid = (first + roots.len() as u64).next_multiple_of(PIDS).max(first + PIDS);
    roots.into_iter().zip(first..).map(|((id, _), pid)| (id, pid)).collect()
}

/// The metadata events of a track: name, key and value.
fn names(trace: &Trace, rank: Rank, id: TrackId, pids: &FxHashMap<TrackId, u64>) -> Vec<(&'static str, &'static str, String)> {
    let track = trace.tracks.get(id);
    let name = trace.strings.text(track.name);
    if track.parent.is_some() {
        let named = (!name.is_empty()).then(|| ("thread_name", "name", quote(name)));
        let sorted = track.sort_index.map(|index| ("thread_sort_index", "sort_index", index.to_string()));
        return named.into_iter().chain(sorted).collect();
    }
    let key = match track.key {
        TrackKey::Number(number) => number.to_string(),
        TrackKey::Text(text) => trace.strings.text(text).to_owned(),
    };
    let label = trace.strings.text(track.label);
    let (full, label) = match track.kind {
        TrackKind::Device => {
            (format!("rank {rank}: GPU {key}"), if label.is_empty() { format!("GPU {key}") } else { label.into() })
        }
        _ if name.is_empty() || name == key => (format!("rank {rank}: {key}"), label.into()),
        _ => (format!("rank {rank}: {name} ({key})"), label.into()),
    };
    let labels = if label.is_empty() { "CPU".to_owned() } else { label };
    vec![
        ("process_name", "name", quote(&full)),
        ("process_labels", "labels", quote(&labels)),
        ("process_sort_index", "sort_index", pids[&id].to_string()),
    ]
}

#[derive(Clone, Copy)]
enum Item {
    Span(SpanId),
    AsyncEnd(SpanId),
    Instant(u32),
    Counter(u32),
    Flow(u32),
}

/// All events in order of time; what encloses comes before what is enclosed, and spans before flows that hold on to them.
fn items(trace: &Trace, is_async: impl Fn(SpanId) -> bool) -> Vec<(i64, Item)> {
    let mut items: Vec<(i64, Item)> = Vec::with_capacity(trace.events());
    items.extend(trace.spans.ids().map(|span| (trace.spans.start_ns(span), Item::Span(span))));
    let asynchronous = trace.spans.ids().filter(|span| is_async(*span));
    items.extend(asynchronous.map(|span| (trace.spans.end_ns(span), Item::AsyncEnd(span))));
    items.extend((0..).zip(&trace.instants).map(|(at, mark)| (mark.time_ns, Item::Instant(at))));
    items.extend((0..).zip(&trace.counters).map(|(at, sample)| (sample.time_ns, Item::Counter(at))));
    items.extend((0..).zip(&trace.flows).map(|(at, point)| (point.time_ns, Item::Flow(at))));
    items.sort_by_key(|(time_ns, item)| match item {
        Item::Span(span) => (*time_ns, 0, Reverse(trace.spans.dur_ns[span.0 as usize])),
        Item::Instant(_) | Item::Counter(_) => (*time_ns, 1, Reverse(0)),
        Item::Flow(_) => (*time_ns, 2, Reverse(0)),
        Item::AsyncEnd(_) => (*time_ns, 3, Reverse(0)),
    });
    items
}

#[cfg(test)]
mod tests;
