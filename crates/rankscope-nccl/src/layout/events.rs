//! Events that are laid out the same in several versions. The number behind a name is the version that brought the layout.
#![expect(missing_docs, reason = "fields are called as NCCL calls them, and those that are read are explained where they are")]

use super::{Address, Text, offsets};

/// A proxy's part in an operation. With PXN it may be of another process.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ProxyOp {
    pub pid: i32,
    pub channel: u8,
    pub peer: i32,
    pub steps: i32,
    pub chunk_bytes: i32,
    pub is_send: i32,
}
offsets!(ProxyOp: pid 24, channel 28, peer 32, steps 36, chunk_bytes 40, is_send 44);

/// The same as RCCL's version 6 has it, which begins like NCCL's.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ProxyOpRccl6 {
    pub common: ProxyOp,
    pub comm_hash: u64,
    pub op_count: u64,
    pub function: i32,
    pub protocol: i32,
    pub pattern: i32,
    pub total_bytes: i32,
    pub n_bytes: i32,
    pub n_steps: i32,
}
offsets!(ProxyOpRccl6: common 24, comm_hash 48, op_count 56, function 64, protocol 68, pattern 72, total_bytes 76, n_bytes 80, n_steps 84);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ProxyStep {
    pub step: i32,
}
offsets!(ProxyStep: step 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelCh3 {
    pub channel: u8,
}
offsets!(KernelCh3: channel 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelCh4 {
    pub channel: u8,
    /// The GPU's clock when the channel started.
    pub gpu_ns: u64,
}
offsets!(KernelCh4: channel 24, gpu_ns 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct NetPlugin3 {
    pub id: i64,
    pub data: Address,
}
offsets!(NetPlugin3: id 24, data 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct GroupApi5 {
    pub graph_captured: u8,
    pub depth: i32,
}
offsets!(GroupApi5: graph_captured 24, depth 28);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CollApi5 {
    pub function: Text,
    pub count: usize,
    pub element: Text,
    pub root: i32,
    pub stream: Address,
    pub graph_captured: u8,
}
offsets!(CollApi5: function 24, count 32, element 40, root 48, stream 56, graph_captured 64);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CollApi7 {
    pub common: CollApi5,
    pub user_tag: u64,
}
offsets!(CollApi7: common 24, user_tag 72);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct P2pApi5 {
    pub function: Text,
    pub count: usize,
    pub element: Text,
    pub stream: Address,
    pub graph_captured: u8,
}
offsets!(P2pApi5: function 24, count 32, element 40, stream 48, graph_captured 56);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct P2pApi7 {
    pub common: P2pApi5,
    pub user_tag: u64,
}
offsets!(P2pApi7: common 24, user_tag 64);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelLaunch5 {
    pub stream: Address,
}
offsets!(KernelLaunch5: stream 24);

/// A collective that a copy engine carries out.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CeColl6 {
    pub sequence: u64,
    pub function: Text,
    pub send: Address,
    pub recv: Address,
    pub count: usize,
    pub root: i32,
    pub element: Text,
    pub sync_strategy: Text,
    pub intra_batch_sync: u8,
    pub batch_size: u32,
    pub batches: u32,
    pub ce_sequence: u32,
    pub stream: Address,
}
offsets!(CeColl6: sequence 24, function 32, send 40, recv 48, count 56, root 64, element 72, sync_strategy 80);
offsets!(CeColl6: intra_batch_sync 88, batch_size 92, batches 96, ce_sequence 100, stream 104);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CeColl7 {
    pub common: CeColl6,
    pub user_tag: u64,
}
offsets!(CeColl7: common 24, user_tag 112);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CeSync6 {
    pub is_complete: u8,
    pub ranks: i32,
}
offsets!(CeSync6: is_complete 24, ranks 28);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CeBatch6 {
    pub operations: i32,
    pub total_bytes: u64,
    pub use_intra_sync: u8,
}
offsets!(CeBatch6: operations 24, total_bytes 32, use_intra_sync 40);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelPhase7 {
    pub channel: u8,
    pub phase: u8,
    pub name: Text,
    pub gpu_ns: u64,
}
offsets!(KernelPhase7: channel 24, phase 25, name 32, gpu_ns 40);
