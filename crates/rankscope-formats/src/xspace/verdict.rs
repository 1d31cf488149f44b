//! What one event is: its plane's tables and its own statistics, judged together.

use rankscope_trace::{ArgValue, Awaited, CategoryKind, CopyDirection, InstantScope, StrId, Strings};

use super::classify::{LineKind, Marks, NameKind, PlaneKind, Role};
use super::collective::Parameter;
use super::flow::scope_of_number;
use super::hlo;
use super::plane::{RawStat, RawStatName};
use crate::kineto::device_kind;

/// The tables of a plane, resolved.
pub(super) struct Tables {
    pub(super) kind: PlaneKind,
    pub(super) roles: Vec<Role>,
    pub(super) stat_names: Vec<RawStatName>,
    pub(super) sorts: Vec<Sort>,
    /// Where this plane's descriptions start among the trace's.
    pub(super) descriptions: u32,
}

/// A sort of event: what its entry in the event metadata tells about each of them.
pub(super) struct Sort {
    pub(super) known: bool,
    pub(super) name: StrId,
    pub(super) label: StrId,
    pub(super) kind: NameKind,
    /// Its name or label is that of a collective.
    pub(super) is_collective: bool,
    /// The statistics of the entry that have a role.
    pub(super) stats: Vec<RawStat>,
}

/// What one event turned out to be.
pub(super) struct Verdict {
    pub(super) kind: CategoryKind,
    pub(super) category: Option<ArgValue>,
    pub(super) correlation: Option<u64>,
    pub(super) external_id: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) direction: Option<CopyDirection>,
    pub(super) awaited: Awaited,
    pub(super) step: Option<i64>,
    pub(super) collective: Option<Collective>,
    pub(super) has_parameters: bool,
    pub(super) has_flows: bool,
    pub(super) instant: Option<InstantScope>,
}

pub(super) struct Collective {
    pub(super) name: String,
    pub(super) shape: Option<(String, u64)>,
    pub(super) groups: Option<String>,
}

/// Looks up what judging needs.
pub(super) struct Judge<'a> {
    pub(super) tables: &'a Tables,
    /// Names of events and statistics.
    pub(super) names: &'a Strings,
    /// Values of statistics.
    pub(super) values: &'a Strings,
}

impl<'a> Judge<'a> {
    /// What an event of `line` with these statistics is.
    pub(super) fn verdict(&self, line: LineKind, sort: &Sort, stats: &[RawStat]) -> Verdict {
        let mut marks = Marks::default();
        for stat in sort.stats.iter().chain(stats) {
            self.mark(&mut marks, stat);
        }
        let name = self.names.text(sort.name);
        let kind = marks.kind(line, sort.kind);
        // XLA has categories of its own for what a foreign profiler's arguments tell.
        let kind = if marks.category.is_some() { device_kind(kind, name.as_bytes(), &marks.facts) } else { kind };
        let step = match line {
            LineKind::Steps => name.trim().parse().ok(),
            _ => marks.step,
        };
        let is_work = (line == LineKind::Execution && kind == CategoryKind::Kernel) || kind == CategoryKind::CpuOp;
        // Another format's kernels have their parameters elsewhere, and a bare name would hide them.
        let named = is_work && !marks.has_parameters && marks.category.is_none();
        Verdict {
            kind,
            category: marks.category.map(|(_, value)| value),
            // Derived lines repeat their kernels' ids, which would tie a launch to several.
            correlation: marks.correlation.filter(|_| marks.category.is_some() || kind.is_device_work() || kind.is_launch()),
            external_id: marks.external_id,
            bytes: marks.bytes().or(marks.facts.size.filter(|_| kind == CategoryKind::Memcpy)),
            direction: marks.facts.direction.filter(|_| kind == CategoryKind::Memcpy),
            awaited: if kind == CategoryKind::Sync { marks.awaited } else { Awaited::default() },
            step,
            has_parameters: marks.has_parameters,
            has_flows: marks.has_flows,
            instant: marks.instant,
            collective: if named { self.collective(&marks, sort) } else { None },
        }
    }

    fn mark(&self, marks: &mut Marks<'a>, stat: &RawStat) {
        let role = self.tables.roles[stat.key as usize];
        if role == Role::None {
            return;
        }
        let text = self.text(stat.value);
        let number = number(stat.value);
        let unsigned = number.and_then(|number| u64::try_from(number).ok());
        match role {
            Role::Correlation => marks.correlation = unsigned.filter(|id| *id > 0),
            Role::ExternalId => marks.external_id = unsigned,
            Role::HloOp => marks.hlo_op = text,
            Role::HloCategory => marks.hlo_category = text,
            Role::CopyDetails => marks.copy = text,
            Role::FillDetails => marks.fill = text,
            Role::Step => marks.step = number,
            Role::Shape => marks.shape = text,
            Role::ReplicaGroups => marks.replica_groups = text,
            Role::Category => marks.category = text.map(|text| (text, stat.value)),
            Role::Source => marks.has_source = true,
            Role::Collective(Parameter::Name) => marks.has_parameters = true,
            Role::Collective(_) => {}
            Role::Flow(_) => marks.has_flows = true,
            Role::Direction => marks.facts.direction = text.map(CopyDirection::of_text),
            Role::Size => marks.facts.size = unsigned,
            Role::WaitsFor => {
                marks.facts.waits = true;
                marks.awaited.stream = unsigned.and_then(|stream| u32::try_from(stream).ok());
            }
            Role::Waits => marks.facts.waits = true,
            Role::RecordedBy => marks.awaited.recorded_by = unsigned,
            Role::Instant => marks.instant = unsigned.map(scope_of_number),
            Role::None => {}
        }
    }

    fn collective(&self, marks: &Marks<'_>, sort: &Sort) -> Option<Collective> {
        let (name, label) = (self.names.text(sort.name), self.names.text(sort.label));
        let called = marks
            .hlo_op
            .and_then(hlo::collective)
            .or_else(|| if sort.is_collective { named_collective(name, label) } else { None })
            .or_else(|| marks.hlo_category.and_then(hlo::collective))?;
        let shape = marks.shape.and_then(hlo::shape).or_else(|| hlo::shape(name.split_once(" = ")?.1));
        let groups = marks.replica_groups.or_else(|| hlo::replica_groups(name));
        Some(Collective {
            name: called.into(),
            shape: shape.map(|(dtype, elements)| (dtype.into(), elements)),
            groups: groups.map(str::to_owned),
        })
    }

    /// The text of a value, whether written out or referred to.
    pub(super) fn text(&self, value: ArgValue) -> Option<&'a str> {
        match value {
            ArgValue::Text(id) => Some(self.values.text(id)),
            ArgValue::Ref(to) => Some(self.names.text(self.tables.stat_names[to.0 as usize].name)),
            _ => None,
        }
    }
}

impl Tables {
    /// `value` as the trace keeps it.
    pub(super) fn value(&self, value: ArgValue) -> ArgValue {
        match value {
            ArgValue::Ref(to) => ArgValue::Ref(self.stat_names[to.0 as usize].name),
            value => value,
        }
    }
}

impl Verdict {
    /// Device work hangs on it: a launch, an annotation, a step, a collective.
    pub(super) fn matters_to_device(&self) -> bool {
        let means_something = self.step.is_some() || self.collective.is_some() || self.has_parameters;
        means_something || self.kind.is_launch() || self.kind == CategoryKind::UserAnnotation
    }
}

/// The collective a sort of event is named after.
pub(super) fn named_collective<'t>(name: &'t str, label: &'t str) -> Option<&'t str> {
    hlo::collective(label).or_else(|| hlo::collective(name)).or_else(|| hlo::nccl_collective(name))
}

/// `value` as a signed integer.
pub(super) fn number(value: ArgValue) -> Option<i64> {
    match value {
        ArgValue::I64(number) => Some(number),
        ArgValue::U64(number) => i64::try_from(number).ok(),
        _ => None,
    }
}
