//! A trace without anything but its collectives: for whoever goes through more ranks than fit into memory.
//!
//! What stays are the spans that [`extract`](crate::extract) finds and those it describes them by, the marks of steps, and of
//! every track the first and the last span, so that the trace begins and ends where it did. Ids of spans are new. Arguments,
//! instants, counters, flows and whatever no span mentions go.

use rankscope_trace::{CollectiveArgs, SpanId, SpanRow, StepMark, StrId, Strings, Trace, Track, TrackKey};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::CommPatterns;
use crate::extract::find;

/// `trace` with its collectives alone; the same collectives are found in it.
pub fn collectives_alone(trace: &Trace, patterns: &CommPatterns) -> Trace {
    let mut alone = Trace { provenance: trace.provenance.clone(), ..Trace::default() };
    let mut texts = Texts { from: &trace.strings, to: &mut alone.strings };
    for (_, track) in trace.tracks.iter() {
        let key = match track.key {
            TrackKey::Text(text) => TrackKey::Text(texts.id(text)),
            number => number,
        };
        alone.tracks.add(Track { key, name: texts.id(track.name), label: texts.id(track.label), ..track.clone() });
    }
    alone.categories.clone_from(&trace.categories);
    alone.categories.iter_mut().for_each(|category| category.name = texts.id(category.name));
    let mut described = trace.collectives.iter().peekable();
    let steps: FxHashMap<SpanId, i64> = trace.steps.iter().map(|mark| (mark.span, mark.number)).collect();
    for span in kept(trace, patterns) {
        let row = trace.spans.row(span);
        let id = alone.spans.push(SpanRow { name: texts.id(row.name), ..row });
        if !trace.spans.picos.is_empty() {
            alone.spans.picos.push(trace.spans.picos(span));
        }
        trace.correlations.get(span).into_iter().for_each(|correlation| alone.correlations.push(id, correlation));
        trace.external_ids.get(span).into_iter().for_each(|external| alone.external_ids.push(id, external));
        alone.steps.extend(steps.get(&span).map(|number| StepMark { number: *number, span: id }));
        while let Some(args) = described.next_if(|args| args.span == span) {
            alone.collectives.push(texts.args(args, id));
        }
    }
    alone
}

/// The spans that stay, ascending.
fn kept(trace: &Trace, patterns: &CommPatterns) -> Vec<SpanId> {
    let mut kept = find(trace, patterns);
    let launched: FxHashSet<u64> = kept.iter().filter_map(|span| trace.correlations.get(*span)).collect();
    let launches = trace.correlations.iter().filter(|(span, id)| launched.contains(id) && trace.kind(*span).is_launch());
    kept.extend(launches.map(|(span, _)| span));
    kept.extend(trace.collectives.iter().map(|args| args.span));
    kept.extend(trace.steps.iter().map(|mark| mark.span));
    // Whether a device worked at all decides where collectives are looked for.
    kept.extend(trace.spans.ids().find(|span| trace.kind(*span).is_device_work()));
    kept.extend(ends_of_tracks(trace));
    kept.sort_unstable();
    kept.dedup();
    kept
}

/// What begins first and what ends last on each track.
fn ends_of_tracks(trace: &Trace) -> impl Iterator<Item = SpanId> {
    let mut ends: Vec<Option<(SpanId, SpanId)>> = vec![None; trace.tracks.len()];
    let spans = &trace.spans;
    for span in spans.ids() {
        let (first, last) = ends[spans.track[span.0 as usize].0 as usize].get_or_insert((span, span));
        if spans.start_ns(span) < spans.start_ns(*first) {
            *first = span;
        }
        if spans.end_ns(span) > spans.end_ns(*last) {
            *last = span;
        }
    }
    ends.into_iter().flatten().flat_map(|(first, last)| [first, last])
}

/// Texts on their way to another table.
struct Texts<'a> {
    from: &'a Strings,
    to: &'a mut Strings,
}

impl Texts<'_> {
    fn id(&mut self, text: StrId) -> StrId {
        self.to.intern(self.from.text(text))
    }

    fn args(&mut self, args: &CollectiveArgs, span: SpanId) -> CollectiveArgs {
        CollectiveArgs {
            span,
            name: self.id(args.name),
            dtype: self.id(args.dtype),
            group_name: self.id(args.group_name),
            group_description: self.id(args.group_description),
            group_ranks: self.id(args.group_ranks),
            communicator: self.id(args.communicator),
            in_split: self.id(args.in_split),
            out_split: self.id(args.out_split),
            ..*args
        }
    }
}
