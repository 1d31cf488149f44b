//! What planes, lines, events and statistics mean to analysis, by the names XLA's profilers give them.
//!
//! Time accounting asks one thing first: does this span occupy the device? On a GPU the lines called `Stream #...` do, on a
//! TPU the line `XLA Ops`. All other lines of a device retell the same time by step, module or framework operator, so
//! counting them too would count it twice.

use rankscope_trace::{ArgValue, Awaited, CategoryKind, InstantScope};

use super::collective::Parameter;
use super::flow::End;
use super::schema;
use crate::kineto::{DIRECTION, DeviceFacts, RECORDED_BY, SIZE, WAITS};

/// What a plane stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaneKind {
    /// Threads of a host, or only statistics.
    Host,
    /// A device whose streams each have a line.
    Gpu(i64),
    /// A device that shows its work by operator; none for one without a number.
    Accelerator(Option<i64>),
}

impl PlaneKind {
    /// By the plane's name: `/device:GPU:0`, also behind a prefix such as `/node:3`.
    pub(super) fn of(name: &str) -> Self {
        let Some((_, device)) = name.split_once("/device:") else { return Self::Host };
        let (kind, rest) = device.split_once(':').unwrap_or((device, ""));
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        match (kind, rest[..digits].parse().ok()) {
            ("CPU", _) => Self::Host,
            ("GPU", Some(index)) => Self::Gpu(index),
            (_, index) => Self::Accelerator(index),
        }
    }

    /// The device's number on its host.
    pub(super) fn device(self) -> Option<i64> {
        match self {
            Self::Host => None,
            Self::Gpu(index) => Some(index),
            Self::Accelerator(index) => index,
        }
    }
}

/// What the events of a line are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    /// A host thread.
    Thread,
    /// Work a device executed.
    Execution,
    /// Steps of the training loop, named by their number.
    Steps,
    /// The same device time told in other words.
    Derived,
    /// Values over time, each an event without length.
    Counters,
}

impl LineKind {
    /// By plane and the line's name.
    pub(super) fn of(plane: PlaneKind, name: &str) -> Self {
        let executes = name.starts_with("Stream") || (!matches!(plane, PlaneKind::Gpu(_)) && OPERATOR_LINES.contains(&name));
        match plane {
            _ if name == schema::COUNTER_LINE => Self::Counters,
            PlaneKind::Host => Self::Thread,
            _ if executes => Self::Execution,
            _ if name == "Steps" => Self::Steps,
            _ => Self::Derived,
        }
    }
}

const OPERATOR_LINES: [&str; 2] = ["XLA Ops", "Sparse Core Ops"];

/// What an event's name alone tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NameKind {
    /// A frame of the Python tracer.
    Python,
    /// A call into CUDA or HIP.
    Runtime,
    /// A copy by the device.
    Copy,
    /// A fill by the device.
    Fill,
    /// A function of the framework's own C++ code.
    Library,
    /// Nothing.
    #[default]
    Plain,
}

impl NameKind {
    /// By the event's name.
    pub(super) fn of(name: &str) -> Self {
        let after =
            |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
        match name {
            _ if name.starts_with('$') => Self::Python,
            _ if after("cu") || after("cuda") || after("hip") => Self::Runtime,
            _ if name.starts_with("Memcpy") || name.starts_with("__amd_rocclr_copy") => Self::Copy,
            _ if name.starts_with("Memset") || name.starts_with("__amd_rocclr_fill") => Self::Fill,
            _ if name.contains("::") => Self::Library,
            _ => Self::Plain,
        }
    }
}

/// What a statistic tells, by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// Ties a launch to the work it launched.
    Correlation,
    /// Ties work to its operator.
    ExternalId,
    /// The HLO instruction that ran.
    HloOp,
    /// What sort of HLO instruction it is.
    HloCategory,
    /// Particulars of a copy.
    CopyDetails,
    /// Particulars of a fill.
    FillDetails,
    /// The step a host event marks.
    Step,
    /// The shape an instruction yields.
    Shape,
    /// The instruction's replica groups.
    ReplicaGroups,
    /// The category a foreign profiler gave the event, in Kineto's words.
    Category,
    /// The C++ source line of a trace point: no user wrote it.
    Source,
    /// A parameter of a collective.
    Collective(Parameter),
    /// An end of a flow.
    Flow(End),
    /// Which way a copy went, how much it moved, and what a wait waits for, in the words of other formats.
    Direction,
    Size,
    WaitsFor,
    Waits,
    RecordedBy,
    /// That the event is an instant, and how far it reaches.
    Instant,
    /// Nothing analysis asks for.
    #[default]
    None,
}

impl Role {
    /// By the statistic's name.
    pub(super) fn of(name: &str) -> Self {
        match name {
            schema::CORRELATION_ID => Self::Correlation,
            schema::EXTERNAL_ID => Self::ExternalId,
            "hlo_op" => Self::HloOp,
            "hlo_category" => Self::HloCategory,
            schema::MEMCPY_DETAILS => Self::CopyDetails,
            schema::MEMSET_DETAILS => Self::FillDetails,
            schema::STEP_NUM => Self::Step,
            "shape_with_layout" => Self::Shape,
            "replica_groups" => Self::ReplicaGroups,
            schema::EVENT_CATEGORY => Self::Category,
            "_src" => Self::Source,
            DIRECTION => Self::Direction,
            SIZE => Self::Size,
            RECORDED_BY => Self::RecordedBy,
            _ if name == WAITS[0] => Self::WaitsFor,
            _ if name == WAITS[1] => Self::Waits,
            schema::INSTANT_SCOPE => Self::Instant,
            schema::FLOW => Self::Flow(End::Encoded),
            schema::PRODUCER_TYPE => Self::Flow(End::ProducerType),
            schema::PRODUCER_ID => Self::Flow(End::ProducerId),
            schema::CONSUMER_TYPE => Self::Flow(End::ConsumerType),
            schema::CONSUMER_ID => Self::Flow(End::ConsumerId),
            _ => Parameter::of(name).map_or(Self::None, Self::Collective),
        }
    }
}

/// What the statistics of one event say together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks<'a> {
    pub(super) correlation: Option<u64>,
    pub(super) external_id: Option<u64>,
    pub(super) hlo_op: Option<&'a str>,
    pub(super) hlo_category: Option<&'a str>,
    pub(super) copy: Option<&'a str>,
    pub(super) fill: Option<&'a str>,
    pub(super) step: Option<i64>,
    pub(super) shape: Option<&'a str>,
    pub(super) replica_groups: Option<&'a str>,
    pub(super) category: Option<(&'a str, ArgValue)>,
    /// What a foreign profiler's arguments tell about a device event.
    pub(super) facts: DeviceFacts,
    /// What they tell about a synchronisation.
    pub(super) awaited: Awaited,
    pub(super) has_source: bool,
    pub(super) has_parameters: bool,
    pub(super) has_flows: bool,
    pub(super) instant: Option<InstantScope>,
}

impl Marks<'_> {
    /// What an event of `line` called `name` is.
    pub(super) fn kind(&self, line: LineKind, name: NameKind) -> CategoryKind {
        if let Some((category, _)) = self.category {
            let kind = CategoryKind::of_kineto(category);
            // Only copies carry particulars of one.
            return if kind == CategoryKind::Kernel && self.copy.is_some() { CategoryKind::Memcpy } else { kind };
        }
        match line {
            LineKind::Steps | LineKind::Derived => CategoryKind::GpuUserAnnotation,
            LineKind::Execution if self.copy.is_some() || name == NameKind::Copy => CategoryKind::Memcpy,
            LineKind::Execution if self.fill.is_some() || name == NameKind::Fill => CategoryKind::Memset,
            LineKind::Execution => CategoryKind::Kernel,
            LineKind::Counters => CategoryKind::Other,
            LineKind::Thread => self.kind_on_host(name),
        }
    }

    /// A launch carries its kernel's `hlo_op` too, so launches are told first.
    fn kind_on_host(&self, name: NameKind) -> CategoryKind {
        match name {
            NameKind::Python => CategoryKind::PythonFunction,
            NameKind::Runtime => CategoryKind::Runtime,
            _ if self.step.is_some() => CategoryKind::UserAnnotation,
            _ if self.correlation.is_some() => CategoryKind::Runtime,
            _ if self.hlo_op.is_some() => CategoryKind::CpuOp,
            NameKind::Library => CategoryKind::Other,
            _ if self.has_source => CategoryKind::Other,
            _ => CategoryKind::UserAnnotation,
        }
    }

    /// The bytes a copy or fill says it moved. Zero is what a profiler writes that did not know.
    pub(super) fn bytes(&self) -> Option<u64> {
        let (_, rest) = self.copy.or(self.fill)?.split_once("size:")?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest[..digits].parse().ok().filter(|bytes| *bytes > 0)
    }
}

/// The text a category has in the trace: Kineto's, so that the other formats understand it.
pub(super) fn category_name(kind: CategoryKind) -> &'static str {
    match kind {
        CategoryKind::CpuOp => "cpu_op",
        CategoryKind::UserAnnotation => "user_annotation",
        CategoryKind::GpuUserAnnotation => "gpu_user_annotation",
        CategoryKind::Kernel => "kernel",
        CategoryKind::Memcpy => "gpu_memcpy",
        CategoryKind::Memset => "gpu_memset",
        CategoryKind::Runtime => "cuda_runtime",
        CategoryKind::Driver => "cuda_driver",
        CategoryKind::PythonFunction => "python_function",
        CategoryKind::Overhead => "overhead",
        CategoryKind::Sync => "cuda_sync",
        CategoryKind::CollectiveComm => "collective_comm",
        CategoryKind::Other => "trace",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_told_by_name() {
        for (name, expected) in [
            ("/host:CPU", PlaneKind::Host),
            ("Task Environment", PlaneKind::Host),
            ("/device:CPU:0", PlaneKind::Host),
            ("/device:GPU:12", PlaneKind::Gpu(12)),
            ("/node:3/device:GPU:1", PlaneKind::Gpu(1)),
            ("/device:TPU:3 SparseCore 1", PlaneKind::Accelerator(Some(3))),
            ("/device:CUSTOM:Megascale Trace", PlaneKind::Accelerator(None)),
        ] {
            assert_eq!(PlaneKind::of(name), expected, "{name}");
        }
    }

    #[test]
    fn device_time_is_counted_once() {
        let (gpu, tpu) = (PlaneKind::Gpu(0), PlaneKind::Accelerator(Some(0)));
        for (plane, line, expected) in [
            (gpu, "Stream #17(Kernel)", LineKind::Execution),
            (gpu, "XLA Ops", LineKind::Derived),
            (gpu, "XLA Modules", LineKind::Derived),
            (gpu, "Steps", LineKind::Steps),
            (tpu, "XLA Ops", LineKind::Execution),
            (tpu, "Async XLA Ops", LineKind::Derived),
            (PlaneKind::Host, "python", LineKind::Thread),
            (PlaneKind::Host, "_counters_", LineKind::Counters),
        ] {
            assert_eq!(LineKind::of(plane, line), expected, "{line}");
        }
    }

    #[test]
    fn launches_frames_and_annotations_are_told_apart() {
        let plain = Marks::default();
        let kernel_launch = Marks { correlation: Some(3), hlo_op: Some("fusion"), ..plain };
        let hlo = Marks { hlo_op: Some("fusion"), ..plain };
        for (marks, name, expected) in [
            (plain, "$profiler.py:307 trace", CategoryKind::PythonFunction),
            (kernel_launch, "hipModuleLaunchKernel", CategoryKind::Runtime),
            (kernel_launch, "launch", CategoryKind::Runtime),
            (plain, "cuLaunchKernel", CategoryKind::Runtime),
            (plain, "custom", CategoryKind::UserAnnotation),
            (hlo, "fusion", CategoryKind::CpuOp),
            (plain, "ThunkExecutor::Execute", CategoryKind::Other),
            (Marks { step: Some(1), ..plain }, "train", CategoryKind::UserAnnotation),
        ] {
            assert_eq!(marks.kind(LineKind::Thread, NameKind::of(name)), expected, "{name}");
        }
    }

    #[test]
    fn details_tell_the_bytes() {
        let copy = |text| Marks { copy: Some(text), ..Marks::default() }.bytes();
        assert_eq!(copy("kind_src:pageable size:4096 dest:0 async:1"), Some(4096));
        assert_eq!(copy("kind:Unknown size:0 dest:512 async:1"), None);
        assert_eq!(copy("kind:Unknown"), None);
    }
}
