//! Parameters of collectives as statistics, under the names Kineto's arguments have. XLA writes none of them; a Kineto trace
//! that went through this format keeps its collectives by them.

use rankscope_trace::{ArgValue, CollectiveArgs, StrId};

/// One parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
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
    SourceRank,
    DestinationRank,
    InSplit,
    OutSplit,
}

impl Parameter {
    /// Every parameter with its statistic's name.
    pub(super) const ALL: [(&'static str, Self); 14] = [
        ("Collective name", Self::Name),
        ("dtype", Self::Dtype),
        ("In msg nelems", Self::InElements),
        ("Out msg nelems", Self::OutElements),
        ("Group size", Self::GroupSize),
        ("Process Group Name", Self::GroupName),
        ("Process Group Description", Self::GroupDescription),
        ("Process Group Ranks", Self::GroupRanks),
        ("Seq", Self::Sequence),
        ("Comms Id", Self::Communicator),
        ("Src Rank", Self::SourceRank),
        ("Dst Rank", Self::DestinationRank),
        ("In split size", Self::InSplit),
        ("Out split size", Self::OutSplit),
    ];

    /// The parameter a statistic is called after.
    pub(super) fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, parameter)| *parameter)
    }

    /// What `args` says of it; none where that is unknown.
    pub(super) fn value(self, args: &CollectiveArgs) -> Option<ArgValue> {
        let text = |id: StrId| (!id.is_empty()).then_some(ArgValue::Text(id));
        let rank = |rank: Option<u32>| rank.map(|rank| ArgValue::I64(rank.into()));
        match self {
            Self::Name => text(args.name),
            Self::Dtype => text(args.dtype),
            Self::InElements => args.in_elements.map(ArgValue::U64),
            Self::OutElements => args.out_elements.map(ArgValue::U64),
            Self::GroupSize => rank(args.group_size),
            Self::GroupName => text(args.group_name),
            Self::GroupDescription => text(args.group_description),
            Self::GroupRanks => text(args.group_ranks),
            Self::Sequence => args.sequence.map(ArgValue::U64),
            Self::Communicator => text(args.communicator),
            Self::SourceRank => rank(args.source_rank),
            Self::DestinationRank => rank(args.destination_rank),
            Self::InSplit => text(args.in_split),
            Self::OutSplit => text(args.out_split),
        }
    }

    /// Puts it into `args`, as a number or a text, whichever it is.
    pub(super) fn put(self, args: &mut CollectiveArgs, number: Option<u64>, text: StrId) {
        let small = number.and_then(|number| u32::try_from(number).ok());
        match self {
            Self::Name => args.name = text,
            Self::Dtype => args.dtype = text,
            Self::InElements => args.in_elements = number,
            Self::OutElements => args.out_elements = number,
            Self::GroupSize => args.group_size = small,
            Self::GroupName => args.group_name = text,
            Self::GroupDescription => args.group_description = text,
            Self::GroupRanks => args.group_ranks = text,
            Self::Sequence => args.sequence = number,
            Self::Communicator => args.communicator = text,
            Self::SourceRank => args.source_rank = small,
            Self::DestinationRank => args.destination_rank = small,
            Self::InSplit => args.in_split = text,
            Self::OutSplit => args.out_split = text,
        }
    }
}

#[cfg(test)]
mod tests {
    use rankscope_trace::SpanId;

    use super::*;

    #[test]
    fn every_parameter_comes_back() {
        let mut args = CollectiveArgs::of(SpanId(0));
        for (at, (name, parameter)) in (1..).zip(Parameter::ALL) {
            assert_eq!(Parameter::of(name), Some(parameter));
            parameter.put(&mut args, Some(u64::from(at)), StrId(at));
        }
        let mut again = CollectiveArgs::of(SpanId(0));
        for (_, parameter) in Parameter::ALL {
            match parameter.value(&args) {
                Some(ArgValue::Text(text)) => parameter.put(&mut again, None, text),
                Some(ArgValue::U64(number)) => parameter.put(&mut again, Some(number), StrId::EMPTY),
                Some(ArgValue::I64(number)) => parameter.put(&mut again, Some(number as u64), StrId::EMPTY),
                other => panic!("{parameter:?} is {other:?}"),
            }
        }
        assert_eq!(again, args);
    }
}
