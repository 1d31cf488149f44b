//! Putting two traces of one file together: readers read pieces in parallel and join them in order.

use crate::{ArgValue, CollectiveArgs, Description, SpanId, StrId, Trace, Track, TrackId, TrackKey};

/// Where the tables of an appended trace went.
#[derive(Clone, Debug)]
pub struct Remap {
    strings: Vec<StrId>,
    tracks: Vec<TrackId>,
    categories: Vec<u16>,
    span_base: u32,
}

impl Remap {
    /// The id `string` of the appended trace has now.
    pub fn string(&self, string: StrId) -> StrId {
        self.strings[string.0 as usize]
    }

    /// The id `track` of the appended trace has now.
    pub fn track(&self, track: TrackId) -> TrackId {
        self.tracks[track.0 as usize]
    }

    /// The index `category` of the appended trace has now.
    pub fn category(&self, category: u16) -> u16 {
        self.categories[usize::from(category)]
    }

    /// The id `span` of the appended trace has now.
    pub fn span(&self, span: SpanId) -> SpanId {
        SpanId(span.0 + self.span_base)
    }

    /// `key`, whose text may be a string of the appended trace.
    pub fn key(&self, key: TrackKey) -> TrackKey {
        match key {
            TrackKey::Number(_) => key,
            TrackKey::Text(text) => TrackKey::Text(self.string(text)),
        }
    }
}

impl Trace {
    /// Appends the events, tables and problems of `other`. What `other` says about its file is dropped: pieces of one file
    /// share one provenance.
    ///
    /// # Panics
    /// If the two have more than four billion spans together.
    pub fn append(&mut self, other: Self) -> Remap {
        let remap = self.merge_tables(&other);
        self.spans.start_ns.extend_from_slice(&other.spans.start_ns);
        self.spans.dur_ns.extend_from_slice(&other.spans.dur_ns);
        self.spans.offset.extend_from_slice(&other.spans.offset);
        self.spans.picos.extend_from_slice(&other.spans.picos);
        self.spans.append_places(remap.span_base, &other.spans.place);
        self.spans.name.extend(other.spans.name.iter().map(|name| remap.string(*name)));
        self.spans.track.extend(other.spans.track.iter().map(|track| remap.track(*track)));
        self.spans.category.extend(other.spans.category.iter().map(|category| remap.category(*category)));

        self.unfinished.extend(other.unfinished.iter().map(|span| remap.span(*span)));

        let blob_base = self.blobs.len() as u32;
        let (key, value) = (|key| remap.string(key), |value| remapped_value(&remap, blob_base, value));
        self.spans.args.append(&other.spans.args, key, value);
        self.instant_args.append(&other.instant_args, key, value);
        self.description_args.append(&other.description_args, key, value);
        self.append_descriptions(other.descriptions, &other.spans.description, blob_base, &remap);
        self.blobs.extend(other.blobs);

        self.instants.extend(other.instants.into_iter().map(|mut mark| {
            (mark.name, mark.track) = (remap.string(mark.name), remap.track(mark.track));
            mark.category = remap.category(mark.category);
            mark
        }));
        self.counters.extend(other.counters.into_iter().map(|mut sample| {
            (sample.name, sample.series) = (remap.string(sample.name), remap.string(sample.series));
            sample.track = remap.track(sample.track);
            sample
        }));
        self.flows.extend(other.flows.into_iter().map(|mut point| {
            (point.name, point.track) = (remap.string(point.name), remap.track(point.track));
            point.category = remap.category(point.category);
            point
        }));
        self.collectives.extend(other.collectives.iter().map(|args| remapped_collective(&remap, args)));
        self.correlations.append(&other.correlations, remap.span_base);
        self.external_ids.append(&other.external_ids, remap.span_base);
        self.bytes.append(&other.bytes, remap.span_base);
        self.directions.append(&other.directions, remap.span_base);
        self.awaited.append(&other.awaited, remap.span_base);
        self.gpu_times.append(&other.gpu_times, remap.span_base);
        self.steps.extend(other.steps.into_iter().map(|mut step| {
            step.span = remap.span(step.span);
            step
        }));
        self.provenance.problems.merge(other.provenance.problems);
        remap
    }

    /// Spans that nothing is said about get [`Description::NONE`] once the other trace's have something.
    fn append_descriptions(&mut self, more: Vec<Description>, column: &[u32], blob_base: u32, remap: &Remap) {
        let base = self.descriptions.len() as u32;
        if !column.is_empty() {
            self.spans.description.resize(remap.span_base as usize, Description::NONE);
            self.spans.description.extend(column.iter().map(|at| if *at == Description::NONE { *at } else { at + base }));
        }
        self.descriptions.extend(more.into_iter().map(|mut description| {
            (description.name, description.label) = (remap.string(description.name), remap.string(description.label));
            description.owner = remap.track(description.owner);
            description.blob = description.blob.map(|blob| blob + blob_base);
            description
        }));
    }

    fn merge_tables(&mut self, other: &Self) -> Remap {
        let span_base = u32::try_from(self.spans.len()).expect("memory ends before four billion spans");
        assert!(u32::try_from(self.spans.len() + other.spans.len()).is_ok(), "memory ends before four billion spans");
        let strings: Vec<StrId> = other.strings.iter().map(|(_, text)| self.strings.intern(text)).collect();
        let mut remap = Remap { strings, tracks: Vec::with_capacity(other.tracks.len()), categories: Vec::new(), span_base };
        for (_, track) in other.tracks.iter() {
            let id = self.merge_track(track, &remap);
            remap.tracks.push(id);
        }
        for category in &other.categories {
            let name = self.strings.text(remap.string(category.name)).to_owned();
            let category = self.category(&name, category.kind);
            remap.categories.push(category);
        }
        remap
    }

    fn merge_track(&mut self, track: &Track, remap: &Remap) -> TrackId {
        // Parents come before their children, so theirs is mapped already.
        let parent = track.parent.map(|parent| remap.track(parent));
        let id = self.tracks.find_or_add(track.kind, parent, remap.key(track.key));
        let known = self.tracks.get_mut(id);
        if known.name.is_empty() {
            known.name = remap.string(track.name);
        }
        if known.label.is_empty() {
            known.label = remap.string(track.label);
        }
        known.sort_index = known.sort_index.or(track.sort_index);
        id
    }
}

fn remapped_value(remap: &Remap, blob_base: u32, value: ArgValue) -> ArgValue {
    match value {
        ArgValue::Text(text) => ArgValue::Text(remap.string(text)),
        ArgValue::Json(text) => ArgValue::Json(remap.string(text)),
        ArgValue::Ref(text) => ArgValue::Ref(remap.string(text)),
        ArgValue::Blob(blob) => ArgValue::Blob(blob + blob_base),
        ArgValue::Null | ArgValue::Bool(_) | ArgValue::I64(_) | ArgValue::U64(_) | ArgValue::F64(_) => value,
    }
}

fn remapped_collective(remap: &Remap, args: &CollectiveArgs) -> CollectiveArgs {
    CollectiveArgs {
        span: remap.span(args.span),
        name: remap.string(args.name),
        dtype: remap.string(args.dtype),
        group_name: remap.string(args.group_name),
        group_description: remap.string(args.group_description),
        group_ranks: remap.string(args.group_ranks),
        communicator: remap.string(args.communicator),
        in_split: remap.string(args.in_split),
        out_split: remap.string(args.out_split),
        ..*args
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CategoryKind, SpanRow, TrackKind};

    fn piece(name: &str, tid: i64) -> Trace {
        let mut trace = Trace::default();
        let process = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(1));
        let track = trace.tracks.find_or_add(TrackKind::Thread, Some(process), TrackKey::Number(tid));
        let category = trace.category("cpu_op", CategoryKind::CpuOp);
        let name = trace.strings.intern(name);
        let span = trace.spans.push(SpanRow { start_ns: tid, dur_ns: 1, name, track, category, offset: 0 });
        trace.correlations.push(span, tid as u64);
        trace
    }

    #[test]
    fn pieces_share_tables_and_keep_their_events() {
        let mut whole = piece("a", 7);
        whole.append(piece("b", 8));
        whole.append(piece("a", 7));
        let rows: Vec<_> = whole.spans.ids().map(|span| (whole.name(span), whole.spans.row(span).track.0)).collect();
        assert_eq!(rows, [("a", 1), ("b", 2), ("a", 1)]);
        assert_eq!(whole.correlations.get(SpanId(1)), Some(8));
        assert_eq!((whole.tracks.len(), whole.categories.len()), (3, 1));
    }
}
