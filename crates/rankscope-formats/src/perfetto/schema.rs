//! Field numbers and enumeration values of Perfetto's messages, as far as they are read or written here.
//!
//! Source: the `.proto` files under `protos/perfetto/trace` of the Perfetto project. Numbers of a published field never change,
//! so this is a list and not a schema compiler's output.

/// `Trace.packet`.
pub(crate) const PACKET: u32 = 1;

/// `TracePacket`.
pub(crate) mod packet {
    pub(crate) const CLOCK_SNAPSHOT: u32 = 6;
    pub(crate) const TIMESTAMP: u32 = 8;
    pub(crate) const SEQUENCE_ID: u32 = 10;
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const INTERNED_DATA: u32 = 12;
    pub(crate) const SEQUENCE_FLAGS: u32 = 13;
    pub(crate) const TRACE_STATS: u32 = 35;
    pub(crate) const OLD_STATE_CLEARED: u32 = 41;
    pub(crate) const PREVIOUS_DROPPED: u32 = 42;
    pub(crate) const THREAD_DESCRIPTOR: u32 = 44;
    pub(crate) const COMPRESSED: u32 = 50;
    pub(crate) const GPU_COUNTER_EVENT: u32 = 52;
    pub(crate) const GPU_RENDER_STAGE_EVENT: u32 = 53;
    pub(crate) const TIMESTAMP_CLOCK_ID: u32 = 58;
    pub(crate) const DEFAULTS: u32 = 59;
    pub(crate) const TRACK_DESCRIPTOR: u32 = 60;
    pub(crate) const ZSTD_COMPRESSED: u32 = 133;

    /// Flag: what the sequence has sent before is no longer referred to.
    pub(crate) const STATE_CLEARED: u64 = 1;
    /// Flag: the packet makes no sense without what the sequence has sent before.
    pub(crate) const NEEDS_STATE: u64 = 2;
}

/// `TracePacketDefaults` has the field numbers of `TracePacket`, and its event defaults those of `TrackEvent`.
pub(crate) mod event {
    pub(crate) const DELTA_US: u32 = 1;
    pub(crate) const CATEGORY_IIDS: u32 = 3;
    pub(crate) const DEBUG_ANNOTATIONS: u32 = 4;
    pub(crate) const LEGACY_EVENT: u32 = 6;
    pub(crate) const TYPE: u32 = 9;
    pub(crate) const NAME_IID: u32 = 10;
    pub(crate) const TRACK_UUID: u32 = 11;
    pub(crate) const EXTRA_VALUES: u32 = 12;
    pub(crate) const ABSOLUTE_US: u32 = 16;
    pub(crate) const CATEGORIES: u32 = 22;
    pub(crate) const NAME: u32 = 23;
    pub(crate) const COUNTER_VALUE: u32 = 30;
    pub(crate) const EXTRA_UUIDS: u32 = 31;
    pub(crate) const OLD_FLOW_IDS: u32 = 36;
    pub(crate) const OLD_TERMINATING_FLOW_IDS: u32 = 42;
    pub(crate) const DOUBLE_COUNTER_VALUE: u32 = 44;
    pub(crate) const EXTRA_DOUBLE_UUIDS: u32 = 45;
    pub(crate) const EXTRA_DOUBLES: u32 = 46;
    pub(crate) const FLOW_IDS: u32 = 47;
    pub(crate) const TERMINATING_FLOW_IDS: u32 = 48;
    /// An extension: the render stages a host call submitted, in its field 1.
    pub(crate) const GPU_CORRELATION: u32 = 3000;

    pub(crate) const SLICE_BEGIN: u64 = 1;
    pub(crate) const SLICE_END: u64 = 2;
    pub(crate) const INSTANT: u64 = 3;
    pub(crate) const COUNTER: u64 = 4;
}

/// `TrackEvent.LegacyEvent`, what Chrome's JSON phases became.
pub(crate) mod legacy {
    pub(crate) const NAME_IID: u32 = 1;
    pub(crate) const PHASE: u32 = 2;
    pub(crate) const DURATION_US: u32 = 3;
    pub(crate) const INSTANT_SCOPE: u32 = 14;
    pub(crate) const PID_OVERRIDE: u32 = 18;
    pub(crate) const TID_OVERRIDE: u32 = 19;

    pub(crate) const SCOPE_GLOBAL: u64 = 1;
    pub(crate) const SCOPE_PROCESS: u64 = 2;
}

/// `TrackDescriptor`.
pub(crate) mod track {
    pub(crate) const UUID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const PROCESS: u32 = 3;
    pub(crate) const THREAD: u32 = 4;
    pub(crate) const PARENT_UUID: u32 = 5;
    pub(crate) const COUNTER: u32 = 8;
    pub(crate) const STATIC_NAME: u32 = 10;
    pub(crate) const CHILD_ORDERING: u32 = 11;
    pub(crate) const SIBLING_ORDER_RANK: u32 = 12;
    pub(crate) const ATRACE_NAME: u32 = 13;
    pub(crate) const DESCRIPTION: u32 = 14;
    pub(crate) const SIBLING_MERGE: u32 = 15;

    /// Children by their order rank.
    pub(crate) const CHILDREN_EXPLICIT: u64 = 3;
    /// Siblings of one name stay apart.
    pub(crate) const MERGE_NONE: u64 = 2;
}

/// `ProcessDescriptor`.
pub(crate) mod process {
    pub(crate) const PID: u32 = 1;
    pub(crate) const NAME: u32 = 6;
}

/// `CounterDescriptor`.
pub(crate) mod counter {
    pub(crate) const UNIT: u32 = 3;
    pub(crate) const UNIT_MULTIPLIER: u32 = 4;
    pub(crate) const IS_INCREMENTAL: u32 = 5;
    pub(crate) const UNIT_NAME: u32 = 6;

    pub(crate) const BYTES: u64 = 3;
}

/// `GpuRenderStageEvent`.
pub(crate) mod stage {
    pub(crate) const EVENT_ID: u32 = 1;
    pub(crate) const DURATION: u32 = 2;
    pub(crate) const OLD_QUEUE: u32 = 3;
    pub(crate) const OLD_STAGE: u32 = 4;
    pub(crate) const EXTRA_DATA: u32 = 6;
    pub(crate) const SPECIFICATIONS: u32 = 7;
    pub(crate) const GPU_ID: u32 = 11;
    pub(crate) const QUEUE_IID: u32 = 13;
    pub(crate) const STAGE_IID: u32 = 14;
    pub(crate) const NAME: u32 = 17;
    pub(crate) const WAIT_IDS: u32 = 18;
    pub(crate) const KERNEL_IID: u32 = 19;
    pub(crate) const NAME_IID: u32 = 20;
    pub(crate) const LAUNCH: u32 = 21;
}

/// `ThreadDescriptor`.
pub(crate) mod thread {
    pub(crate) const PID: u32 = 1;
    pub(crate) const TID: u32 = 2;
    pub(crate) const NAME: u32 = 5;
    pub(crate) const REFERENCE_US: u32 = 6;
}

/// `InternedData`.
pub(crate) mod interned {
    pub(crate) const EVENT_CATEGORIES: u32 = 1;
    pub(crate) const EVENT_NAMES: u32 = 2;
    pub(crate) const ANNOTATION_NAMES: u32 = 3;
    pub(crate) const GPU_SPECIFICATIONS: u32 = 24;
    pub(crate) const ANNOTATION_STRINGS: u32 = 29;
    pub(crate) const GPU_COUNTER_DESCRIPTORS: u32 = 47;
    /// Extensions of the GPU messages.
    pub(crate) const COMPUTE_KERNELS: u32 = 1000;
    pub(crate) const COMPUTE_ARG_NAMES: u32 = 1001;
}

/// An entry of [`interned`].
pub(crate) mod entry {
    pub(crate) const IID: u32 = 1;
    pub(crate) const TEXT: u32 = 2;
    /// In a GPU counter descriptor.
    pub(crate) const COUNTER_DESCRIPTOR: u32 = 2;
    /// In a compute kernel.
    pub(crate) const DEMANGLED: u32 = 3;
}

/// `DebugAnnotation`.
pub(crate) mod annotation {
    pub(crate) const NAME_IID: u32 = 1;
    pub(crate) const BOOL: u32 = 2;
    pub(crate) const UINT: u32 = 3;
    pub(crate) const INT: u32 = 4;
    pub(crate) const DOUBLE: u32 = 5;
    pub(crate) const STRING: u32 = 6;
    pub(crate) const POINTER: u32 = 7;
    pub(crate) const NESTED: u32 = 8;
    pub(crate) const LEGACY_JSON: u32 = 9;
    pub(crate) const NAME: u32 = 10;
    pub(crate) const DICT_ENTRIES: u32 = 11;
    pub(crate) const ARRAY_VALUES: u32 = 12;
    pub(crate) const STRING_IID: u32 = 17;
}

/// `ClockSnapshot`.
pub(crate) mod snapshot {
    pub(crate) const CLOCKS: u32 = 1;
    pub(crate) const PRIMARY: u32 = 2;
}

/// `ClockSnapshot.Clock`.
pub(crate) mod clock {
    pub(crate) const ID: u32 = 1;
    pub(crate) const TIMESTAMP: u32 = 2;
    pub(crate) const IS_INCREMENTAL: u32 = 3;
    pub(crate) const UNIT_NS: u32 = 4;

    pub(crate) const REALTIME: u64 = 1;
    pub(crate) const BOOTTIME: u64 = 6;
    /// The first and last id that belong to a sequence alone.
    pub(crate) const FIRST_OF_SEQUENCE: u64 = 64;
    pub(crate) const LAST_OF_SEQUENCE: u64 = 127;
}
