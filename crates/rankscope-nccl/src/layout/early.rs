//! Versions 1 to 3: every operation names its communicator, and version 1 has numbers where the others have texts.
#![expect(missing_docs, reason = "fields are called as NCCL calls them, and those that are read are explained where they are")]

use super::{Address, Coll4, KernelCh3, NetPlugin3, ProxyOp, ProxyStep, Text, descriptor, offsets};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Coll1 {
    pub name: Text,
    pub comm_hash: u64,
    pub sequence: u64,
    pub function: u8,
    pub send: Address,
    pub recv: Address,
    pub count: usize,
    pub root: i32,
    pub element: u8,
    pub op: u32,
    pub traffic_bytes: usize,
    pub channels: u8,
    pub warps: u8,
    pub algorithm: u8,
    pub protocol: u8,
    pub is_collnet: i32,
    pub is_nvls: i32,
}
offsets!(Coll1: name 24, comm_hash 32, sequence 40, function 48, send 56, recv 64, count 72, root 80, element 84, op 88);
offsets!(Coll1: traffic_bytes 96, channels 104, warps 105, algorithm 106, protocol 107, is_collnet 108, is_nvls 112);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Coll2 {
    pub name: Text,
    pub comm_hash: u64,
    pub sequence: u64,
    pub function: Text,
    pub send: Address,
    pub recv: Address,
    pub count: usize,
    pub root: i32,
    pub element: Text,
    pub traffic_bytes: usize,
    pub channels: u8,
    pub warps: u8,
    pub algorithm: Text,
    pub protocol: Text,
}
offsets!(Coll2: name 24, comm_hash 32, sequence 40, function 48, send 56, recv 64, count 72, root 80, element 88);
offsets!(Coll2: traffic_bytes 96, channels 104, warps 105, algorithm 112, protocol 120);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Coll3 {
    pub name: Text,
    pub comm_hash: u64,
    /// All that version 4 still has, which is as long in either.
    pub common: Coll4,
}
offsets!(Coll3: name 24, comm_hash 32, common 40);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct P2p1 {
    pub name: Text,
    pub comm_hash: u64,
    pub function: u8,
    pub buffer: Address,
    pub element: u8,
    pub count: usize,
    pub peer: i32,
}
offsets!(P2p1: name 24, comm_hash 32, function 40, buffer 48, element 56, count 64, peer 72);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct P2p2 {
    pub name: Text,
    pub comm_hash: u64,
    pub function: Text,
    pub buffer: Address,
    pub element: Text,
    pub count: usize,
    pub peer: i32,
}
offsets!(P2p2: name 24, comm_hash 32, function 40, buffer 48, element 56, count 64, peer 72);

descriptor! {
    /// An event as version 1 describes it.
    Descriptor1(Body1), u8, 120, { coll: Coll1, p2p: P2p1, proxy_op: ProxyOp, proxy_step: ProxyStep }
}
descriptor! {
    /// An event as version 2 describes it.
    Descriptor2(Body2), u8, 128, { coll: Coll2, p2p: P2p2, proxy_op: ProxyOp, proxy_step: ProxyStep }
}
descriptor! {
    /// An event as version 3 describes it.
    Descriptor3(Body3), u8, 120, {
        coll: Coll3, p2p: P2p2, proxy_op: ProxyOp, proxy_step: ProxyStep, kernel_ch: KernelCh3, net_plugin: NetPlugin3,
    }
}
