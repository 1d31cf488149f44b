//! The recorder's own formats: the *live* file, which a recording process maps and writes in place, and the *packed* file,
//! columnar and compressed, which a recording becomes when it is exported.
//!
//! Both start with a magic number of their own and both are read from any `Read + Seek`. The live layout is what survives a
//! killed process: nothing in it has to be completed for it to be readable. What is not here: writing the live file while a
//! program runs (rankscope-record), paths, clocks of this machine.

mod category;
mod chunk;
mod event;
mod word;

pub use category::{Categories, Category};
pub use chunk::{
    CHUNK_BYTES, CHUNK_HEADER_WORDS, CHUNK_WORDS, ChunkHeader, ChunkKind, ChunkState, FILE_HEADER_BYTES, LIVE_MAGIC,
    LIVE_VERSION,
};
pub use event::{ClockId, CounterValue, DropReason, Event, FlowStage, What};
pub use word::{DELTA_BITS, KIND_BITS, Kind, NAME_BITS, NameId, Word};
