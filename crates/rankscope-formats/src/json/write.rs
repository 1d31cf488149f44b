//! Chrome JSON as Kineto writes it, from any trace.
//!
//! Stamps are microseconds with three decimals, relative to the base the trace was read with, or to Kineto's own grid where it
//! had none; a trace read from absolute stamps is written with absolute stamps. Text is escaped as JSON wants it. Asynchronous
//! spans are begins and ends with an id of their process's own. Picoseconds are lost.

use std::io::{self, Write};

use rankscope_trace::{
    ArgColumn, ArgValue, FlowPhase, FlowPoint, InstantScope, SourceFormat, SpanId, StrId, Trace, TrackId, TrackKey, TrackKind,
};

use crate::Error;
use crate::kineto::base_ns;

/// Writes `trace` to `output`.
///
/// # Errors
/// What `output` fails with.
pub fn write(trace: &Trace, output: &mut impl Write) -> Result<(), Error> {
    let mut writer = Writer::new(trace, output);
    writer.header()?;
    writer.tracks()?;
    trace.spans.ids().try_for_each(|span| writer.span(span))?;
    for span in trace.spans.ids() {
        if writer.is_async(span) {
            writer.async_end(span)?;
        }
    }
    (0..trace.instants.len()).try_for_each(|at| writer.instant(at))?;
    (0..trace.counters.len()).try_for_each(|at| writer.counter(at))?;
    trace.flows.iter().try_for_each(|point| writer.flow(point, point.id))?;
    writer.output.write_all(b"\n  ]\n}\n")?;
    Ok(())
}

pub(super) struct Writer<'a, W> {
    trace: &'a Trace,
    output: &'a mut W,
    base_ns: i64,
    /// Every string as a JSON string.
    quoted: Vec<String>,
    /// pid and tid of every track, as JSON.
    pub(super) places: Vec<(String, String)>,
    /// Whether the spans of each track are asynchronous.
    asynchronous: Vec<bool>,
    first: bool,
}

impl<'a, W: Write> Writer<'a, W> {
    fn new(trace: &'a Trace, output: &'a mut W) -> Self {
        let base_ns = match trace.provenance.clock_base_ns {
            Some(base) => base,
            None if trace.provenance.format == SourceFormat::Kineto => 0,
            None => trace.bounds_ns().map_or(0, |(start, _)| base_ns(start)),
        };
        Self::with_base(trace, base_ns, output)
    }

    /// A writer of stamps relative to `base_ns`.
    pub(super) fn with_base(trace: &'a Trace, base_ns: i64, output: &'a mut W) -> Self {
        let quoted: Vec<String> = trace.strings.iter().map(|(_, text)| quote(text)).collect();
        let key = |key: TrackKey| match key {
            TrackKey::Number(number) => number.to_string(),
            TrackKey::Text(text) => quoted[text.0 as usize].clone(),
        };
        let places = trace
            .tracks
            .iter()
            .map(|(_, track)| match track.parent {
                Some(parent) => (key(trace.tracks.get(parent).key), key(track.key)),
                None => (key(track.key), "0".to_owned()),
            })
            .collect();
        let asynchronous = trace.tracks.iter().map(|(_, track)| track.is_async(&trace.strings)).collect();
        Self { trace, output, base_ns, quoted, places, asynchronous, first: true }
    }

    fn header(&mut self) -> io::Result<()> {
        let about = &self.trace.provenance;
        write!(self.output, "{{\n  \"schemaVersion\": 1,\n")?;
        let own = ["schemaVersion", "baseTimeNanoseconds", "displayTimeUnit", "traceEvents"];
        for (key, value) in about.header.iter().filter(|(key, _)| !own.contains(&key.as_str())) {
            // The text came from a file that may have been damaged.
            if serde_json::from_str::<&serde_json::value::RawValue>(value).is_ok() {
                writeln!(self.output, "  {}: {value},", quote(key))?;
            }
        }
        if !about.header.iter().any(|(key, _)| key == "distributedInfo")
            && let Some((rank, _)) = about.rank
        {
            let world = about.world_size.map_or_else(String::new, |world| format!(", \"world_size\": {world}"));
            writeln!(self.output, "  \"distributedInfo\": {{\"rank\": {rank}{world}}},")?;
        }
        if self.base_ns != 0 {
            writeln!(self.output, "  \"baseTimeNanoseconds\": {},", self.base_ns)?;
        }
        write!(self.output, "  \"displayTimeUnit\": \"ms\",\n  \"traceEvents\": [")
    }

    /// Where what is written goes. The next event is the first there.
    pub(super) fn restart(&mut self) -> &mut W {
        self.first = true;
        self.output
    }

    /// Starts an event: separator, phase, place and time.
    fn begin(&mut self, phase: &str, track: TrackId, time_ns: i64) -> io::Result<()> {
        let separator = if std::mem::replace(&mut self.first, false) { "" } else { "," };
        let (pid, tid) = &self.places[track.0 as usize];
        write!(self.output, "{separator}\n  {{\n    \"ph\": \"{phase}\", \"pid\": {pid}, \"tid\": {tid}, \"ts\": ")?;
        micros(self.output, time_ns.saturating_sub(self.base_ns))
    }

    fn end(&mut self) -> io::Result<()> {
        self.output.write_all(b"\n  }")
    }

    fn text(&self, id: StrId) -> &str {
        &self.quoted[id.0 as usize]
    }

    fn tracks(&mut self) -> io::Result<()> {
        let start = self.trace.bounds_ns().map_or(self.base_ns, |(start, _)| start);
        for (id, track) in self.trace.tracks.iter() {
            let what = if track.parent.is_none() { "process" } else { "thread" };
            if !track.name.is_empty() {
                let name = self.text(track.name).to_owned();
                self.naming(id, start, &format!("{what}_name"), "name", &name)?;
            }
            if track.parent.is_none() {
                let label = match track.kind {
                    _ if !track.label.is_empty() => self.text(track.label).to_owned(),
                    TrackKind::Device => quote(&format!("GPU {}", self.places[id.0 as usize].0)),
                    _ => quote("CPU"),
                };
                self.naming(id, start, "process_labels", "labels", &label)?;
            }
            if let Some(index) = track.sort_index {
                self.naming(id, start, &format!("{what}_sort_index"), "sort_index", &index.to_string())?;
            }
        }
        Ok(())
    }

    pub(super) fn naming(&mut self, track: TrackId, time_ns: i64, name: &str, key: &str, value: &str) -> io::Result<()> {
        self.begin("M", track, time_ns)?;
        write!(self.output, ", \"name\": \"{name}\",\n    \"args\": {{\n      \"{key}\": {value}\n    }}")?;
        self.end()
    }

    /// A whole span, or the begin of an asynchronous one.
    pub(super) fn span(&mut self, span: SpanId) -> io::Result<()> {
        let trace = self.trace;
        let row = trace.spans.row(span);
        if self.is_async(span) {
            self.async_half("b", span, row.start_ns)?;
        } else {
            self.begin("X", row.track, row.start_ns)?;
            self.output.write_all(b", \"dur\": ")?;
            micros(self.output, row.dur_ns)?;
            self.named(row.category, row.name)?;
        }
        if trace.spans.args.rows() > 0 {
            self.args(&trace.spans.args, span.0 as usize)?;
        } else {
            self.links(span)?;
        }
        self.end()
    }

    pub(super) fn is_async(&self, span: SpanId) -> bool {
        self.asynchronous[self.trace.spans.track[span.0 as usize].0 as usize]
    }

    pub(super) fn async_end(&mut self, span: SpanId) -> io::Result<()> {
        self.async_half("e", span, self.trace.spans.end_ns(span))?;
        self.end()
    }

    fn async_half(&mut self, phase: &str, span: SpanId, time_ns: i64) -> io::Result<()> {
        let row = self.trace.spans.row(span);
        self.begin(phase, row.track, time_ns)?;
        write!(self.output, ", \"id2\": {{\"local\": \"0x{:x}\"}}", span.0 + 1)?;
        self.named(row.category, row.name)
    }

    fn named(&mut self, category: u16, name: StrId) -> io::Result<()> {
        let category = self.trace.categories[usize::from(category)].name;
        if !category.is_empty() {
            write!(self.output, ", \"cat\": {}", &self.quoted[category.0 as usize])?;
        }
        write!(self.output, ",\n    \"name\": {}", &self.quoted[name.0 as usize])
    }

    /// All arguments of a row, as they were.
    fn args(&mut self, column: &ArgColumn, row: usize) -> io::Result<()> {
        let mut separator = ",\n    \"args\": {\n      ";
        for (key, value) in column.row(row) {
            write!(self.output, "{separator}{}: ", &self.quoted[key.0 as usize])?;
            self.value(value)?;
            separator = ", ";
        }
        if separator == ", " { self.output.write_all(b"\n    }") } else { Ok(()) }
    }

    fn value(&mut self, value: ArgValue) -> io::Result<()> {
        match value {
            ArgValue::Null => self.output.write_all(b"null"),
            ArgValue::Bool(value) => write!(self.output, "{value}"),
            ArgValue::I64(value) => write!(self.output, "{value}"),
            ArgValue::U64(value) => write!(self.output, "{value}"),
            // JSON has no word for these.
            ArgValue::F64(value) if !value.is_finite() => write!(self.output, "\"{value}\""),
            ArgValue::F64(value) => write!(self.output, "{value:?}"),
            ArgValue::Text(text) | ArgValue::Ref(text) => self.output.write_all(self.quoted[text.0 as usize].as_bytes()),
            ArgValue::Json(text) => {
                let raw = self.trace.strings.text(text);
                let is_json = serde_json::from_str::<&serde_json::value::RawValue>(raw).is_ok();
                let quoted = &self.quoted[text.0 as usize];
                self.output.write_all(if is_json { raw.as_bytes() } else { quoted.as_bytes() })
            }
            ArgValue::Blob(blob) => {
                let bytes = self.trace.blobs.get(blob as usize).map_or(&[][..], |bytes| bytes);
                write!(self.output, "\"")?;
                bytes.iter().try_for_each(|byte| write!(self.output, "{byte:02x}"))?;
                write!(self.output, "\"")
            }
        }
    }

    /// What ties events together, for a trace that was read without its arguments.
    fn links(&mut self, span: SpanId) -> io::Result<()> {
        let links = [
            ("External id", self.trace.external_ids.get(span)),
            ("correlation", self.trace.correlations.get(span)),
            ("bytes", self.trace.bytes.get(span)),
        ];
        let known: Vec<_> = links.iter().filter_map(|(key, value)| Some(format!("\"{key}\": {}", (*value)?))).collect();
        if known.is_empty() {
            return Ok(());
        }
        write!(self.output, ",\n    \"args\": {{\n      {}\n    }}", known.join(", "))
    }

    pub(super) fn instant(&mut self, at: usize) -> io::Result<()> {
        let mark = self.trace.instants[at];
        self.begin("i", mark.track, mark.time_ns)?;
        let scope = match mark.scope {
            InstantScope::Thread => 't',
            InstantScope::Process => 'p',
            InstantScope::Global => 'g',
        };
        write!(self.output, ", \"s\": \"{scope}\"")?;
        self.named(mark.category, mark.name)?;
        self.args(&self.trace.instant_args, at)?;
        self.end()
    }

    pub(super) fn counter(&mut self, at: usize) -> io::Result<()> {
        let sample = self.trace.counters[at];
        self.begin("C", sample.track, sample.time_ns)?;
        let (name, series) = (&self.quoted[sample.name.0 as usize], &self.quoted[sample.series.0 as usize]);
        write!(self.output, ", \"name\": {name}, \"args\": {{{series}: {:?}}}", sample.value)?;
        self.end()
    }

    /// A point of the flow that the file knows as `id`.
    pub(super) fn flow(&mut self, point: &FlowPoint, id: u64) -> io::Result<()> {
        let phase = match point.phase {
            FlowPhase::Start => "s",
            FlowPhase::Step => "t",
            FlowPhase::End => "f",
        };
        self.begin(phase, point.track, point.time_ns)?;
        write!(self.output, ", \"id\": {id}")?;
        self.named(point.category, point.name)?;
        if point.phase == FlowPhase::End {
            self.output.write_all(b", \"bp\": \"e\"")?;
        }
        self.end()
    }
}

pub(super) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn micros(output: &mut impl Write, ns: i64) -> io::Result<()> {
    let sign = if ns < 0 { "-" } else { "" };
    write!(output, "{sign}{}.{:03}", ns.unsigned_abs() / 1_000, ns.unsigned_abs() % 1_000)
}
