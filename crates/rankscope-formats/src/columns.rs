//! Arguments that analysis has columns for, by the names torch's profiler gives them.

use rankscope_trace::{ArgValue, Awaited, CategoryKind, CollectiveArgs, CopyDirection, SpanId, StrId, Trace};
use rustc_hash::FxHashMap;

use crate::kineto::{
    DIRECTION, DeviceFacts, RECORDED_BY, SIZE, WAITS, collective_of_annotation, device_kind, elements, first_type,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Correlation,
    ExternalId,
    Bytes,
    Name,
    Dtype,
    InElements,
    OutElements,
    GroupSize,
    GroupName,
    GroupDescription,
    GroupRanks,
    Sequence,
    Communicator,
    Source,
    Destination,
    InSplit,
    OutSplit,
    Dims,
    Types,
    Direction,
    Size,
    WaitsFor,
    Waits,
    RecordedBy,
}

const COLUMNS: [(&str, Column); 28] = [
    ("correlation", Column::Correlation),
    ("External id", Column::ExternalId),
    ("external id", Column::ExternalId),
    ("bytes", Column::Bytes),
    ("Bytes", Column::Bytes),
    ("Collective name", Column::Name),
    ("dtype", Column::Dtype),
    ("In msg nelems", Column::InElements),
    ("Out msg nelems", Column::OutElements),
    ("Group size", Column::GroupSize),
    ("Process Group Name", Column::GroupName),
    ("Process Group Description", Column::GroupDescription),
    ("Process Group Ranks", Column::GroupRanks),
    ("Seq", Column::Sequence),
    ("Sequence", Column::Sequence),
    ("Comms Id", Column::Communicator),
    ("Comm Id", Column::Communicator),
    ("Src Rank", Column::Source),
    ("Dst Rank", Column::Destination),
    ("In split size", Column::InSplit),
    ("Out split size", Column::OutSplit),
    ("Input Dims", Column::Dims),
    ("Input type", Column::Types),
    (DIRECTION, Column::Direction),
    (SIZE, Column::Size),
    (WAITS[0], Column::WaitsFor),
    (WAITS[1], Column::Waits),
    (RECORDED_BY, Column::RecordedBy),
];

/// Which keys of a trace have columns.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    known: FxHashMap<StrId, Option<Column>>,
}

impl Columns {
    /// Files the arguments of the newest span into the columns of `trace`.
    pub(crate) fn file(&mut self, trace: &mut Trace, span: SpanId, kind: CategoryKind, args: &[(StrId, ArgValue)]) {
        let mut collective = CollectiveArgs::of(span);
        let (mut facts, mut awaited) = (DeviceFacts::default(), Awaited::default());
        let (mut dims, mut types) = (StrId::EMPTY, StrId::EMPTY);
        for (key, value) in args {
            let strings = &trace.strings;
            let column = *self.known.entry(*key).or_insert_with(|| {
                let text = strings.text(*key);
                COLUMNS.iter().find(|(name, _)| *name == text).map(|(_, column)| *column)
            });
            let Some(column) = column else { continue };
            let number = || unsigned(trace, *value);
            let small = || number().and_then(|number| u32::try_from(number).ok());
            match column {
                Column::Correlation => push(number(), |id| trace.correlations.push(span, id)),
                Column::ExternalId => push(number(), |id| trace.external_ids.push(span, id)),
                Column::Bytes if kind.is_device_work() => push(number(), |count| trace.bytes.push(span, count)),
                Column::Bytes => {}
                Column::InElements => collective.in_elements = number(),
                Column::OutElements => collective.out_elements = number(),
                Column::GroupSize => collective.group_size = small(),
                Column::Sequence => collective.sequence = number(),
                Column::Source => collective.source_rank = small(),
                Column::Destination => collective.destination_rank = small(),
                Column::Name => collective.name = text(trace, *value),
                Column::Dtype => collective.dtype = text(trace, *value),
                Column::GroupName => collective.group_name = text(trace, *value),
                Column::GroupDescription => collective.group_description = text(trace, *value),
                Column::GroupRanks => collective.group_ranks = text(trace, *value),
                Column::Communicator => collective.communicator = text(trace, *value),
                Column::InSplit => collective.in_split = text(trace, *value),
                Column::OutSplit => collective.out_split = text(trace, *value),
                Column::Dims => dims = text(trace, *value),
                Column::Types => types = text(trace, *value),
                Column::Direction => {
                    if let ArgValue::Text(said) = *value {
                        facts.direction = Some(CopyDirection::of_text(trace.strings.text(said)));
                    }
                }
                Column::Size => facts.size = number(),
                Column::WaitsFor => (facts.waits, awaited.stream) = (true, small()),
                Column::Waits => facts.waits = true,
                Column::RecordedBy => awaited.recorded_by = number(),
            }
        }
        if kind.is_device_work() {
            let category = trace.spans.row(span).category;
            let name = trace.name(span).to_owned();
            file_device(trace, span, kind, name.as_bytes(), &facts, |trace, kind| {
                let text = trace.strings.text(trace.categories[usize::from(category)].name).to_owned();
                trace.category(&text, kind)
            });
        }
        if kind == CategoryKind::Sync && !awaited.is_empty() {
            trace.awaited.push(span, awaited);
        }
        if collective.name.is_empty() && kind == CategoryKind::UserAnnotation {
            from_annotation(trace, &mut collective, dims, types);
        }
        if !collective.name.is_empty() {
            trace.collectives.push(collective);
        }
    }
}

/// A backend's annotation says what it does in its name and how much in the shapes of its inputs.
fn from_annotation(trace: &mut Trace, to: &mut CollectiveArgs, dims: StrId, types: StrId) {
    let name = trace.name(to.span).to_owned();
    let Some(collective) = collective_of_annotation(name.as_bytes()) else { return };
    to.name = trace.strings.intern(&String::from_utf8_lossy(collective));
    to.in_elements = elements(trace.strings.text(dims).as_bytes());
    let dtype = first_type(trace.strings.text(types).as_bytes()).map(|dtype| String::from_utf8_lossy(dtype).into_owned());
    to.dtype = dtype.map_or(StrId::EMPTY, |dtype| trace.strings.intern(&dtype));
}

/// Files what the arguments of device event `span` tell about its nature: a category of the same name and another kind, which
/// `category` finds, and for a copy its size and direction.
pub(crate) fn file_device(
    trace: &mut Trace,
    span: SpanId,
    kind: CategoryKind,
    name: &[u8],
    facts: &DeviceFacts,
    category: impl FnOnce(&mut Trace, CategoryKind) -> u16,
) {
    let nature = device_kind(kind, name, facts);
    if nature != kind {
        trace.spans.category[span.0 as usize] = category(trace, nature);
    }
    if nature != CategoryKind::Memcpy {
        return;
    }
    if let Some(direction) = facts.direction {
        trace.directions.push(span, direction);
    }
    if let Some(size) = facts.size.filter(|_| trace.bytes.get(span).is_none()) {
        trace.bytes.push(span, size);
    }
}

fn push(value: Option<u64>, to: impl FnOnce(u64)) {
    if let Some(value) = value {
        to(value);
    }
}

/// Numbers also come as text: render stages have nothing else.
fn unsigned(trace: &Trace, value: ArgValue) -> Option<u64> {
    match value {
        ArgValue::I64(value) => u64::try_from(value).ok(),
        ArgValue::U64(value) => Some(value),
        ArgValue::Text(text) => trace.strings.text(text).parse().ok(),
        _ => None,
    }
}

fn text(trace: &mut Trace, value: ArgValue) -> StrId {
    match value {
        ArgValue::Text(text) | ArgValue::Json(text) | ArgValue::Ref(text) => text,
        ArgValue::I64(value) => trace.strings.intern(&value.to_string()),
        ArgValue::U64(value) => trace.strings.intern(&value.to_string()),
        _ => StrId::EMPTY,
    }
}
