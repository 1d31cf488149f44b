//! Arguments that analysis has columns for, by the names torch's profiler gives them.

use rankscope_trace::{ArgValue, CategoryKind, CollectiveArgs, SpanId, StrId, Trace};
use rustc_hash::FxHashMap;

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
}

const COLUMNS: [(&str, Column); 21] = [
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
];

/// Which keys of a trace have columns.
#[derive(Debug, Default)]
pub(super) struct Columns {
    known: FxHashMap<StrId, Option<Column>>,
}

impl Columns {
    /// Files the arguments of the newest span into the columns of `trace`.
    pub(super) fn file(&mut self, trace: &mut Trace, span: SpanId, kind: CategoryKind, args: &[(StrId, ArgValue)]) {
        let mut collective = CollectiveArgs::of(span);
        for (key, value) in args {
            let strings = &trace.strings;
            let column = *self.known.entry(*key).or_insert_with(|| {
                let text = strings.text(*key);
                COLUMNS.iter().find(|(name, _)| *name == text).map(|(_, column)| *column)
            });
            let Some(column) = column else { continue };
            let number = unsigned(trace, *value);
            let small = number.and_then(|number| u32::try_from(number).ok());
            let text = text(trace, *value);
            match column {
                Column::Correlation => number.into_iter().for_each(|id| trace.correlations.push(span, id)),
                Column::ExternalId => number.into_iter().for_each(|id| trace.external_ids.push(span, id)),
                Column::Bytes if kind.is_device_work() => number.into_iter().for_each(|n| trace.bytes.push(span, n)),
                Column::Bytes => {}
                Column::Name => collective.name = text,
                Column::Dtype => collective.dtype = text,
                Column::InElements => collective.in_elements = number,
                Column::OutElements => collective.out_elements = number,
                Column::GroupSize => collective.group_size = small,
                Column::GroupName => collective.group_name = text,
                Column::GroupDescription => collective.group_description = text,
                Column::GroupRanks => collective.group_ranks = text,
                Column::Sequence => collective.sequence = number,
                Column::Communicator => collective.communicator = text,
                Column::Source => collective.source_rank = small,
                Column::Destination => collective.destination_rank = small,
                Column::InSplit => collective.in_split = text,
                Column::OutSplit => collective.out_split = text,
            }
        }
        if !collective.name.is_empty() {
            trace.collectives.push(collective);
        }
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
