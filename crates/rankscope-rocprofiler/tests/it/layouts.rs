//! Where fields lie, beside what a C compiler said, once, of the declarations that the library in C of these tests has in the shape of
//! rocprofiler-sdk 1.x's. AMD's own headers were read, not compiled.

/// Record of ours, the field, its offset, its bytes.
const TABLE: [(&str, &str, usize, usize); 68] = [
    ("RecordStart", "size", 0, 8),
    ("RecordStart", "kind", 8, 4),
    ("Dispatch", "internal", 16, 8),
    ("Dispatch", "external", 24, 8),
    ("Dispatch", "start", 40, 8),
    ("Dispatch", "end", 48, 8),
    ("Dispatch", "agent", 64, 8),
    ("Dispatch", "queue", 72, 8),
    ("Dispatch", "kernel", 80, 8),
    ("Copy", "direction", 12, 4),
    ("Copy", "internal", 16, 8),
    ("Copy", "external", 24, 8),
    ("Copy", "start", 40, 8),
    ("Copy", "end", 48, 8),
    ("Copy", "to_agent", 56, 8),
    ("Copy", "from_agent", 64, 8),
    ("HipCall", "operation", 12, 4),
    ("HipCall", "internal", 16, 8),
    ("HipCall", "external", 24, 8),
    ("HipCall", "start", 32, 8),
    ("HipCall", "end", 40, 8),
    ("HipCall", "thread", 48, 8),
    ("HipCallAfterAncestor", "operation", 12, 4),
    ("HipCallAfterAncestor", "internal", 16, 8),
    ("HipCallAfterAncestor", "external", 24, 8),
    ("HipCallAfterAncestor", "start", 40, 8),
    ("HipCallAfterAncestor", "end", 48, 8),
    ("HipCallAfterAncestor", "thread", 56, 8),
    ("GraphCall", "internal", 16, 8),
    ("GraphCall", "graph", 64, 8),
    ("Allocation", "operation", 12, 4),
    ("Allocation", "internal", 16, 8),
    ("Allocation", "thread", 32, 8),
    ("Allocation", "start", 40, 8),
    ("Allocation", "end", 48, 8),
    ("Allocation", "agent", 56, 8),
    ("Allocation", "address", 64, 8),
    ("Allocation", "bytes", 72, 8),
    ("AllocationAfterAncestor", "operation", 12, 4),
    ("AllocationAfterAncestor", "internal", 16, 8),
    ("AllocationAfterAncestor", "thread", 40, 8),
    ("AllocationAfterAncestor", "start", 48, 8),
    ("AllocationAfterAncestor", "end", 56, 8),
    ("AllocationAfterAncestor", "agent", 64, 8),
    ("AllocationAfterAncestor", "address", 72, 8),
    ("AllocationAfterAncestor", "bytes", 80, 8),
    ("Scratch", "operation", 12, 4),
    ("Scratch", "internal", 16, 8),
    ("Scratch", "agent", 32, 8),
    ("Scratch", "queue", 40, 8),
    ("Scratch", "start", 56, 8),
    ("Scratch", "end", 64, 8),
    ("ScratchAfterAncestor", "operation", 12, 4),
    ("ScratchAfterAncestor", "internal", 16, 8),
    ("ScratchAfterAncestor", "agent", 40, 8),
    ("ScratchAfterAncestor", "queue", 48, 8),
    ("ScratchAfterAncestor", "start", 64, 8),
    ("ScratchAfterAncestor", "end", 72, 8),
    ("Agent", "size", 0, 8),
    ("Agent", "id", 8, 8),
    ("Agent", "sort", 16, 4),
    ("Agent", "location", 108, 4),
    ("Agent", "domain", 112, 4),
    ("Agent", "product_name", 264, 8),
    ("Agent", "number", 288, 4),
    ("AgentUuid", "unique", 296, 8),
    ("HipStream", "size", 0, 8),
    ("HipStream", "stream", 8, 8),
];

#[test]
fn fields_lie_where_rocprofiler_puts_them() {
    let layouts = rankscope_rocprofiler::abi::layouts();
    let ours: Vec<(&str, &str, usize, usize)> = layouts
        .iter()
        .flat_map(|(record, fields)| fields.iter().map(|(field, at, bytes)| (*record, *field, *at, *bytes)))
        .collect();
    assert_eq!(ours, TABLE);
}
