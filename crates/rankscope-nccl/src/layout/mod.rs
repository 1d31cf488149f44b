//! What NCCL passes to a profiler plugin, byte by byte, for every version of its interface.
//!
//! NCCL has no header for this in its packages, so the declarations stand here, each with the offsets that it was found to have as
//! assertions. A descriptor is a header and a union of one struct an event; the struct of an event grows at its end or stays, so
//! that one that is read for an older version is never longer than what is there. Nothing here interprets anything.

mod early;
mod events;
mod late;
mod table;

pub use early::{Coll1, Coll2, Coll3, Descriptor1, Descriptor2, Descriptor3, P2p1, P2p2};
pub use events::{
    CeBatch6, CeColl6, CeColl7, CeSync6, CollApi5, CollApi7, GroupApi5, KernelCh3, KernelCh4, KernelLaunch5, KernelPhase7,
    NetPlugin3, P2pApi5, P2pApi7, ProxyOp, ProxyOpRccl6, ProxyStep,
};
pub use late::{Coll4, Coll5, Coll7, Descriptor4, Descriptor5, Descriptor6, Descriptor7, DescriptorRccl6, P2p4, P2p5, P2p7};
pub use table::{
    Finalize, InitOf1, InitOf4, InitOf5, Logger, ProfilerOf1, ProfilerOf4, ProfilerOf5, RecordState, StartEvent, StateArgs1,
    StateArgs4, StateArgsRccl6, StopEvent,
};

use std::ffi::{c_char, c_void};

/// A text of NCCL's, which ends in a zero byte; may be null.
pub type Text = *const c_char;
/// An address of NCCL's that is never followed.
pub type Address = *const c_void;

/// Where the union of a descriptor begins, in every version.
pub const BODY: usize = 24;

/// Asserts the offsets of fields in a descriptor, of which a struct of an event is the union.
macro_rules! offsets {
    ($event:ty: $($field:ident $at:literal),+ $(,)?) => {
        $(const _: () = assert!(std::mem::offset_of!($event, $field) + $crate::layout::BODY == $at);)+
    };
}
pub(crate) use offsets;

/// Declares a descriptor of which the first field has a type of its own, and asserts its size.
macro_rules! descriptor {
    ($(#[$doc:meta])* $name:ident($body:ident), $kind:ty, $bytes:literal, { $($event:ident: $layout:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub struct $name {
            /// Which event, as its bit.
            pub kind: $kind,
            /// The object that it belongs to: a handle that was given out for that, or null.
            pub parent: *mut std::ffi::c_void,
            /// The rank within the communicator.
            pub rank: i32,
            /// What the event says.
            pub body: $body,
        }

        #[doc = concat!("What an event of [`", stringify!($name), "`] says.")]
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub union $body {
            $(#[doc = concat!("Of `", stringify!($event), "`.")] pub $event: $layout,)+
        }

        const _: () = {
            assert!(std::mem::size_of::<$name>() == $bytes);
            assert!(std::mem::offset_of!($name, parent) == 8 && std::mem::offset_of!($name, rank) == 16);
            assert!(std::mem::offset_of!($name, body) == $crate::layout::BODY);
        };
    };
}
pub(crate) use descriptor;
