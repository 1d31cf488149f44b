//! From a descriptor of any version to [`Start`], which is version 7's view.
//!
//! What a version does not say stays unknown and is never guessed.
#![expect(unsafe_code, reason = "descriptors are read where NCCL put them, and texts where they lie")]

mod early;

use std::ffi::c_void;

use crate::event::{Operation, Sort, Start, What};
use crate::layout::{CeColl6, Coll4, Descriptor4, Descriptor5, Descriptor6, Descriptor7, P2p4, Text};
use crate::words::{Algorithm, Element, Function, Protocol};

/// No word of NCCL's is longer.
const WORD_MAX: usize = 24;

/// A word of NCCL's, up to its zero byte.
///
/// # Safety
/// `text` is null or leads to a text that ends in a zero byte.
unsafe fn word(text: Text, buffer: &mut [u8; WORD_MAX]) -> &[u8] {
    let mut len = 0;
    if !text.is_null() {
        while len < WORD_MAX {
            // SAFETY: no byte before this one was the zero that ends the text.
            let byte = unsafe { *text.add(len) } as u8;
            if byte == 0 {
                break;
            }
            buffer[len] = byte;
            len += 1;
        }
    }
    &buffer[..len]
}

/// Looks up a word.
///
/// # Safety
/// That of [`word`].
unsafe fn look_up<T>(text: Text, of: impl FnOnce(&[u8]) -> T) -> T {
    let mut buffer = [0; WORD_MAX];
    // SAFETY: the caller's promise.
    of(unsafe { word(text, &mut buffer) })
}

/// A version's way to say what starts.
pub(crate) trait Described: Copy {
    /// Whether another plugin can be called with it as it is.
    const IS_CHAINED: bool = false;

    /// What it says; none of a kind that nobody knows.
    ///
    /// # Safety
    /// The descriptor is one that NCCL made: its kind says which part of the union holds, and texts in it are null or end in a zero
    /// byte.
    unsafe fn start(&self) -> Option<Start>;
}

/// What all versions say alike.
macro_rules! head {
    ($descriptor:expr) => {
        Start {
            sort: Sort::of_kind($descriptor.kind.into())?,
            parent: $descriptor.parent as u64,
            rank: $descriptor.rank,
            comm_hash: None,
            what: What::Nothing,
        }
    };
}
use head;

/// # Safety
/// That of [`word`], of the texts in it.
unsafe fn coll(coll: &Coll4, user_tag: u64) -> What {
    // SAFETY: the caller's promise.
    unsafe {
        What::Operation(Operation {
            function: look_up(coll.function, Function::of),
            sequence: coll.sequence,
            count: coll.count as u64,
            element: look_up(coll.element, Element::of),
            peer: coll.root,
            channels: coll.channels,
            warps: coll.warps,
            algorithm: look_up(coll.algorithm, Algorithm::of),
            protocol: look_up(coll.protocol, Protocol::of),
            user_tag,
        })
    }
}

/// # Safety
/// That of [`word`], of the texts in it.
unsafe fn p2p(p2p: &P2p4, user_tag: u64) -> What {
    // SAFETY: the caller's promise.
    unsafe {
        What::Operation(Operation {
            function: look_up(p2p.function, Function::of),
            count: p2p.count as u64,
            element: look_up(p2p.element, Element::of),
            peer: p2p.peer,
            channels: p2p.channels,
            user_tag,
            ..Operation::default()
        })
    }
}

/// # Safety
/// That of [`word`], of the texts in it.
unsafe fn ce_coll(coll: &CeColl6, user_tag: u64) -> What {
    // SAFETY: the caller's promise.
    unsafe {
        What::Operation(Operation {
            function: look_up(coll.function, Function::of),
            sequence: coll.sequence,
            count: coll.count as u64,
            element: look_up(coll.element, Element::of),
            peer: coll.root,
            user_tag,
            ..Operation::default()
        })
    }
}

fn proxy(pid: i32, channel: u8) -> What {
    What::Proxy { pid, channel }
}

impl Described for Descriptor4 {
    unsafe fn start(&self) -> Option<Start> {
        let mut start = head!(self);
        // SAFETY: the kind says which part of the union holds, and its texts are NCCL's own.
        unsafe {
            let body = &self.body;
            start.what = match start.sort {
                Sort::Coll => coll(&body.coll, 0),
                Sort::P2p => p2p(&body.p2p, 0),
                Sort::ProxyOp => proxy(body.proxy_op.pid, body.proxy_op.channel),
                Sort::KernelCh => What::Channel { channel: body.kernel_ch.channel, gpu_ns: body.kernel_ch.gpu_ns },
                _ => What::Nothing,
            };
        }
        Some(start)
    }
}

impl Described for Descriptor5 {
    const IS_CHAINED: bool = true;

    unsafe fn start(&self) -> Option<Start> {
        let mut start = head!(self);
        // SAFETY: the kind says which part of the union holds, and its texts are NCCL's own.
        unsafe {
            let body = &self.body;
            start.what = match start.sort {
                Sort::Coll => coll(&body.coll.common, 0),
                Sort::P2p => p2p(&body.p2p.common, 0),
                Sort::ProxyOp => proxy(body.proxy_op.pid, body.proxy_op.channel),
                Sort::KernelCh => What::Channel { channel: body.kernel_ch.channel, gpu_ns: body.kernel_ch.gpu_ns },
                Sort::GroupApi => What::Call { graph_captured: body.group_api.graph_captured != 0 },
                Sort::CollApi => What::Call { graph_captured: body.coll_api.graph_captured != 0 },
                Sort::P2pApi => What::Call { graph_captured: body.p2p_api.graph_captured != 0 },
                _ => What::Nothing,
            };
        }
        Some(start)
    }
}

impl Described for Descriptor6 {
    const IS_CHAINED: bool = true;

    unsafe fn start(&self) -> Option<Start> {
        if Sort::of_kind(self.kind) == Some(Sort::CeColl) {
            let mut start = head!(self);
            // SAFETY: the kind says which part of the union holds, and its texts are NCCL's own.
            start.what = unsafe { ce_coll(&self.body.ce_coll, 0) };
            return Some(start);
        }
        // SAFETY: version 6 only adds to the union of version 5, which is as long.
        unsafe { (*std::ptr::from_ref(self).cast::<Descriptor5>()).start() }
    }
}

impl Described for Descriptor7 {
    const IS_CHAINED: bool = true;

    unsafe fn start(&self) -> Option<Start> {
        let mut start = head!(self);
        // SAFETY: the kind says which part of the union holds, and its texts are NCCL's own.
        unsafe {
            let body = &self.body;
            start.what = match start.sort {
                Sort::Coll => coll(&body.coll.common.common, body.coll.user_tag),
                Sort::P2p => p2p(&body.p2p.common.common, body.p2p.user_tag),
                Sort::ProxyOp => proxy(body.proxy_op.pid, body.proxy_op.channel),
                Sort::KernelCh => What::Channel { channel: body.kernel_ch.channel, gpu_ns: body.kernel_ch.gpu_ns },
                Sort::GroupApi => What::Call { graph_captured: body.group_api.graph_captured != 0 },
                Sort::CollApi => What::Call { graph_captured: body.coll_api.common.graph_captured != 0 },
                Sort::P2pApi => What::Call { graph_captured: body.p2p_api.common.graph_captured != 0 },
                Sort::CeColl => ce_coll(&body.ce_coll.common, body.ce_coll.user_tag),
                _ => What::Nothing,
            };
        }
        Some(start)
    }
}

/// What the descriptor at `place` says; none where there is none.
///
/// # Safety
/// `place` is null or leads to a descriptor of this version, of which as much is there as its kind wants.
pub(crate) unsafe fn read<D: Described>(place: *const c_void) -> Option<Start> {
    // SAFETY: the caller's promise. Fields are read one by one, and none beyond what the kind says is there.
    unsafe { place.cast::<D>().as_ref()?.start() }
}
