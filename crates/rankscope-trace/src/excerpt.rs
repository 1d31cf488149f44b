//! [`Trace::excerpt`]: some spans of a trace as a trace of their own.

use rustc_hash::FxHashMap;

use crate::{ArgValue, SpanId, SpanRow, StrId, Trace, TrackId, TrackKey};

impl Trace {
    /// `spans`, in this order, with their names, categories, arguments and tracks. What ties spans to others (ids, flows, steps), what is
    /// said of the file and byte strings among the arguments stay behind.
    pub fn excerpt(&self, spans: &[SpanId]) -> Self {
        let mut excerpt = Self::default();
        let mut tracks: FxHashMap<TrackId, TrackId> = FxHashMap::default();
        for span in spans {
            let row = self.spans.row(*span);
            let category = &self.categories[usize::from(row.category)];
            let category = excerpt.category(self.strings.text(category.name), category.kind);
            let name = excerpt.strings.intern(self.strings.text(row.name));
            let track = excerpt.take_track(self, row.track, &mut tracks);
            excerpt.spans.push(SpanRow { name, track, category, ..row });
            for (key, value) in self.spans.args.row(span.0 as usize) {
                if let Some(value) = excerpt.take_value(self, value) {
                    let key = excerpt.strings.intern(self.strings.text(key));
                    excerpt.spans.args.push(key, value);
                }
            }
            excerpt.spans.args.end_row();
        }
        excerpt
    }

    fn take_track(&mut self, from: &Self, track: TrackId, known: &mut FxHashMap<TrackId, TrackId>) -> TrackId {
        if let Some(known) = known.get(&track) {
            return *known;
        }
        let own = from.tracks.get(track);
        let parent = own.parent.map(|parent| self.take_track(from, parent, known));
        let mut text = |id: StrId| self.strings.intern(from.strings.text(id));
        let key = match own.key {
            TrackKey::Number(_) => own.key,
            TrackKey::Text(key) => TrackKey::Text(text(key)),
        };
        let (name, label) = (text(own.name), text(own.label));
        let id = self.tracks.find_or_add(own.kind, parent, key);
        let taken = self.tracks.get_mut(id);
        (taken.name, taken.label, taken.sort_index) = (name, label, own.sort_index);
        known.insert(track, id);
        id
    }

    fn take_value(&mut self, from: &Self, value: ArgValue) -> Option<ArgValue> {
        let mut text = |id: StrId| self.strings.intern(from.strings.text(id));
        match value {
            ArgValue::Text(id) => Some(ArgValue::Text(text(id))),
            ArgValue::Json(id) => Some(ArgValue::Json(text(id))),
            ArgValue::Ref(id) => Some(ArgValue::Ref(text(id))),
            ArgValue::Blob(_) => None,
            ArgValue::Null | ArgValue::Bool(_) | ArgValue::I64(_) | ArgValue::U64(_) | ArgValue::F64(_) => Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CategoryKind, TrackKind};

    #[test]
    fn an_excerpt_holds_its_spans_and_nothing_that_ties_them() {
        let mut trace = Trace::default();
        let process = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(1));
        let thread = trace.tracks.find_or_add(TrackKind::Thread, Some(process), TrackKey::Number(7));
        let category = trace.category("cpu_op", CategoryKind::CpuOp);
        for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
            let (key, value) = (trace.strings.intern("key"), trace.strings.intern(&format!("of {name}")));
            let name = trace.strings.intern(name);
            let row = SpanRow { start_ns: at as i64, dur_ns: 1, name, track: thread, category, offset: 0 };
            let span = trace.spans.push(row);
            trace.spans.args.push(key, ArgValue::Text(value));
            trace.spans.args.end_row();
            trace.correlations.push(span, at as u64);
        }
        let excerpt = trace.excerpt(&[SpanId(2), SpanId(0)]);
        let names: Vec<&str> = excerpt.spans.ids().map(|span| excerpt.name(span)).collect();
        assert_eq!(names, ["c", "a"]);
        let key = excerpt.strings.find("key").expect("it is in both");
        let Some(ArgValue::Text(value)) = excerpt.spans.args.value(0, key) else { panic!("the argument of c") };
        assert_eq!((excerpt.strings.text(value), excerpt.strings.find("of b")), ("of c", None));
        assert!(excerpt.correlations.is_empty() && excerpt.tracks.len() == 2);
        assert_eq!(excerpt.kind(SpanId(0)), CategoryKind::CpuOp);
    }
}
