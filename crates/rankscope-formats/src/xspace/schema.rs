//! Field numbers of `xplane.proto`, and the names its writers agreed on.

/// Fields of `XSpace`.
pub(super) mod space {
    pub(crate) const PLANES: u32 = 1;
    pub(crate) const ERRORS: u32 = 2;
    pub(crate) const WARNINGS: u32 = 3;
    pub(crate) const HOSTNAMES: u32 = 4;
}

/// Fields of `XPlane`.
pub(super) mod plane {
    pub(crate) const ID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const LINES: u32 = 3;
    pub(crate) const EVENT_METADATA: u32 = 4;
    pub(crate) const STAT_METADATA: u32 = 5;
    pub(crate) const STATS: u32 = 6;
}

/// Fields of the entry message that protobuf makes of a map.
pub(super) mod entry {
    pub(crate) const KEY: u32 = 1;
    pub(crate) const VALUE: u32 = 2;
}

/// Fields of `XLine`.
pub(super) mod line {
    pub(crate) const ID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const TIMESTAMP_NS: u32 = 3;
    pub(crate) const EVENTS: u32 = 4;
    pub(crate) const DURATION_PS: u32 = 9;
    pub(crate) const DISPLAY_ID: u32 = 10;
    pub(crate) const DISPLAY_NAME: u32 = 11;
}

/// Fields of `XEvent`. Offset and occurrences exclude each other.
pub(super) mod event {
    pub(crate) const METADATA_ID: u32 = 1;
    pub(crate) const OFFSET_PS: u32 = 2;
    pub(crate) const DURATION_PS: u32 = 3;
    pub(crate) const STATS: u32 = 4;
    pub(crate) const NUM_OCCURRENCES: u32 = 5;
}

/// Fields of `XStat`. All but the first exclude each other.
pub(super) mod stat {
    pub(crate) const METADATA_ID: u32 = 1;
    pub(crate) const DOUBLE: u32 = 2;
    pub(crate) const UINT64: u32 = 3;
    pub(crate) const INT64: u32 = 4;
    pub(crate) const STR: u32 = 5;
    pub(crate) const BYTES: u32 = 6;
    pub(crate) const REF: u32 = 7;
}

/// Fields of `XEventMetadata`.
pub(super) mod event_metadata {
    pub(crate) const ID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const METADATA: u32 = 3;
    pub(crate) const DISPLAY_NAME: u32 = 4;
    pub(crate) const STATS: u32 = 5;
    pub(crate) const CHILD_ID: u32 = 6;
}

/// Fields of `XStatMetadata`.
pub(super) mod stat_metadata {
    pub(crate) const ID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const DESCRIPTION: u32 = 3;
}

/// The plane of the host's threads.
pub(super) const HOST_PLANE: &str = "/host:CPU";
/// The plane that says when profiling started and stopped.
pub(super) const ENVIRONMENT_PLANE: &str = "Task Environment";
/// The plane of a tracer's clock beside the host's.
pub(super) const SNAPSHOT_PLANE: &str = "/host:snapshots";
/// Its line.
pub(super) const SNAPSHOT_LINE: &str = "Clock Snapshots";
/// Its events, one a pair.
pub(super) const SNAPSHOT_EVENT: &str = "Snapshot";
/// What the tracer's clock showed.
pub(super) const TRACER_NS: &str = "rocm_ns";
/// How far a pair may be off; ours.
pub(super) const HALF_WIDTH_NS: &str = "half_width_ns";
/// The tracer whose clock it is where the plane names none.
pub(super) const TRACER_DEFAULT: &str = "rocprofiler";
/// The plane of the host's clocks beside the trace's own; ours, written by rankscope-pjrt.
pub(super) const CLOCK_PLANE: &str = "/rankscope:clock";
/// Its line.
pub(super) const CLOCK_LINE: &str = "Clock Anchors";
/// Its events, one a reading.
pub(super) const CLOCK_EVENT: &str = "Anchor";
/// What the wall clock showed.
pub(super) const WALL_NS: &str = "wall_ns";
/// What `CLOCK_MONOTONIC_RAW` showed.
pub(super) const RAW_NS: &str = "raw_ns";
/// How far apart the readings around were.
pub(super) const WIDTH_NS: &str = "width_ns";
/// The rank that the launcher gave the process.
pub(super) const LAUNCHED_RANK: &str = "rank";
/// Of how many.
pub(super) const LAUNCHED_SIZE: &str = "world_size";
/// The line viewers draw as graphs.
pub(super) const COUNTER_LINE: &str = "_counters_";
/// The id of that line where it is ours; no thread has it.
pub(super) const COUNTER_LINE_ID: i64 = i64::MAX;

/// What line stamps are relative to, in nanoseconds since the epoch.
pub(super) const PROFILE_START: &str = "profile_start_time";
/// When profiling stopped, in nanoseconds since the epoch.
pub(super) const PROFILE_STOP: &str = "profile_stop_time";
/// The marketing name of a plane's device.
pub(super) const DEVICE_TYPE: &str = "device_type_string";
/// The rank of the process.
pub(super) const PROCESS_INDEX: &str = "process_index";
/// How many processes there are.
pub(super) const PROCESS_COUNT: &str = "process_count";

/// The process id of a host plane.
pub(super) const PROCESS_ID: &str = "process_id";
/// Ties a launch to the work it launched.
pub(super) const CORRELATION_ID: &str = "correlation_id";
/// Ties work to its operator; ours, for traces that came from another format.
pub(super) const EXTERNAL_ID: &str = "external_id";
/// The category of an event, in Kineto's words; ours, for traces that came from another format.
pub(super) const EVENT_CATEGORY: &str = "event_category";
/// The training step a host event marks.
pub(super) const STEP_NUM: &str = "step_num";
/// Particulars of a copy.
pub(super) const MEMCPY_DETAILS: &str = "memcpy_details";
/// Particulars of a fill.
pub(super) const MEMSET_DETAILS: &str = "memset_details";
/// One end of an arrow: direction in the low two bits, the flow's number in the 56 above.
pub(super) const FLOW: &str = "flow";

/// One end of an arrow within the framework: the kind of the context and its number, at whoever produces work in it ...
pub(super) const PRODUCER_TYPE: &str = "_pt";
/// ... its number ...
pub(super) const PRODUCER_ID: &str = "_p";
/// ... and at whoever consumes it.
pub(super) const CONSUMER_TYPE: &str = "_ct";
/// Its number there.
pub(super) const CONSUMER_ID: &str = "_c";
/// How far an instant reaches; ours, and what tells an instant from an event without length.
pub(super) const INSTANT_SCOPE: &str = "instant_scope";

/// The key under which a line's own length is kept among its track's arguments.
pub(super) const LINE_DURATION: &str = "duration_ps";
/// The key under which an aggregate's count is kept among its span's arguments.
pub(super) const OCCURRENCES: &str = "num_occurrences";
/// The category of aggregates: events that say how often something ran, not when.
pub(super) const AGGREGATE: &str = "aggregate";
/// Headers that are messages of the profiler, by the field they came in.
pub(super) const NOTICES: [(u32, &str); 3] =
    [(space::ERRORS, "errors"), (space::WARNINGS, "warnings"), (space::HOSTNAMES, "hostnames")];
/// What the header of a statistic's description starts with; the statistic's name follows.
pub(super) const STAT_DESCRIPTION: &str = "description of stat ";
