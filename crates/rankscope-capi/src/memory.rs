//! Memory taken and given back.

use rankscope_record::{MemoryEvent, memory};

use crate::guard::counted;
use crate::structures::sized;

/// Memory taken or given back. Set all to zero and `struct_size` first, or use `rankscope_alloc` and `rankscope_free`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Memory {
    /// `sizeof(rankscope_memory)`.
    pub struct_size: u32,
    /// Kind of device: 0 the host, 1 CUDA, and on as PyTorch numbers them, up to 63.
    pub device_type: u32,
    /// Address of the block.
    pub address: u64,
    /// Its bytes; negative when given back.
    pub bytes: i64,
    /// Which device, -1 for the host. Up to 4094.
    pub device_index: i32,
    /// Not zero: the memory was wanted and not there.
    pub out_of_memory: u32,
    /// Bytes taken in all, or -1 where the allocator does not know.
    pub total_allocated: i64,
    /// Bytes the allocator holds in all, or -1.
    pub total_reserved: i64,
}

/// What the first version had.
const LEAST: u32 = 48;

/// Records memory taken or given back. It may be called inside an allocator.
///
/// # Safety
/// `event` is null, or has as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_memory_event(event: *const Memory) {
    counted((), || {
        // SAFETY: the caller says so; zeros are a memory event.
        let event = unsafe { sized(event, "rankscope_memory", LEAST) }.ok()?;
        let device_type = u8::try_from(event.device_type).ok().filter(|kind| *kind < 64)?;
        let device_index = i16::try_from(event.device_index).ok().filter(|index| (-1..=4094).contains(index))?;
        let known = |bytes: i64| (bytes >= 0).then_some(bytes);
        memory(&MemoryEvent {
            address: event.address,
            bytes: event.bytes,
            device_type,
            device_index,
            out_of_memory: event.out_of_memory != 0,
            total_allocated: known(event.total_allocated),
            total_reserved: known(event.total_reserved),
        });
        Some(())
    });
}
