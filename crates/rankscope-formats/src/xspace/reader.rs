//! From the wire to a trace: planes one after the other, events and table entries one at a time.

use std::io::{self, BufRead};
use std::mem;

use rankscope_trace::{ProblemKind, Provenance, RankSource, SourceFormat, StrId, Strings, Trace, TrackId, TrackKind};

use super::cursor::{Cursor, END_OF_INPUT};
use super::host_clocks;
use super::plane::{RawLine, RawPlane, Store, utf8};
use super::schema::{self, line, plane, space};
use super::settle::{Findings, Settling};
use super::snapshots;
use crate::{ArgsPolicy, Error, NoEvents, ReadOptions, Scope};

/// Reads an `XSpace`.
///
/// # Errors
/// [`Error::Empty`] for no bytes, [`Error::NoEvents`] where no event could be read, [`Error::Io`] where `input` fails.
pub fn read(input: impl BufRead, options: &ReadOptions) -> Result<Trace, Error> {
    let mut reader = Reader {
        cursor: Cursor::new(input),
        trace: Trace::default(),
        findings: Findings::default(),
        keep_all: options.args == ArgsPolicy::All,
        scope: options.scope,
    };
    reader.space()?;
    reader.finish(options)
}

/// So many errors, warnings and host names are kept.
const NOTICES_MAX: usize = 10_000;

struct Reader<R> {
    cursor: Cursor<R>,
    trace: Trace,
    findings: Findings,
    keep_all: bool,
    scope: Scope,
}

impl<R: BufRead> Reader<R> {
    fn space(&mut self) -> io::Result<()> {
        while let Some(tag) = self.cursor.tag(END_OF_INPUT)? {
            match (tag.field, tag.wire) {
                (space::PLANES, 2) => {
                    if let Some(end) = self.cursor.enter(END_OF_INPUT)? {
                        self.plane(end)?;
                    }
                }
                (space::ERRORS | space::WARNINGS | space::HOSTNAMES, 2) => {
                    let at = self.cursor.offset();
                    if self.cursor.take(END_OF_INPUT)? {
                        self.notice(tag.field, at);
                    }
                }
                _ => self.cursor.skip(tag, END_OF_INPUT)?,
            }
        }
        Ok(())
    }

    fn notice(&mut self, field: u32, at: u64) {
        let text = utf8(&self.cursor.taken, at, &mut self.cursor.problems).into_owned();
        let provenance = &mut self.trace.provenance;
        let room = provenance.header.len() < NOTICES_MAX;
        for (_, key) in schema::NOTICES.iter().filter(|(known, _)| room && *known == field) {
            provenance.header.push(((*key).into(), serde_json::Value::from(&*text).to_string()));
        }
        if field == space::HOSTNAMES {
            provenance.host.get_or_insert(text);
        } else {
            self.cursor.problems.add_detailed(ProblemKind::ProfilerMessage, at, 1, text);
        }
    }

    fn plane(&mut self, end: u64) -> io::Result<()> {
        let (mut raw, mut scratch) = (RawPlane::default(), Strings::default());
        while let Some(tag) = self.cursor.tag(end)? {
            match (tag.field, tag.wire) {
                (plane::ID, 0) => raw.id = self.cursor.varint(end)?.unwrap_or(0) as i64,
                (plane::NAME, 2) => raw.name = self.name(end)?,
                (plane::LINES, 2) => {
                    if let Some(end) = self.cursor.enter(end)? {
                        self.line(&mut raw, &mut scratch, end)?;
                    }
                }
                (plane::EVENT_METADATA, 2) => self.part(&mut raw, &mut scratch, end, RawPlane::add_sort)?,
                (plane::STAT_METADATA, 2) => self.part(&mut raw, &mut scratch, end, RawPlane::add_stat_name)?,
                (plane::STATS, 2) => self.part(&mut raw, &mut scratch, end, RawPlane::add_stat)?,
                _ => self.cursor.skip(tag, end)?,
            }
        }
        raw.close();
        if self.trace.strings.text(raw.name) == schema::SNAPSHOT_PLANE {
            let clocks = snapshots::clocks(&raw, &self.trace.strings, &mut self.cursor.problems);
            self.trace.provenance.tracer_clocks.extend(clocks);
            return Ok(());
        }
        if self.trace.strings.text(raw.name) == schema::CLOCK_PLANE {
            self.host_clocks(&raw, &scratch);
            return Ok(());
        }
        Settling {
            trace: &mut self.trace,
            problems: &mut self.cursor.problems,
            findings: &mut self.findings,
            scratch: &scratch,
            keep_all: self.keep_all,
            scope: self.scope,
        }
        .settle(raw);
        Ok(())
    }

    fn host_clocks(&mut self, raw: &RawPlane, scratch: &Strings) {
        let Trace { strings, provenance, .. } = &mut self.trace;
        host_clocks::file(raw, strings, provenance, &mut self.findings, &mut self.cursor.problems);
        host_clocks::file_identities(raw, strings, if self.keep_all { strings } else { scratch }, provenance);
    }

    fn line(&mut self, raw: &mut RawPlane, scratch: &mut Strings, end: u64) -> io::Result<()> {
        let mut row = RawLine::default();
        while let Some(tag) = self.cursor.tag(end)? {
            let number = match tag.field {
                line::EVENTS if tag.wire == 2 => {
                    self.part(raw, scratch, end, RawPlane::add_event)?;
                    continue;
                }
                line::NAME if tag.wire == 2 => {
                    row.name = self.name(end)?;
                    continue;
                }
                line::DISPLAY_NAME if tag.wire == 2 => {
                    row.label = self.name(end)?;
                    continue;
                }
                line::ID => &mut row.id,
                line::TIMESTAMP_NS => &mut row.timestamp_ns,
                line::DURATION_PS => &mut row.duration_ps,
                line::DISPLAY_ID => &mut row.display_id,
                _ => {
                    self.cursor.skip(tag, end)?;
                    continue;
                }
            };
            match tag.wire {
                0 => *number = self.cursor.varint(end)?.unwrap_or(0) as i64,
                _ => self.cursor.skip(tag, end)?,
            }
        }
        row.events_end = raw.events.len();
        raw.lines.push(row);
        Ok(())
    }

    /// Takes the message that starts here and hands it to `add`.
    fn part(
        &mut self,
        raw: &mut RawPlane,
        scratch: &mut Strings,
        end: u64,
        add: impl FnOnce(&mut RawPlane, &[u8], u64, &mut Store<'_>),
    ) -> io::Result<()> {
        let at = self.cursor.offset();
        if self.cursor.take(end)? {
            let mut store = Store {
                strings: &mut self.trace.strings,
                scratch: (!self.keep_all).then_some(scratch),
                blobs: self.keep_all.then_some(&mut self.trace.blobs),
                problems: &mut self.cursor.problems,
            };
            add(raw, &self.cursor.taken, at, &mut store);
        }
        Ok(())
    }

    fn name(&mut self, end: u64) -> io::Result<StrId> {
        let at = self.cursor.offset();
        if !self.cursor.take(end)? {
            return Ok(StrId::EMPTY);
        }
        let text = utf8(&self.cursor.taken, at, &mut self.cursor.problems);
        Ok(self.trace.strings.intern(&text))
    }

    fn finish(mut self, options: &ReadOptions) -> Result<Trace, Error> {
        let bytes = self.cursor.offset();
        if bytes == 0 {
            return Err(Error::Empty);
        }
        if self.trace.events() == 0 && self.findings.passed_over == 0 {
            let first = self.cursor.problems.iter().next();
            let reason = first.map_or(NoEvents::NothingInIt, NoEvents::damaged);
            return Err(Error::NoEvents { offset: first.map_or(0, |problem| problem.offset), reason });
        }
        self.apply_clock_base();
        mem::take(&mut self.findings.flows).settle(&mut self.trace);
        snapshots::settle(&mut self.trace);
        host_clocks::settle(&mut self.trace);
        self.finish_columns();
        let (rank, world_size) = self.findings.process();
        let known = mem::take(&mut self.trace.provenance);
        self.trace.provenance = Provenance {
            file: options.label.clone(),
            format: SourceFormat::XSpace,
            rank: rank.map(|rank| (rank, RankSource::Header)),
            world_size,
            bytes,
            problems: self.cursor.problems,
            ..known
        };
        Ok(self.trace)
    }

    /// XLA subtracts the start of the profile from every line's stamp before it writes the file, and older releases do not. A
    /// stamp that lies behind the start was not subtracted from.
    fn apply_clock_base(&mut self) {
        let Some(base) = self.findings.profile_start_ns.filter(|base| *base > 0) else { return };
        let tracks = &mut self.trace.tracks;
        let is_line = |kind| matches!(kind, TrackKind::Thread | TrackKind::Stream);
        if tracks.iter().any(|(_, track)| is_line(track.kind) && track.origin_ns >= base) {
            return;
        }
        for id in (0..tracks.len() as u32).map(TrackId) {
            let track = tracks.get_mut(id);
            if is_line(track.kind) {
                track.origin_ns = track.origin_ns.saturating_add(base);
            }
        }
        for start_ns in &mut self.trace.spans.start_ns {
            *start_ns = start_ns.saturating_add(base);
        }
        for mark in &mut self.trace.instants {
            mark.time_ns = mark.time_ns.saturating_add(base);
        }
        for sample in &mut self.trace.counters {
            sample.time_ns = sample.time_ns.saturating_add(base);
        }
        self.trace.provenance.clock_base_ns = Some(base);
    }

    fn finish_columns(&mut self) {
        if self.trace.spans.picos.iter().all(|picos| *picos == (0, 0)) {
            self.trace.spans.picos = Vec::new();
        }
        if !self.keep_all {
            return;
        }
        let mut args = mem::take(&mut self.findings.track_args).into_iter().peekable();
        for id in (0..self.trace.tracks.len() as u32).map(TrackId) {
            while let Some((_, key, value)) = args.next_if(|(track, ..)| *track == id) {
                self.trace.tracks.args.push(key, value);
            }
            self.trace.tracks.args.end_row();
        }
    }
}
