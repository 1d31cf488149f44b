//! Memory on the timeline: every allocation, or a sample of them that estimates the live heap.
//!
//! The idea: [`RecordingAllocator`] stands in front of the program's allocator. Switched off it costs one relaxed load; exact,
//! it records every block as a memory event; sampling, it looks at one block in half a megabyte or so, remembers it until it
//! is given back, and estimates from those what is held ([`LiveHeap`]). A block is put down to the innermost span that was
//! open on its thread, found in the recording afterwards: that is what a reader of a timeline asks for, and it needs no walk
//! over the stack, which cannot be done inside an allocator without taking locks. What is not here: memory of devices, which their allocators report
//! themselves.

mod allocator;
mod live_heap;
mod live_table;
mod sampler;

pub use allocator::RecordingAllocator;
pub use live_heap::{Estimate, LiveHeap, SizeClass, SpanHeap};
pub use sampler::{ByteSampler, DEFAULT_MEAN_BYTES, weight};
