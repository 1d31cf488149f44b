//! Finding the collectives of one trace.
//!
//! On a device they are the kernels that communicate. Their parameters stand on the kernel itself, or on the operator that
//! launched it: found by external id, else by the launch that lies within it. A kernel launched before the recording began has
//! neither; its stream then tells its group, and its name its kind. A trace without device work has its backend's annotations.

use std::sync::Arc;

use rankscope_time::Rank;
use rankscope_trace::{
    CategoryKind, CollectiveArgs, ProcessGroup, SpanId, StepMark, StrId, Trace, TrackId, TrackKey, TrackKind,
};
use rustc_hash::FxHashMap;

use crate::matching::RankCollectives;
use crate::{CommPatterns, Group, Kind, LocalCollective, Operation, Sequence, Splits, Step};

/// All collectives of `trace`, in order of their start.
pub fn extract(rank: Rank, trace: &Trace, patterns: &CommPatterns) -> RankCollectives {
    let found = find(trace, patterns);
    let described = Descriptions::of(trace);
    let mut groups = Groups::of(trace);
    let mut operations = Operations::default();
    let mut collectives: Vec<LocalCollective> = Vec::with_capacity(found.len());
    let (mut ungrouped, mut within_group) = (Vec::new(), Vec::new());
    let mut streams: FxHashMap<TrackId, OnStream> = FxHashMap::default();
    for span in found {
        let args = described.of_span(trace, span);
        let group = args.and_then(|args| groups.named(trace, args));
        let stream = trace.spans.row(span).track;
        match group {
            Some(group) => {
                let known = streams.entry(stream).or_insert(OnStream::Only(group));
                if *known != OnStream::Only(group) {
                    *known = OnStream::Several;
                }
            }
            None => ungrouped.push((collectives.len(), stream)),
        }
        let mut collective = local(trace, span, args, &mut operations);
        collective.group = group.unwrap_or(0) as u32;
        if collective.kind.is_point_to_point()
            && collective.peer.is_none()
            && let Some((start_ns, peer)) = described.message_around(trace, span)
        {
            (collective.start_ns, collective.peer) = (start_ns, Some(peer));
            within_group.push(collectives.len());
        }
        collectives.push(collective);
    }
    let unnamed = unnamed_groups(trace, ungrouped.iter().map(|(_, stream)| *stream));
    for (at, stream) in ungrouped {
        let group = match streams.get(&stream) {
            Some(OnStream::Only(only)) => *only,
            _ => groups.index(Group::only(trace).unwrap_or_else(|| Group::standing_in(unnamed[&stream].clone()))),
        };
        collectives[at].group = group as u32;
    }
    for at in within_group {
        let collective = &mut collectives[at];
        collective.peer = collective.peer.and_then(|peer| rank_within(trace, &groups.list[collective.group as usize], peer));
    }
    collectives.sort_by_key(|collective| (collective.start_ns, collective.span));
    RankCollectives { rank, groups: groups.list, collectives: collectives.into(), steps: steps(trace) }
}

/// The global rank of the one numbered `peer` within `group`. Of a group that is only stood in for nobody knows, unless the job
/// has no other than that of all ranks.
fn rank_within(trace: &Trace, group: &Group, peer: u32) -> Option<u32> {
    match &*group.ranks {
        [] => Some(peer).filter(|_| trace.provenance.process_groups.len() <= 1),
        ranks => ranks.get(peer as usize).map(|rank| rank.0),
    }
}

/// The steps that the profiler marked: on the device where it did so there, else on the host.
fn steps(trace: &Trace) -> Vec<Step> {
    let on_device = |mark: &&StepMark| trace.kind(mark.span) == CategoryKind::GpuUserAnnotation;
    let marks_device = trace.steps.iter().any(|mark| on_device(&mark));
    let step = |mark: &StepMark| Step {
        number: mark.number,
        start_ns: trace.spans.start_ns(mark.span),
        end_ns: trace.spans.end_ns(mark.span),
    };
    let mut steps: Vec<Step> = trace.steps.iter().filter(|mark| on_device(mark) == marks_device).map(step).collect();
    steps.sort_unstable_by_key(|step| (step.start_ns, step.number));
    steps
}

/// The spans that are collectives: kernels where a device worked, annotations of the host where none did.
fn find(trace: &Trace, patterns: &CommPatterns) -> Vec<SpanId> {
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
    let on_host = |args: &&CollectiveArgs| !describes(trace, args);
    trace.collectives.iter().filter(on_host).map(|args| args.span).collect()
}

/// Whether `args` are those of an operator that only describes the annotation or kernel within it.
fn describes(trace: &Trace, args: &CollectiveArgs) -> bool {
    let name = trace.name(args.span);
    name == "record_param_comms" || name.starts_with(DISPATCHED)
}

/// How operators of torch.distributed begin, which take a message's other end.
const DISPATCHED: &str = "c10d::";

/// The operations of one rank, each once.
#[derive(Default)]
struct Operations {
    /// By what was recorded of them.
    recorded: FxHashMap<Recorded, Arc<Operation>>,
    /// Of kernels that nothing describes, by their names.
    kernels: FxHashMap<StrId, Arc<Operation>>,
}

/// Name, element type, elements in and out, and the lists of what goes to and comes from each rank.
type Recorded = (StrId, StrId, Option<u64>, Option<u64>, StrId, StrId);

impl Operations {
    fn recorded(&mut self, trace: &Trace, args: &CollectiveArgs) -> Arc<Operation> {
        let CollectiveArgs { name, dtype, in_elements, out_elements, in_split, out_split, .. } = *args;
        let text = |id| trace.strings.text(id);
        let new = || {
            let (name, dtype) = (text(name).to_owned(), text(dtype).to_owned());
            let splits = Splits::of(trace.strings.text(in_split), trace.strings.text(out_split));
            Operation { kind: Kind::of_name(&name), name, dtype, in_elements, out_elements, splits }.into()
        };
        let key = (name, dtype, in_elements, out_elements, in_split, out_split);
        Arc::clone(self.recorded.entry(key).or_insert_with(new))
    }

    fn of_kernel(&mut self, trace: &Trace, span: SpanId) -> Arc<Operation> {
        let name = trace.spans.name[span.0 as usize];
        let new = || Operation::of(Kind::of_kernel(trace.strings.text(name))).into();
        Arc::clone(self.kernels.entry(name).or_insert_with(new))
    }
}

/// The stay of `span`, in no group yet.
fn local(trace: &Trace, span: SpanId, args: Option<&CollectiveArgs>, operations: &mut Operations) -> LocalCollective {
    let stay = |operation| LocalCollective::new(span, trace.spans.start_ns(span), trace.spans.end_ns(span), operation);
    let Some(args) = args else { return stay(operations.of_kernel(trace, span)) };
    let operation = operations.recorded(trace, args);
    let peer = match operation.kind {
        Kind::Send | Kind::Reduce | Kind::Gather => args.destination_rank,
        Kind::Recv | Kind::Broadcast | Kind::Scatter => args.source_rank,
        _ => None,
    };
    LocalCollective { sequence: Sequence::of(args.sequence), peer, ..stay(operation) }
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

/// The groups that a stream's collectives name, as indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnStream {
    Only(usize),
    Several,
}

/// What a collective says of its group: name, communicator, ranks, description and size.
type Naming = (StrId, StrId, StrId, StrId, Option<u32>);

/// The distinct groups of a rank.
struct Groups<'a> {
    list: Vec<Group>,
    indices: FxHashMap<Group, usize>,
    /// Groups by the texts that name them, which take time to read: a list of ranks may be long, and every collective has one.
    named: FxHashMap<Naming, Option<usize>>,
    /// Groups of the header by name, the first of each.
    header: FxHashMap<&'a str, &'a ProcessGroup>,
}

impl<'a> Groups<'a> {
    fn of(trace: &'a Trace) -> Self {
        let header = trace.provenance.process_groups.iter().rev().map(|group| (group.name.as_str(), group)).collect();
        Self { list: Vec::new(), indices: FxHashMap::default(), named: FxHashMap::default(), header }
    }

    /// The group that `args` name.
    fn named(&mut self, trace: &'a Trace, args: &CollectiveArgs) -> Option<usize> {
        let key = (args.group_name, args.communicator, args.group_ranks, args.group_description, args.group_size);
        if let Some(known) = self.named.get(&key) {
            return *known;
        }
        let group = Group::of(trace, args, |name| self.header.get(name).copied());
        let index = group.map(|group| self.index(group));
        self.named.insert(key, index);
        index
    }

    fn index(&mut self, group: Group) -> usize {
        if let Some(index) = self.indices.get(&group) {
            return *index;
        }
        self.list.push(group.clone());
        self.indices.insert(group, self.list.len() - 1);
        self.list.len() - 1
    }
}

/// Where the parameters of a kernel may stand.
struct Descriptions<'a> {
    by_span: FxHashMap<SpanId, &'a CollectiveArgs>,
    by_external_id: FxHashMap<u64, &'a CollectiveArgs>,
    launches: FxHashMap<u64, SpanId>,
    /// Operators with parameters, by thread and start.
    operators: FxHashMap<TrackId, Vec<(i64, i64, &'a CollectiveArgs)>>,
    /// Operators that send or receive, likewise.
    messages: FxHashMap<TrackId, Vec<(i64, i64, &'a CollectiveArgs)>>,
}

impl<'a> Descriptions<'a> {
    fn of(trace: &'a Trace) -> Self {
        let mut described = Self {
            by_span: trace.collectives.iter().map(|args| (args.span, args)).collect(),
            by_external_id: FxHashMap::default(),
            launches: FxHashMap::default(),
            operators: FxHashMap::default(),
            messages: FxHashMap::default(),
        };
        for args in trace.collectives.iter().filter(|args| trace.kind(args.span) == CategoryKind::CpuOp) {
            if trace.name(args.span).starts_with(DISPATCHED) {
                let row = trace.spans.row(args.span);
                let end_ns = trace.spans.end_ns(args.span);
                described.messages.entry(row.track).or_default().push((row.start_ns, end_ns, args));
                continue;
            }
            if let Some(id) = trace.external_ids.get(args.span) {
                described.by_external_id.entry(id).or_insert(args);
            }
            let row = trace.spans.row(args.span);
            described.operators.entry(row.track).or_default().push((row.start_ns, trace.spans.end_ns(args.span), args));
        }
        for operators in described.operators.values_mut().chain(described.messages.values_mut()) {
            operators.sort_by_key(|(start, ..)| *start);
        }
        if !described.operators.is_empty() {
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

    /// When the message whose annotation is `span` was handed over, and its other end: the operator that runs on its thread when
    /// it begins says. The annotation may outlast the operator, as the message does; and it may begin when the message has
    /// left already.
    fn message_around(&self, trace: &Trace, span: SpanId) -> Option<(i64, u32)> {
        let row = trace.spans.row(span);
        let operators = self.messages.get(&row.track)?;
        let before = operators.partition_point(|(start, ..)| *start <= row.start_ns);
        let (start_ns, end_ns, args) = operators.get(before.checked_sub(1)?)?;
        let peer = args.destination_rank.or(args.source_rank)?;
        (*end_ns >= row.start_ns).then_some((*start_ns, peer))
    }
}
