//! What a stamp was before it moved, kept with its event.

use rankscope_trace::{ArgColumn, ArgValue, Trace};

/// Gives every span two more arguments, its start and its length as they are now.
pub fn keep_original(trace: &mut Trace) {
    let (start, length) = (trace.strings.intern("original_start_ns"), trace.strings.intern("original_dur_ns"));
    let spans = &mut trace.spans;
    let mut args = ArgColumn::default();
    for (at, (start_ns, dur_ns)) in spans.start_ns.iter().zip(&spans.dur_ns).enumerate() {
        spans.args.row(at).for_each(|(key, value)| args.push(key, value));
        args.push(start, ArgValue::I64(*start_ns));
        args.push(length, ArgValue::I64(*dur_ns));
        args.end_row();
    }
    spans.args = args;
}

#[cfg(test)]
mod tests {
    use rankscope_trace::{CategoryKind, SpanRow, StrId, TrackKey, TrackKind};

    use super::*;

    #[test]
    fn arguments_stay_and_two_come() {
        let mut trace = Trace::default();
        let track = trace.tracks.find_or_add(TrackKind::Thread, None, TrackKey::Number(1));
        let category = trace.category("", CategoryKind::Other);
        let key = trace.strings.intern("key");
        for start_ns in [5, 9] {
            trace.spans.push(SpanRow { start_ns, dur_ns: 2, name: StrId::EMPTY, track, category, offset: 0 });
            trace.spans.args.push(key, ArgValue::Bool(true));
            trace.spans.args.end_row();
        }
        keep_original(&mut trace);
        trace.spans.start_ns = vec![105, 109];
        let kept = |at: usize, name: &str| trace.spans.args.value(at, trace.strings.find(name)?);
        assert_eq!(kept(1, "key"), Some(ArgValue::Bool(true)));
        assert_eq!(kept(1, "original_start_ns"), Some(ArgValue::I64(9)));
        assert_eq!(kept(0, "original_dur_ns"), Some(ArgValue::I64(2)));
        assert_eq!(trace.spans.args.rows(), 2);
    }
}
