//! A played step as a trace, to be looked at like a recorded one: a process a rank, with one thread for computation and one for
//! exchanges.

use rankscope_dispatch::events::Outcome;
use rankscope_trace::{CategoryKind, SpanRow, StrId, Trace, TrackKey, TrackKind};

/// The spans of `outcome`, whose stages have `ranks` ranks each.
pub(crate) fn trace(outcome: &Outcome, ranks: u32) -> Trace {
    let mut trace = Trace::default();
    let categories = [trace.category("computation", CategoryKind::Other), trace.category("exchange", CategoryKind::Other)];
    for played in &outcome.played {
        let is_exchange = played.label.what.is_exchange();
        let name = trace.strings.intern(&played.label.to_string());
        for (rank, (start, end)) in (0_u32..).zip(played.start.iter().zip(&played.end)) {
            let global = i64::from(played.label.stage) * i64::from(ranks) + i64::from(rank);
            let thread = thread(&mut trace, global, is_exchange);
            trace.spans.push(SpanRow {
                start_ns: start.as_nanos(),
                dur_ns: (*end - *start).as_nanos(),
                name,
                track: thread,
                category: categories[usize::from(is_exchange)],
                offset: 0,
            });
        }
    }
    trace
}

fn thread(trace: &mut Trace, rank: i64, is_exchange: bool) -> rankscope_trace::TrackId {
    let process = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(rank));
    let thread = trace.tracks.find_or_add(TrackKind::Thread, Some(process), TrackKey::Number(i64::from(is_exchange)));
    if trace.tracks.get(thread).name == StrId::EMPTY {
        let name = trace.strings.intern(&format!("rank {rank}"));
        trace.tracks.get_mut(process).name = name;
        trace.tracks.get_mut(process).sort_index = Some(rank);
        let name = trace.strings.intern(if is_exchange { "exchanges" } else { "computation" });
        trace.tracks.get_mut(thread).name = name;
    }
    thread
}
