//! Where fields lie, beside what the compiler says of CUPTI's own declarations in CUDA 12.9 and 13.5: numbers that were printed once by
//! a program with `offsetof`, of every struct of a record that either version hands over.

/// Record of ours, the field, its offset, its bytes.
const TABLE: [(&str, &str, usize, usize); 67] = [
    ("Kernel", "start", 16, 8),
    ("Kernel", "end", 24, 8),
    ("Kernel", "device_id", 40, 4),
    ("Kernel", "context_id", 44, 4),
    ("Kernel", "stream_id", 48, 4),
    ("Kernel", "correlation_id", 92, 4),
    ("Kernel", "name", 104, 8),
    ("KernelInGraph", "graph_node_id", 144, 8),
    ("KernelInGraph", "graph_id", 156, 4),
    ("Memcpy", "copy_kind", 4, 1),
    ("Memcpy", "src_kind", 5, 1),
    ("Memcpy", "dst_kind", 6, 1),
    ("Memcpy", "start", 16, 8),
    ("Memcpy", "end", 24, 8),
    ("Memcpy", "device_id", 32, 4),
    ("Memcpy", "context_id", 36, 4),
    ("Memcpy", "stream_id", 40, 4),
    ("Memcpy", "correlation_id", 44, 4),
    ("MemcpyInGraph", "graph_node_id", 64, 8),
    ("MemcpyInGraph", "graph_id", 72, 4),
    ("MemcpyPeer", "start", 16, 8),
    ("MemcpyPeer", "end", 24, 8),
    ("MemcpyPeer", "device_id", 32, 4),
    ("MemcpyPeer", "context_id", 36, 4),
    ("MemcpyPeer", "stream_id", 40, 4),
    ("MemcpyPeer", "src_device_id", 44, 4),
    ("MemcpyPeer", "dst_device_id", 52, 4),
    ("MemcpyPeer", "correlation_id", 60, 4),
    ("MemcpyPeerInGraph", "graph_node_id", 72, 8),
    ("MemcpyPeerInGraph", "graph_id", 80, 4),
    ("Memset", "start", 16, 8),
    ("Memset", "end", 24, 8),
    ("Memset", "device_id", 32, 4),
    ("Memset", "context_id", 36, 4),
    ("Memset", "stream_id", 40, 4),
    ("Memset", "correlation_id", 44, 4),
    ("Memset", "memory_kind", 50, 2),
    ("MemsetInGraph", "graph_node_id", 64, 8),
    ("MemsetInGraph", "graph_id", 72, 4),
    ("ApiCall", "cbid", 4, 4),
    ("ApiCall", "start", 8, 8),
    ("ApiCall", "end", 16, 8),
    ("ApiCall", "thread_id", 28, 4),
    ("ApiCall", "correlation_id", 32, 4),
    ("Synchronization", "sort", 4, 4),
    ("Synchronization", "start", 8, 8),
    ("Synchronization", "end", 16, 8),
    ("Synchronization", "correlation_id", 24, 4),
    ("Synchronization", "context_id", 28, 4),
    ("Synchronization", "stream_id", 32, 4),
    ("Overhead", "sort", 4, 4),
    ("Overhead", "start", 24, 8),
    ("Overhead", "end", 32, 8),
    ("Memory", "operation", 4, 4),
    ("Memory", "memory_kind", 8, 4),
    ("Memory", "correlation_id", 12, 4),
    ("Memory", "address", 16, 8),
    ("Memory", "bytes", 24, 8),
    ("Memory", "timestamp", 32, 8),
    ("Memory", "device_id", 52, 4),
    ("Memory", "stream_id", 60, 4),
    ("MemoryFromPool", "pool_type", 80, 4),
    ("MemoryFromPool", "pool_address", 88, 8),
    ("MemoryFromPool", "pool_size", 104, 8),
    ("External", "external_kind", 4, 4),
    ("External", "external_id", 8, 8),
    ("External", "correlation_id", 16, 4),
];

/// Record of ours, the field, its number: printed once in the same way of CUDA 13.3, 13.4 and 13.5, which agree.
const NUMBERS: [(&str, &str, i32); 67] = [
    ("Kernel", "start", 7),
    ("Kernel", "end", 8),
    ("Kernel", "device_id", 10),
    ("Kernel", "context_id", 11),
    ("Kernel", "stream_id", 12),
    ("Kernel", "correlation_id", 22),
    ("Kernel", "name", 24),
    ("KernelInGraph", "graph_node_id", 31),
    ("KernelInGraph", "graph_id", 33),
    ("Memcpy", "copy_kind", 1),
    ("Memcpy", "src_kind", 2),
    ("Memcpy", "dst_kind", 3),
    ("Memcpy", "start", 6),
    ("Memcpy", "end", 7),
    ("Memcpy", "device_id", 8),
    ("Memcpy", "context_id", 9),
    ("Memcpy", "stream_id", 10),
    ("Memcpy", "correlation_id", 11),
    ("MemcpyInGraph", "graph_node_id", 12),
    ("MemcpyInGraph", "graph_id", 13),
    ("MemcpyPeer", "start", 6),
    ("MemcpyPeer", "end", 7),
    ("MemcpyPeer", "device_id", 8),
    ("MemcpyPeer", "context_id", 9),
    ("MemcpyPeer", "stream_id", 10),
    ("MemcpyPeer", "src_device_id", 11),
    ("MemcpyPeer", "dst_device_id", 13),
    ("MemcpyPeer", "correlation_id", 15),
    ("MemcpyPeerInGraph", "graph_node_id", 16),
    ("MemcpyPeerInGraph", "graph_id", 17),
    ("Memset", "start", 3),
    ("Memset", "end", 4),
    ("Memset", "device_id", 5),
    ("Memset", "context_id", 6),
    ("Memset", "stream_id", 7),
    ("Memset", "correlation_id", 8),
    ("Memset", "memory_kind", 10),
    ("MemsetInGraph", "graph_node_id", 11),
    ("MemsetInGraph", "graph_id", 12),
    ("ApiCall", "cbid", 1),
    ("ApiCall", "start", 2),
    ("ApiCall", "end", 3),
    ("ApiCall", "thread_id", 5),
    ("ApiCall", "correlation_id", 6),
    ("Synchronization", "sort", 1),
    ("Synchronization", "start", 2),
    ("Synchronization", "end", 3),
    ("Synchronization", "correlation_id", 4),
    ("Synchronization", "context_id", 5),
    ("Synchronization", "stream_id", 6),
    ("Overhead", "sort", 1),
    ("Overhead", "start", 4),
    ("Overhead", "end", 5),
    ("Memory", "operation", 1),
    ("Memory", "memory_kind", 2),
    ("Memory", "correlation_id", 3),
    ("Memory", "address", 4),
    ("Memory", "bytes", 5),
    ("Memory", "timestamp", 6),
    ("Memory", "device_id", 8),
    ("Memory", "stream_id", 10),
    ("MemoryFromPool", "pool_type", 12),
    ("MemoryFromPool", "pool_address", 13),
    ("MemoryFromPool", "pool_size", 15),
    ("External", "external_kind", 1),
    ("External", "external_id", 2),
    ("External", "correlation_id", 3),
];

/// How long the records of CUDA 12.0 are, the oldest that are read.
const SHORTEST: [(&str, usize); 9] = [
    ("Memory", 112),
    ("Kernel", 200),
    ("MemcpyPeer", 96),
    ("Memcpy", 88),
    ("Memset", 88),
    ("ApiCall", 40),
    ("Synchronization", 40),
    ("Overhead", 40),
    ("External", 24),
];

#[test]
fn fields_lie_where_cupti_puts_them() {
    let layouts = rankscope_cupti::abi::layouts();
    let ours: Vec<(&str, &str, usize, usize)> = layouts
        .iter()
        .flat_map(|(record, fields)| fields.iter().map(|(field, at, bytes)| (*record, *field, *at, *bytes)))
        .collect();
    assert_eq!(ours, TABLE);
}

#[test]
fn fields_are_chosen_by_the_numbers_that_cupti_gives_them() {
    assert_eq!(rankscope_cupti::abi::field_ids(), NUMBERS);
}

#[test]
fn nothing_reaches_beyond_the_oldest_record_that_is_read() {
    for (record, fields) in rankscope_cupti::abi::layouts() {
        let (_, bytes) = SHORTEST.iter().find(|(known, _)| record.starts_with(known)).unwrap();
        let end = fields.iter().map(|(_, at, bytes)| at + bytes).max();
        assert!(end <= Some(*bytes), "{record}: {end:?} of {bytes}");
    }
}
