//! Versions 4 to 7: a context stands for its communicator, kernels have times of the GPU, and from version 5 on the calls of the
//! application are events. The kind of version 4 is a byte, that of later ones a word: a plugin that mixes them up reads zero
//! for every event that came later.
#![expect(missing_docs, reason = "fields are called as NCCL calls them, and those that are read are explained where they are")]

use std::ffi::c_void;

use super::{
    Address, CeBatch6, CeColl6, CeColl7, CeSync6, CollApi5, CollApi7, GroupApi5, KernelCh4, KernelLaunch5, KernelPhase7,
    NetPlugin3, P2pApi5, P2pApi7, ProxyOp, ProxyOpRccl6, ProxyStep, Text, descriptor, offsets,
};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Coll4 {
    pub sequence: u64,
    pub function: Text,
    pub send: Address,
    pub recv: Address,
    pub count: usize,
    pub root: i32,
    pub element: Text,
    pub channels: u8,
    pub warps: u8,
    pub algorithm: Text,
    pub protocol: Text,
}
offsets!(Coll4: sequence 24, function 32, send 40, recv 48, count 56, root 64, element 72, channels 80, warps 81);
offsets!(Coll4: algorithm 88, protocol 96);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Coll5 {
    pub common: Coll4,
    pub parent_group: *mut c_void,
}
offsets!(Coll5: common 24, parent_group 104);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Coll7 {
    pub common: Coll5,
    pub kernel_variant: Text,
    pub is_symmetric: u8,
    pub user_tag: u64,
}
offsets!(Coll7: common 24, kernel_variant 112, is_symmetric 120, user_tag 128);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct P2p4 {
    pub function: Text,
    pub buffer: Address,
    pub element: Text,
    pub count: usize,
    pub peer: i32,
    pub channels: u8,
}
offsets!(P2p4: function 24, buffer 32, element 40, count 48, peer 56, channels 60);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct P2p5 {
    pub common: P2p4,
    pub parent_group: *mut c_void,
}
offsets!(P2p5: common 24, parent_group 64);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct P2p7 {
    pub common: P2p5,
    pub user_tag: u64,
}
offsets!(P2p7: common 24, user_tag 72);

descriptor! {
    /// An event as version 4 describes it.
    Descriptor4(Body4), u8, 104, {
        coll: Coll4, p2p: P2p4, proxy_op: ProxyOp, proxy_step: ProxyStep, kernel_ch: KernelCh4, net_plugin: NetPlugin3,
    }
}
descriptor! {
    /// An event as version 5 describes it.
    Descriptor5(Body5), u64, 112, {
        coll: Coll5, p2p: P2p5, proxy_op: ProxyOp, proxy_step: ProxyStep, kernel_ch: KernelCh4, net_plugin: NetPlugin3,
        group_api: GroupApi5, coll_api: CollApi5, p2p_api: P2pApi5, kernel_launch: KernelLaunch5,
    }
}
descriptor! {
    /// An event as version 6 describes it.
    Descriptor6(Body6), u64, 112, {
        coll: Coll5, p2p: P2p5, proxy_op: ProxyOp, proxy_step: ProxyStep, kernel_ch: KernelCh4, net_plugin: NetPlugin3,
        group_api: GroupApi5, coll_api: CollApi5, p2p_api: P2pApi5, kernel_launch: KernelLaunch5,
        ce_coll: CeColl6, ce_sync: CeSync6, ce_batch: CeBatch6,
    }
}
descriptor! {
    /// An event as RCCL's version 6 describes it. Only what a proxy does is told otherwise.
    DescriptorRccl6(BodyRccl6), u64, 112, {
        coll: Coll5, p2p: P2p5, proxy_op: ProxyOpRccl6, kernel_ch: KernelCh4, group_api: GroupApi5, coll_api: CollApi5,
        p2p_api: P2pApi5, kernel_launch: KernelLaunch5, ce_coll: CeColl6,
    }
}
descriptor! {
    /// An event as version 7 describes it.
    Descriptor7(Body7), u64, 136, {
        coll: Coll7, p2p: P2p7, proxy_op: ProxyOp, proxy_step: ProxyStep, kernel_ch: KernelCh4, net_plugin: NetPlugin3,
        group_api: GroupApi5, coll_api: CollApi7, p2p_api: P2pApi7, kernel_launch: KernelLaunch5,
        ce_coll: CeColl7, ce_sync: CeSync6, ce_batch: CeBatch6, kernel_phase: KernelPhase7,
    }
}
