//! How much memory a trace takes, so that whoever holds many can stop in time.

use std::mem::size_of;

use crate::{ArgColumn, Spans, Sparse, Strings, Trace};

impl Trace {
    /// Bytes that its events, their arguments and their names take. What is small whatever the trace holds is left out.
    pub fn heap_bytes(&self) -> u64 {
        let columns = self.spans.heap_bytes() + self.instant_args.heap_bytes() + self.description_args.heap_bytes();
        let rows =
            list_bytes(&self.instants) + list_bytes(&self.counters) + list_bytes(&self.flows) + list_bytes(&self.collectives);
        let ties = self.correlations.heap_bytes() + self.external_ids.heap_bytes() + self.bytes.heap_bytes();
        let blobs: usize = self.blobs.iter().map(|blob| blob.len()).sum();
        let said = self.directions.heap_bytes() + self.awaited.heap_bytes() + self.gpu_times.heap_bytes();
        (columns + rows + ties + said + self.strings.heap_bytes() + blobs) as u64
    }
}

impl Spans {
    fn heap_bytes(&self) -> usize {
        let times = list_bytes(&self.start_ns) + list_bytes(&self.dur_ns) + list_bytes(&self.offset);
        let ids = list_bytes(&self.name) + list_bytes(&self.track) + list_bytes(&self.category);
        times + ids + list_bytes(&self.picos) + list_bytes(&self.description) + list_bytes(&self.place) + self.args.heap_bytes()
    }
}

impl ArgColumn {
    fn heap_bytes(&self) -> usize {
        list_bytes(&self.ends) + list_bytes(&self.keys) + list_bytes(&self.values)
    }
}

impl<T> Sparse<T> {
    fn heap_bytes(&self) -> usize {
        list_bytes(&self.spans) + list_bytes(&self.values)
    }
}

impl Strings {
    fn heap_bytes(&self) -> usize {
        // The table of ids has room for half as many again.
        self.text.capacity() + list_bytes(&self.ends) + self.ends.len() * 6
    }
}

fn list_bytes<T>(list: &Vec<T>) -> usize {
    list.capacity() * size_of::<T>()
}

#[cfg(test)]
mod tests {
    use crate::{CategoryKind, SpanRow, StrId, Trace, TrackKey, TrackKind};

    #[test]
    fn a_span_takes_at_least_what_its_columns_do() {
        let mut trace = Trace::default();
        let (empty, track) = (trace.heap_bytes(), trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(1)));
        let category = trace.category("cpu_op", CategoryKind::CpuOp);
        for start_ns in 0..1_000 {
            trace.spans.push(SpanRow { start_ns, dur_ns: 1, name: StrId::EMPTY, track, category, offset: 0 });
        }
        let taken = trace.heap_bytes() - empty;
        assert!((34_000..=100_000).contains(&taken), "{taken}");
    }
}
