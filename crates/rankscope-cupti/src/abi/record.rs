//! Records as CUPTI lays them out: for each, which fields are read and where they lie. What later versions added is a table of its own.

use rankscope_devices::records;

records! {
    /// How every record begins.
    RecordKind { kind: u32 = 0 }

    /// A kernel. The name is an address of CUPTI's.
    Kernel {
        start: u64 = 16, end: u64 = 24, device_id: u32 = 40, context_id: u32 = 44, stream_id: u32 = 48, correlation_id: u32 = 92,
        name: u64 = 104,
    }
    /// The same, launched by a graph; zeros if it was not.
    KernelInGraph { graph_node_id: u64 = 144, graph_id: u32 = 156 }

    /// A copy.
    Memcpy {
        copy_kind: u8 = 4, src_kind: u8 = 5, dst_kind: u8 = 6, start: u64 = 16, end: u64 = 24, device_id: u32 = 32,
        context_id: u32 = 36, stream_id: u32 = 40, correlation_id: u32 = 44,
    }
    /// The same, by a graph.
    MemcpyInGraph { graph_node_id: u64 = 64, graph_id: u32 = 72 }

    /// A copy from device to device.
    MemcpyPeer {
        start: u64 = 16, end: u64 = 24, device_id: u32 = 32, context_id: u32 = 36, stream_id: u32 = 40, src_device_id: u32 = 44,
        dst_device_id: u32 = 52, correlation_id: u32 = 60,
    }
    /// The same, by a graph.
    MemcpyPeerInGraph { graph_node_id: u64 = 72, graph_id: u32 = 80 }

    /// A fill.
    Memset {
        start: u64 = 16, end: u64 = 24, device_id: u32 = 32, context_id: u32 = 36, stream_id: u32 = 40, correlation_id: u32 = 44,
        memory_kind: u16 = 50,
    }
    /// The same, by a graph.
    MemsetInGraph { graph_node_id: u64 = 64, graph_id: u32 = 72 }

    /// A call of the runtime or of the driver.
    ApiCall {
        cbid: u32 = 4, start: u64 = 8, end: u64 = 16, thread_id: u32 = 28, correlation_id: u32 = 32,
    }

    /// A wait.
    Synchronization {
        sort: i32 = 4, start: u64 = 8, end: u64 = 16, correlation_id: u32 = 24, context_id: u32 = 28, stream_id: u32 = 32,
    }

    /// Time of the profiler's own.
    Overhead { sort: i32 = 4, start: u64 = 24, end: u64 = 32 }

    /// A tie between a call and an id of somebody else's.
    External { external_kind: i32 = 4, external_id: u64 = 8, correlation_id: u32 = 16 }
}
