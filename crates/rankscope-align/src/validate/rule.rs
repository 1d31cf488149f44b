//! What is asked, and what a no weighs.

/// What it means that a rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weight {
    /// It cannot have happened as the traces show it.
    Violation,
    /// A viewer leaves something out or draws it wrongly; the events themselves may be right. Profilers in use write such
    /// files.
    Loss,
    /// Something is missing or was damaged when the trace was recorded or read.
    Warning,
}

impl Weight {
    /// The name in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Violation => "violation",
            Self::Loss => "loss",
            Self::Warning => "warning",
        }
    }
}

/// One thing that is asked of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// No rank leaves a collective that needs all ranks before every rank has entered it.
    CollectiveOverlap,
    /// No rank leaves a broadcast or scatter before its root has entered it, and no root a reduce or gather before all have.
    RootTakesPart,
    /// No receive ends before its send starts.
    ReceiveAfterSend,
    /// No kernel starts before the call that launches it.
    KernelAfterLaunch,
    /// Whoever waits for an event says who recorded it, and that recording is in the trace.
    WaitNamesRecord,
    /// The recording of the event that a stream waits for is no later than the wait.
    RecordBeforeWait,
    /// A stream that is synchronised runs no kernel any more.
    StreamIdleAtSync,
    /// A collective's operator tells its name, type, sizes and group size.
    CollectiveFields,
    /// One sequence number belongs to one backward operator.
    BackwardName,
    /// Spans of one thread or stream nest or follow each other.
    Nesting,
    /// A flow begins once.
    FlowId,
    /// A flow that ends has begun.
    FlowBegin,
    /// A point of a flow lies within a span.
    FlowEnclosed,
    /// A flow ends no earlier than it begins.
    FlowForward,
    /// The file could be read as a whole.
    Damage,
    /// The profiler lost nothing and complained of nothing.
    Drops,
    /// Every span has ended.
    Unfinished,
    /// Every duration is one that a clock can have measured.
    Duration,
    /// Every event lies near the others.
    Outside,
}

impl Rule {
    /// The rules across ranks.
    pub const ACROSS_RANKS: [Self; 3] = [Self::CollectiveOverlap, Self::RootTakesPart, Self::ReceiveAfterSend];

    /// The rules of a single trace.
    pub const OF_TRACE: [Self; 16] = [
        Self::KernelAfterLaunch,
        Self::WaitNamesRecord,
        Self::RecordBeforeWait,
        Self::StreamIdleAtSync,
        Self::CollectiveFields,
        Self::BackwardName,
        Self::Nesting,
        Self::FlowId,
        Self::FlowBegin,
        Self::FlowEnclosed,
        Self::FlowForward,
        Self::Damage,
        Self::Drops,
        Self::Unfinished,
        Self::Duration,
        Self::Outside,
    ];

    /// The name in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::CollectiveOverlap => "collective_overlap",
            Self::RootTakesPart => "root_takes_part",
            Self::ReceiveAfterSend => "receive_after_send",
            Self::KernelAfterLaunch => "kernel_after_launch",
            Self::WaitNamesRecord => "wait_names_record",
            Self::RecordBeforeWait => "record_before_wait",
            Self::StreamIdleAtSync => "stream_idle_at_sync",
            Self::CollectiveFields => "collective_fields",
            Self::BackwardName => "backward_name",
            Self::Nesting => "nesting",
            Self::FlowId => "flow_id",
            Self::FlowBegin => "flow_begin",
            Self::FlowEnclosed => "flow_enclosed",
            Self::FlowForward => "flow_forward",
            Self::Damage => "damage",
            Self::Drops => "drops",
            Self::Unfinished => "unfinished",
            Self::Duration => "duration",
            Self::Outside => "outside",
        }
    }

    /// What it means that the rule is broken.
    pub fn weight(self) -> Weight {
        match self {
            Self::CollectiveOverlap
            | Self::RootTakesPart
            | Self::ReceiveAfterSend
            | Self::KernelAfterLaunch
            | Self::RecordBeforeWait
            | Self::StreamIdleAtSync => Weight::Violation,
            Self::BackwardName | Self::Nesting | Self::FlowId | Self::FlowBegin | Self::FlowEnclosed | Self::FlowForward => {
                Weight::Loss
            }
            // What older profilers did not record is missing, and not impossible.
            Self::WaitNamesRecord | Self::CollectiveFields => Weight::Warning,
            Self::Damage | Self::Drops | Self::Unfinished | Self::Duration | Self::Outside => Weight::Warning,
        }
    }
}
