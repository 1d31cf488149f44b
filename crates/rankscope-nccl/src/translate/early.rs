//! Versions 1 to 3, in which every operation says its communicator, and the first has numbers for words.

use super::{Described, coll, head, look_up, proxy};
use crate::event::{Operation, Sort, Start, What};
use crate::layout::{Coll2, Coll4, Descriptor1, Descriptor2, Descriptor3};
use crate::words::{Algorithm, Element, Function, Protocol};

impl Described for Descriptor1 {
    unsafe fn start(&self) -> Option<Start> {
        let mut start = head!(self);
        // SAFETY: the kind says which part of the union holds.
        unsafe {
            match start.sort {
                Sort::Coll => {
                    let coll = self.body.coll;
                    start.comm_hash = Some(coll.comm_hash);
                    start.what = What::Operation(Operation {
                        function: Function::of_version_1(coll.function),
                        sequence: coll.sequence,
                        count: coll.count as u64,
                        element: Element::of_version_1(coll.element),
                        peer: coll.root,
                        channels: coll.channels,
                        warps: coll.warps,
                        algorithm: Algorithm::of_version_1(coll.algorithm),
                        protocol: Protocol::of_version_1(coll.protocol),
                        user_tag: 0,
                    });
                }
                Sort::P2p => {
                    let p2p = self.body.p2p;
                    start.comm_hash = Some(p2p.comm_hash);
                    start.what = What::Operation(Operation {
                        function: Function::of_version_1(p2p.function),
                        count: p2p.count as u64,
                        element: Element::of_version_1(p2p.element),
                        peer: p2p.peer,
                        ..Operation::default()
                    });
                }
                Sort::ProxyOp => start.what = proxy(self.body.proxy_op.pid, self.body.proxy_op.channel),
                _ => {}
            }
        }
        Some(start)
    }
}

/// Versions 2 and 3, which differ in where the fields of a collective lie.
macro_rules! with_texts_and_hashes {
    ($($descriptor:ty, |$coll:ident| $what:expr, |$channel:ident| $kernel_ch:expr;)+) => {
        $(impl Described for $descriptor {
            unsafe fn start(&self) -> Option<Start> {
                let mut start = head!(self);
                // SAFETY: the kind says which part of the union holds, and its texts are NCCL's own.
                unsafe {
                    match start.sort {
                        Sort::Coll => {
                            let coll = self.body.coll;
                            start.comm_hash = Some(coll.comm_hash);
                            let $coll = &coll;
                            start.what = $what;
                        }
                        Sort::P2p => {
                            let p2p = self.body.p2p;
                            start.comm_hash = Some(p2p.comm_hash);
                            start.what = What::Operation(Operation {
                                function: look_up(p2p.function, Function::of),
                                count: p2p.count as u64,
                                element: look_up(p2p.element, Element::of),
                                peer: p2p.peer,
                                ..Operation::default()
                            });
                        }
                        Sort::ProxyOp => start.what = proxy(self.body.proxy_op.pid, self.body.proxy_op.channel),
                        Sort::KernelCh => {
                            let $channel = self;
                            start.what = $kernel_ch;
                        }
                        _ => {}
                    }
                }
                Some(start)
            }
        })+
    };
}

with_texts_and_hashes! {
    // Version 2 knows no channels of kernels.
    Descriptor2, |described| coll(&without_traffic(described), 0), |_descriptor| What::Nothing;
    Descriptor3, |described| coll(&described.common, 0),
        |descriptor| What::Channel { channel: descriptor.body.kernel_ch.channel, gpu_ns: 0 };
}

/// What version 2 says of a collective, but for the bytes that it moves, which no later version says.
fn without_traffic(coll: &Coll2) -> Coll4 {
    let Coll2 { sequence, function, send, recv, count, root, element, channels, warps, algorithm, protocol, .. } = *coll;
    Coll4 { sequence, function, send, recv, count, root, element, channels, warps, algorithm, protocol }
}
