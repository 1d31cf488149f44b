//! OpenTelemetry's spans as OTLP/JSON: one `ExportTraceServiceRequest`, as collectors take it on `/v1/traces`.
//!
//! A process is a resource. An outermost span, and an asynchronous one, is the root of a trace of its own; the spans that lie in
//! it are its descendants. Ids come from what the file holds, so that the same file gives the same ids. Ids are hex, 64-bit
//! integers are text, as OTLP/JSON has them.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rankscope_analyze::spans::{Selection, SpansOf, thread_label};
use rankscope_trace::{ArgValue, SpanId, Trace, TrackId, TrackKey, TrackKind};
use rustc_hash::FxHashSet;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// Kinds of span: nothing recorded says that one is a client's or a server's.
const KIND_INTERNAL: u32 = 1;

/// Writes the spans of `traces` on threads that `selection` wants, and all asynchronous ones. `version` is that of the program
/// that writes.
///
/// # Errors
/// What `out` fails with.
pub fn otlp(traces: &[SpansOf<'_>], selection: Selection<'_>, version: &str, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"{\"resourceSpans\":[")?;
    for (at, of) in traces.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let resource = json!({ "attributes": resource(of) });
        let scope = json!({ "name": "rankscope", "version": version });
        write!(out, "{comma}\n{{\"resource\":{resource},\"scopeSpans\":[{{\"scope\":{scope},\"spans\":[")?;
        write_spans(of, selection, out)?;
        out.write_all(b"\n]}]}")?;
    }
    out.write_all(b"\n]}\n")
}

fn write_spans(of: &SpansOf<'_>, selection: Selection<'_>, out: &mut impl Write) -> io::Result<()> {
    let ids = Ids::of(of);
    let unfinished: FxHashSet<SpanId> = of.trace.unfinished.iter().copied().collect();
    // The outermost span around each; a span comes after the one it lies in.
    let mut root: Vec<SpanId> = of.trace.spans.ids().collect();
    let mut written = 0;
    for (track, spans) in of.nesting.tracks() {
        let (is_async, thread) = (of.nesting.is_async(track), thread_label(of.trace, track));
        if !is_async && !(selection.thread)(&thread) {
            continue;
        }
        let thread = if is_async { Vec::new() } else { thread_attributes(of.trace, track) };
        for span in spans {
            let parent = of.nesting.parent(*span);
            if let Some(parent) = parent {
                root[span.0 as usize] = root[parent.0 as usize];
            }
            let row = of.trace.spans.row(*span);
            let record = Record {
                trace_id: ids.trace(root[span.0 as usize]),
                span_id: ids.span(*span),
                parent_span_id: parent.map(|parent| ids.span(parent)),
                name: of.trace.strings.text(row.name),
                kind: KIND_INTERNAL,
                start: row.start_ns.max(0).to_string(),
                end: of.trace.spans.end_ns(*span).max(0).to_string(),
                attributes: Attributes { thread: &thread, own: attributes(of.trace, *span, unfinished.contains(span)) },
            };
            out.write_all(if written == 0 { b"\n" } else { b",\n" })?;
            serde_json::to_writer(&mut *out, &record)?;
            written += 1;
        }
    }
    Ok(())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    name: &'a str,
    kind: u32,
    #[serde(rename = "startTimeUnixNano")]
    start: String,
    #[serde(rename = "endTimeUnixNano")]
    end: String,
    attributes: Attributes<'a>,
}

/// The attributes of a span: those of its thread, then its own.
struct Attributes<'a> {
    thread: &'a [Value],
    own: Vec<Value>,
}

impl Serialize for Attributes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.thread.iter().chain(&self.own))
    }
}

fn attribute(key: &str, value: Value) -> Value {
    json!({ "key": key, "value": value })
}

fn text(value: &str) -> Value {
    json!({ "stringValue": value })
}

fn integer(value: i64) -> Value {
    json!({ "intValue": value.to_string() })
}

/// What is true of the whole process.
fn resource(of: &SpansOf<'_>) -> Vec<Value> {
    let about = &of.trace.provenance;
    let processes: Vec<_> = of.trace.tracks.iter().filter(|(_, track)| track.kind == TrackKind::Process).collect();
    let name = processes.iter().map(|(_, track)| of.trace.strings.text(track.name)).find(|name| !name.is_empty());
    let mut attributes = vec![attribute("service.name", text(name.unwrap_or(of.process)))];
    attributes.push(attribute("service.instance.id", text(of.process)));
    if let [(_, only)] = &processes[..]
        && let TrackKey::Number(pid) = only.key
    {
        attributes.push(attribute("process.pid", integer(pid)));
    }
    attributes.extend(about.host.as_deref().map(|host| attribute("host.name", text(host))));
    attributes.extend(about.rank.map(|(rank, _)| attribute("rankscope.rank", integer(rank.0.into()))));
    attributes
}

fn thread_attributes(trace: &Trace, track: TrackId) -> Vec<Value> {
    let track = trace.tracks.get(track);
    let number = match track.key {
        TrackKey::Number(number) => Some(attribute("thread.id", integer(number))),
        TrackKey::Text(_) => None,
    };
    let name = Some(trace.strings.text(track.name)).filter(|name| !name.is_empty());
    number.into_iter().chain(name.map(|name| attribute("thread.name", text(name)))).collect()
}

fn attributes(trace: &Trace, span: SpanId, is_unfinished: bool) -> Vec<Value> {
    let mut attributes = Vec::new();
    let category = trace.categories[usize::from(trace.spans.row(span).category)].name;
    if !category.is_empty() {
        attributes.push(attribute("rankscope.category", text(trace.strings.text(category))));
    }
    if is_unfinished {
        attributes.push(attribute("rankscope.unfinished", json!({ "boolValue": true })));
    }
    let args = trace.spans.args.row(span.0 as usize);
    attributes.extend(args.filter_map(|(key, value)| Some(attribute(trace.strings.text(key), any_value(trace, value)?))));
    attributes
}

/// An argument as OTLP's `AnyValue`; none for null, which an absent attribute is.
fn any_value(trace: &Trace, value: ArgValue) -> Option<Value> {
    Some(match value {
        ArgValue::Null => return None,
        ArgValue::Bool(value) => json!({ "boolValue": value }),
        ArgValue::I64(value) => integer(value),
        ArgValue::U64(value) => i64::try_from(value).map_or_else(|_| text(&value.to_string()), integer),
        ArgValue::F64(value) if value.is_finite() => json!({ "doubleValue": value }),
        ArgValue::F64(value) if value.is_nan() => json!({ "doubleValue": "NaN" }),
        ArgValue::F64(value) => json!({ "doubleValue": if value > 0.0 { "Infinity" } else { "-Infinity" } }),
        ArgValue::Text(id) | ArgValue::Json(id) | ArgValue::Ref(id) => text(trace.strings.text(id)),
        ArgValue::Blob(at) => json!({ "bytesValue": STANDARD.encode(trace.blobs.get(at as usize)?) }),
    })
}

/// Ids of the spans of one process.
struct Ids {
    process: u64,
}

impl Ids {
    /// From what tells one recording from another: whose it is, when it was, and how much there is.
    fn of(of: &SpansOf<'_>) -> Self {
        let about = &of.trace.provenance;
        let (start, end) = of.trace.bounds_ns().unwrap_or_default();
        let texts = [of.process, about.host.as_deref().unwrap_or(""), about.trace_id.as_deref().unwrap_or("")];
        let numbers = [start as u64, end as u64, of.trace.spans.len() as u64];
        let bytes = texts.iter().flat_map(|text| text.bytes().chain([0xff])).map(u64::from);
        Self { process: bytes.chain(numbers).fold(0, |hash, next| mixed(hash ^ next)) }
    }

    /// Different for each span of a process, and never zero, which stands for none.
    fn number(&self, span: SpanId) -> u64 {
        mixed(self.process.wrapping_add(u64::from(span.0).wrapping_mul(GOLDEN))).max(1)
    }

    fn span(&self, span: SpanId) -> String {
        format!("{:016x}", self.number(span))
    }

    fn trace(&self, root: SpanId) -> String {
        format!("{:016x}{:016x}", mixed(self.process ^ GOLDEN).max(1), self.number(root))
    }
}

/// 2^64 divided by the golden ratio, odd: multiples of it are all different.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64: different inputs give different outputs.
fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
