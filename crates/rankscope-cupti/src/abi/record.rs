//! Records as CUPTI lays them out: for each, which fields are read and where they lie.
//!
//! In the first version of records CUPTI's structures grow at their ends from version to version, so that a table is good for all of them:
//! reading checks that the record is long enough for the fields, and what later versions added is a table of its own, which a shorter
//! record does not have. In the second version fields have numbers, by which they are chosen and found; these never change. No table says
//! anything about what is not read.

use std::ffi::c_int;

use rankscope_devices::Field;

use super::Kind;
use crate::layout::Layout;

/// A record, and where its fields lie if that was said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'r> {
    pub(crate) bytes: &'r [u8],
    /// None for one of the first version.
    pub(crate) layout: Option<&'r Layout>,
}

impl Record<'_> {
    /// The kind with which every record begins; none if it is too short for one.
    pub(crate) fn kind(bytes: &[u8]) -> Option<u32> {
        bytes.first_chunk().copied().map(u32::from_le_bytes)
    }

    /// The field that lies `at` in a record of the first version, and is called `id` in one of the second.
    fn field<const BYTES: usize>(self, at: usize, id: usize) -> Option<[u8; BYTES]> {
        match self.layout {
            None => self.bytes.get(at..)?.first_chunk().copied(),
            Some(layout) => layout.number(self.bytes, id)?.to_le_bytes().first_chunk().copied(),
        }
    }
}

/// Declares records: a struct of the fields, each with where it begins in the first version and its number in the second, and how they are
/// read out of bytes.
macro_rules! records {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty = $at:literal ($id:literal)),+ $(,)? })+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(crate) struct $name {
                $(pub(crate) $field: $type,)+
            }

            impl $name {
                /// The numbers of its fields.
                const IDS: &'static [c_int] = &[$($id),+];

                /// Out of a record; none if it lacks one of them.
                pub(crate) fn read(record: Record<'_>) -> Option<Self> {
                    // CUPTI is for machines whose lowest byte comes first.
                    Some(Self { $($field: <$type>::from_le_bytes(record.field($at, $id)?),)+ })
                }
            }
        )+

        /// Every table, for tests.
        #[doc(hidden)]
        pub fn layouts() -> Vec<(&'static str, Vec<Field>)> {
            vec![$((stringify!($name), vec![$((stringify!($field), $at, size_of::<$type>()),)+]),)+]
        }

        /// The numbers of all fields, for tests.
        #[doc(hidden)]
        pub fn field_ids() -> Vec<(&'static str, &'static str, c_int)> {
            vec![$($((stringify!($name), stringify!($field), $id),)+)+]
        }
    };
}

records! {
    /// A kernel. The name is an address of CUPTI's.
    Kernel {
        start: u64 = 16 (7), end: u64 = 24 (8), device_id: u32 = 40 (10), context_id: u32 = 44 (11), stream_id: u32 = 48 (12),
        correlation_id: u32 = 92 (22), name: u64 = 104 (24),
    }
    /// The same, launched by a graph; zeros if it was not.
    KernelInGraph { graph_node_id: u64 = 144 (31), graph_id: u32 = 156 (33) }

    /// A copy.
    Memcpy {
        copy_kind: u8 = 4 (1), src_kind: u8 = 5 (2), dst_kind: u8 = 6 (3), start: u64 = 16 (6), end: u64 = 24 (7),
        device_id: u32 = 32 (8), context_id: u32 = 36 (9), stream_id: u32 = 40 (10), correlation_id: u32 = 44 (11),
    }
    /// The same, by a graph.
    MemcpyInGraph { graph_node_id: u64 = 64 (12), graph_id: u32 = 72 (13) }

    /// A copy from device to device.
    MemcpyPeer {
        start: u64 = 16 (6), end: u64 = 24 (7), device_id: u32 = 32 (8), context_id: u32 = 36 (9), stream_id: u32 = 40 (10),
        src_device_id: u32 = 44 (11), dst_device_id: u32 = 52 (13), correlation_id: u32 = 60 (15),
    }
    /// The same, by a graph.
    MemcpyPeerInGraph { graph_node_id: u64 = 72 (16), graph_id: u32 = 80 (17) }

    /// A fill.
    Memset {
        start: u64 = 16 (3), end: u64 = 24 (4), device_id: u32 = 32 (5), context_id: u32 = 36 (6), stream_id: u32 = 40 (7),
        correlation_id: u32 = 44 (8), memory_kind: u16 = 50 (10),
    }
    /// The same, by a graph.
    MemsetInGraph { graph_node_id: u64 = 64 (11), graph_id: u32 = 72 (12) }

    /// A call of the runtime or of the driver.
    ApiCall { cbid: u32 = 4 (1), start: u64 = 8 (2), end: u64 = 16 (3), thread_id: u32 = 28 (5), correlation_id: u32 = 32 (6) }

    /// A wait.
    Synchronization {
        sort: i32 = 4 (1), start: u64 = 8 (2), end: u64 = 16 (3), correlation_id: u32 = 24 (4), context_id: u32 = 28 (5),
        stream_id: u32 = 32 (6),
    }

    /// Time of the profiler's own.
    Overhead { sort: i32 = 4 (1), start: u64 = 24 (4), end: u64 = 32 (5) }

    /// Memory that was allocated or freed.
    Memory {
        operation: u32 = 4 (1), memory_kind: u32 = 8 (2), correlation_id: u32 = 12 (3), address: u64 = 16 (4), bytes: u64 = 24 (5),
        timestamp: u64 = 32 (6), device_id: u32 = 52 (8), stream_id: u32 = 60 (10),
    }
    /// The pool that it is taken from. What is its size is something else of a pool of another process.
    MemoryFromPool { pool_type: u32 = 80 (12), pool_address: u64 = 88 (13), pool_size: u64 = 104 (15) }

    /// A tie between a call and an id of somebody else's.
    External { external_kind: i32 = 4 (1), external_id: u64 = 8 (2), correlation_id: u32 = 16 (3) }
}

/// The fields that are chosen of a kind: the kind itself, which must be the first, and what is read.
pub(crate) fn chosen_fields(kind: Kind) -> Vec<c_int> {
    const KIND: &[c_int] = &[0];
    let read = match kind {
        Kind::ConcurrentKernel => [Kernel::IDS, KernelInGraph::IDS],
        Kind::Memcpy => [Memcpy::IDS, MemcpyInGraph::IDS],
        Kind::MemcpyPeer => [MemcpyPeer::IDS, MemcpyPeerInGraph::IDS],
        Kind::Memset => [Memset::IDS, MemsetInGraph::IDS],
        Kind::Runtime | Kind::Driver => [ApiCall::IDS, &[]],
        Kind::Synchronization => [Synchronization::IDS, &[]],
        Kind::Overhead => [Overhead::IDS, &[]],
        Kind::ExternalCorrelation => [External::IDS, &[]],
        Kind::Memory => [Memory::IDS, MemoryFromPool::IDS],
    };
    [KIND, read[0], read[1]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_beyond_a_record() {
        let mut bytes = [0_u8; 112];
        bytes[104..].copy_from_slice(&77_u64.to_le_bytes());
        let of = |bytes| Record { bytes, layout: None };
        assert_eq!(Kernel::read(of(&bytes)).map(|kernel| kernel.name), Some(77));
        assert_eq!(Kernel::read(of(&bytes[..111])), None);
        assert_eq!(KernelInGraph::read(of(&bytes)), None);
        assert_eq!(Record::kind(&[]), None);
    }

    #[test]
    fn each_field_is_chosen_once_and_the_kind_first() {
        for kind in Kind::ALL {
            let mut fields = chosen_fields(kind);
            assert_eq!(fields[0], 0, "{}", kind.name());
            let count = fields.len();
            fields.sort_unstable();
            fields.dedup();
            assert_eq!(fields.len(), count, "{}", kind.name());
        }
    }
}
