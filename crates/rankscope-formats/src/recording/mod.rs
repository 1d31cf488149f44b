//! The recorder's own formats: the *live* file, which a recording process maps and writes in place, and the *packed* file,
//! columnar and compressed, which a recording becomes when it is exported.
//!
//! Both start with a magic number of their own and both are read from any `Read + Seek`. The live layout is what survives a
//! killed process: nothing in it has to be completed for it to be readable. What is not here: writing the live file while a
//! program runs (rankscope-record), paths, clocks of this machine.

mod args;
mod author;
mod category;
mod chunk;
mod event;
pub mod export;
mod live;
mod open;
pub mod packed;
mod records;
mod replay;
mod resumed;
mod session;
mod system;
mod ticks;
mod trace;
mod varint;
mod wall;
mod wild;
mod word;

#[cfg(test)]
mod tests;

pub use args::{ArgIter, ArgView, Args, I64s};
pub use author::LiveAuthor;
pub use category::{Categories, Category};
pub use chunk::{
    CHUNK_BYTES, CHUNK_HEADER_WORDS, CHUNK_WORDS, ChunkHeader, ChunkKind, ChunkState, FILE_HEADER_BYTES, LIVE_MAGIC,
    LIVE_VERSION,
};
pub use event::{ClockId, CounterValue, DropReason, Event, FlowStage, Remark, What, take_out};
pub use live::{Chunks, LIVE_HEAD_BYTES, LiveFile, live_head, live_process};
pub use open::{Recording, Thread};
pub use replay::Replay;
pub use resumed::RESUMED;
pub use session::{Cut, SessionMark};
pub use system::{Anchor, Name};
pub use ticks::{TickCursor, TickMap};
pub use trace::{read_live, to_trace};
pub use varint::zigzag;
pub use wall::{WallChange, wall_changes};
pub use word::{DELTA_BITS, KIND_BITS, Kind, NAME_BITS, NameId, Word};
