//! Traces as lines of text, free of the numbers their tables happen to have.

use rankscope_trace::{ArgColumn, ArgValue, Description, SpanId, Trace, TrackId, TrackKey};

/// Everything an XSpace can hold, in order.
pub(super) fn whole(trace: &Trace) -> Vec<String> {
    let p = &trace.provenance;
    let header = format!("{:?} {:?} {:?} {:?} {:?} {:?}", p.rank, p.world_size, p.host, p.clock_base_ns, p.devices, p.header);
    let tracks = trace.tracks.iter().map(|(id, track)| {
        let names = [track.name, track.label].map(|name| trace.strings.text(name));
        let args = args(trace, &trace.tracks.args, id.0 as usize);
        let place = (track.kind, track.parent, key(trace, id), track.sort_index, track.origin_ns);
        format!("{place:?} {names:?} {args}")
    });
    let spans = trace.spans.ids().map(|id| {
        let at = trace.spans.description.get(id.0 as usize).copied();
        let said = at.map(|at| description(trace, &trace.descriptions[at as usize], at as usize));
        let args = args(trace, &trace.spans.args, id.0 as usize);
        format!("{:?} {} {args} {said:?}", trace.spans.track[id.0 as usize], span(trace, id))
    });
    let steps = format!("{:?}", trace.steps);
    let described = (0..).zip(&trace.descriptions).map(|(at, said)| description(trace, said, at));
    [header, steps].into_iter().chain(tracks).chain(spans).chain(described).collect()
}

/// The spans alone, by where they are and in order of text: what remains of a trace that came from another format.
pub(super) fn spans(trace: &Trace) -> Vec<String> {
    let place = |id: TrackId| {
        let track = trace.tracks.get(id);
        format!("{:?} {} in {:?}", track.kind, key(trace, id), track.parent.map(|parent| key(trace, parent)))
    };
    let line = |id: SpanId| {
        let place = place(trace.spans.track[id.0 as usize]);
        format!("{place} {} {}", span(trace, id), own_args(trace, id))
    };
    let mut spans: Vec<String> = trace.spans.ids().map(line).collect();
    spans.sort();
    spans
}

fn span(trace: &Trace, id: SpanId) -> String {
    let row = trace.spans.row(id);
    let category = trace.categories[usize::from(row.category)];
    let columns = (trace.correlations.get(id), trace.external_ids.get(id), trace.bytes.get(id));
    let step = trace.steps.iter().find(|step| step.span == id).map(|step| step.number);
    format!(
        "{} {} {:?} {:?} {} {:?} {columns:?} {step:?}",
        row.start_ns,
        row.dur_ns,
        trace.spans.picos(id),
        trace.name(id),
        trace.strings.text(category.name),
        category.kind,
    ) + &collective(trace, id)
}

fn collective(trace: &Trace, id: SpanId) -> String {
    let Some(args) = trace.collectives.iter().find(|args| args.span == id) else { return String::new() };
    let texts = [args.name, args.dtype, args.group_name, args.group_description, args.group_ranks, args.communicator];
    let numbers = (args.in_elements, args.out_elements, args.group_size, args.sequence, args.source_rank);
    format!(" {:?} {numbers:?}", texts.map(|text| trace.strings.text(text)))
}

fn args(trace: &Trace, column: &ArgColumn, row: usize) -> String {
    let list: Vec<String> =
        column.row(row).map(|(key, value)| format!("{}={}", trace.strings.text(key), self::value(trace, value))).collect();
    list.join(" ")
}

/// Arguments that are not columns' values in other words.
fn own_args(trace: &Trace, id: SpanId) -> String {
    let list = trace.spans.args.row(id.0 as usize).filter(|(key, _)| trace.strings.text(*key).starts_with("key "));
    let list: Vec<String> =
        list.map(|(key, value)| format!("{}={}", trace.strings.text(key), self::value(trace, value))).collect();
    list.join(" ")
}

fn value(trace: &Trace, value: ArgValue) -> String {
    match value {
        ArgValue::Text(text) => format!("text {:?}", trace.strings.text(text)),
        ArgValue::Json(text) => format!("json {:?}", trace.strings.text(text)),
        ArgValue::Ref(text) => format!("ref {:?}", trace.strings.text(text)),
        ArgValue::Blob(at) => format!("{:?}", trace.blobs[at as usize]),
        other => format!("{other:?}"),
    }
}

fn description(trace: &Trace, said: &Description, at: usize) -> String {
    let names = [said.name, said.label].map(|name| trace.strings.text(name));
    let blob = said.blob.map(|blob| &trace.blobs[blob as usize]);
    let args = args(trace, &trace.description_args, at);
    format!("{:?} {} {names:?} {blob:?} {:?} {args}", said.owner, said.id, said.children)
}

fn key(trace: &Trace, id: TrackId) -> String {
    match trace.tracks.get(id).key {
        TrackKey::Number(number) => number.to_string(),
        TrackKey::Text(text) => trace.strings.text(text).to_owned(),
    }
}
