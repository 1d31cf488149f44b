//! Finding the collectives of one trace.
//!
//! On a device they are the kernels that communicate. Their parameters stand on the kernel itself, or on the operator that
//! launched it: found by external id, else by the launch that lies within it. A kernel launched before the recording began has
//! neither; its stream then tells its group, and its name its kind. A trace without device work has its backend's annotations.

use rankscope_time::Rank;
use rankscope_trace::{CategoryKind, CollectiveArgs, SpanId, Trace, TrackId, TrackKey, TrackKind};
use rustc_hash::FxHashMap;

use crate::matching::RankCollectives;
use crate::{CommPatterns, Group, Kind, LocalCollective};

/// All collectives of `trace`, in order of their start.
pub fn extract(rank: Rank, trace: &Trace, patterns: &CommPatterns) -> RankCollectives {
    let found = find(trace, patterns);
    let described = Descriptions::of(trace);
    let mut groups = Groups::default();
    let mut collectives: Vec<LocalCollective> = Vec::with_capacity(found.len());
    let mut ungrouped = Vec::new();
    let mut streams: FxHashMap<TrackId, Vec<usize>> = FxHashMap::default();
    for span in found {
        let args = described.of_span(trace, span);
        let group = args.and_then(|args| Group::of(trace, args)).map(|group| groups.index(group));
        let stream = trace.spans.row(span).track;
        match group {
            Some(group) => {
                let known = streams.entry(stream).or_default();
                if !known.contains(&group) {
                    known.push(group);
                }
            }
            None => ungrouped.push((collectives.len(), stream)),
        }
        collectives.push(local(trace, span, args, group.unwrap_or(0)));
    }
    let unnamed = unnamed_groups(trace, ungrouped.iter().map(|(_, stream)| *stream));
    for (at, stream) in ungrouped {
        let group = match streams.get(&stream).map(Vec::as_slice) {
            Some([only]) => *only,
            _ => groups.index(Group::only(trace).unwrap_or_else(|| Group::standing_in(unnamed[&stream].clone()))),
        };
        collectives[at].group = group;
    }
    collectives.sort_by_key(|collective| (collective.start_ns, collective.span));
    RankCollectives { rank, groups: groups.list, collectives }
}

/// The spans that are collectives: kernels where a device worked, annotations of the host where none did.
pub(crate) fn find(trace: &Trace, patterns: &CommPatterns) -> Vec<SpanId> {
    let kinds: Vec<CategoryKind> = trace.categories.iter().map(|category| category.kind).collect();
    let kind = |span: SpanId| kinds[usize::from(trace.spans.category[span.0 as usize])];
    if trace.spans.ids().any(|span| kind(span).is_device_work()) {
        let mut communicates: Vec<Option<bool>> = vec![None; trace.strings.len()];
        let mut is_comm = |span: SpanId| {
            let name = trace.spans.name[span.0 as usize];
            *communicates[name.0 as usize].get_or_insert_with(|| patterns.matches(trace.strings.text(name)))
        };
        return trace.spans.ids().filter(|span| kind(*span) == CategoryKind::Kernel && is_comm(*span)).collect();
    }
    let on_host = |args: &&CollectiveArgs| trace.name(args.span) != "record_param_comms";
    trace.collectives.iter().filter(on_host).map(|args| args.span).collect()
}

fn local(trace: &Trace, span: SpanId, args: Option<&CollectiveArgs>, group: usize) -> LocalCollective {
    let text = |id| trace.strings.text(id).to_owned();
    let start_ns = trace.spans.start_ns(span);
    let end_ns = trace.spans.end_ns(span);
    let Some(args) = args else {
        let kind = Kind::of_kernel(trace.name(span));
        let (name, dtype) = (kind.name().to_owned(), String::new());
        let (in_elements, out_elements, sequence, peer) = (None, None, None, None);
        return LocalCollective { span, start_ns, end_ns, kind, name, dtype, in_elements, out_elements, group, sequence, peer };
    };
    let kind = Kind::of_name(trace.strings.text(args.name));
    LocalCollective {
        span,
        start_ns,
        end_ns,
        kind,
        name: text(args.name),
        dtype: text(args.dtype),
        in_elements: args.in_elements,
        out_elements: args.out_elements,
        group,
        sequence: args.sequence,
        peer: match kind {
            Kind::Send | Kind::Reduce | Kind::Gather => args.destination_rank,
            Kind::Recv | Kind::Broadcast | Kind::Scatter => args.source_rank,
            _ => None,
        },
    }
}

/// Names for the groups of collectives of which only their streams are known. A library gives each communicator a stream of its
/// own, in the same order on every rank though not of the same number; threads of a host say nothing.
fn unnamed_groups(trace: &Trace, streams: impl Iterator<Item = TrackId>) -> FxHashMap<TrackId, String> {
    let order = |track: TrackId| match trace.tracks.get(track).key {
        TrackKey::Number(number) => (number, track),
        TrackKey::Text(_) => (i64::MAX, track),
    };
    let mut streams: Vec<TrackId> = streams.collect();
    streams.sort_unstable_by_key(|track| order(*track));
    streams.dedup();
    let (on_device, on_host): (Vec<_>, Vec<_>) =
        streams.into_iter().partition(|track| trace.tracks.get(*track).kind == TrackKind::Stream);
    let numbered = on_device.into_iter().enumerate().map(|(at, track)| (track, format!("unnamed {}", at + 1)));
    numbered.chain(on_host.into_iter().map(|track| (track, "of the host".to_owned()))).collect()
}

/// The distinct groups of a rank.
#[derive(Default)]
struct Groups {
    list: Vec<Group>,
}

impl Groups {
    fn index(&mut self, group: Group) -> usize {
        self.list.iter().position(|known| *known == group).unwrap_or_else(|| {
            self.list.push(group);
            self.list.len() - 1
        })
    }
}

/// Where the parameters of a kernel may stand.
struct Descriptions<'a> {
    by_span: FxHashMap<SpanId, &'a CollectiveArgs>,
    by_external_id: FxHashMap<u64, &'a CollectiveArgs>,
    launches: FxHashMap<u64, SpanId>,
    /// Operators with parameters, by thread and start.
    operators: FxHashMap<TrackId, Vec<(i64, i64, &'a CollectiveArgs)>>,
}

impl<'a> Descriptions<'a> {
    fn of(trace: &'a Trace) -> Self {
        let mut described = Self {
            by_span: trace.collectives.iter().map(|args| (args.span, args)).collect(),
            by_external_id: FxHashMap::default(),
            launches: FxHashMap::default(),
            operators: FxHashMap::default(),
        };
        for args in trace.collectives.iter().filter(|args| trace.kind(args.span) == CategoryKind::CpuOp) {
            if let Some(id) = trace.external_ids.get(args.span) {
                described.by_external_id.entry(id).or_insert(args);
            }
            let row = trace.spans.row(args.span);
            described.operators.entry(row.track).or_default().push((row.start_ns, trace.spans.end_ns(args.span), args));
        }
        if !described.operators.is_empty() {
            for operators in described.operators.values_mut() {
                operators.sort_by_key(|(start, ..)| *start);
            }
            let launches = trace.correlations.iter().filter(|(span, _)| trace.kind(*span).is_launch());
            described.launches = launches.map(|(span, correlation)| (correlation, span)).collect();
        }
        described
    }

    fn of_span(&self, trace: &Trace, span: SpanId) -> Option<&'a CollectiveArgs> {
        if let Some(args) = self.by_span.get(&span) {
            return Some(args);
        }
        if let Some(args) = trace.external_ids.get(span).and_then(|id| self.by_external_id.get(&id)) {
            return Some(args);
        }
        let launch = *self.launches.get(&trace.correlations.get(span)?)?;
        let row = trace.spans.row(launch);
        let operators = self.operators.get(&row.track)?;
        let before = operators.partition_point(|(start, ..)| *start <= row.start_ns);
        let (_, end, args) = operators.get(before.checked_sub(1)?)?;
        (*end >= trace.spans.end_ns(launch)).then_some(*args)
    }
}
