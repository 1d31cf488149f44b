//! The recorder's own format: the *live* file, which a recording process maps and writes in place, and the events in it.
//!
//! The live layout is what survives a killed process: nothing in it has to be completed for it to be readable. A [`Recording`]
//! is opened over whatever gives [`Chunks`], a [`LiveFile`] or the memory of a running recorder, and a [`Replay`] walks the
//! events of one thread where they lie.
//!
//! It is small on purpose: a program that records itself compiles this crate and no other reader or writer. What is not here:
//! writing the live file while a program runs (rankscope-record); the packed file, traces and exports (rankscope-formats); paths
//! and clocks of this machine.
//!
//! ```
//! use std::io::Cursor;
//!
//! use rankscope_recording::{Cut, LiveAuthor, LiveFile, Recording, What};
//!
//! let mut author = LiveAuthor::new();
//! let name = author.name("step", 1, 0);
//! author.begin(1, 100, name);
//! author.end(1, 250);
//!
//! let recording = Recording::open(LiveFile::open(Cursor::new(author.finish()))?)?;
//! let mut replay = recording.replay(&recording.threads()[0], &Cut::everything());
//! let (begin, _args) = replay.next().expect("one span was recorded");
//! assert!(matches!(begin.what, What::Begin { .. }));
//! assert_eq!(&*recording.names()[begin.name.0 as usize].text, "step");
//! # Ok::<(), rankscope_recording::Error>(())
//! ```

mod args;
mod author;
mod category;
mod chunk;
pub mod device;
mod error;
mod event;
mod gpu_times;
pub mod json;
pub mod keys;
mod live;
mod noted;
mod open;
mod page;
mod records;
mod replay;
mod resumed;
mod session;
mod system;
mod ticks;
pub mod varint;
mod wall;
mod wild;
mod word;

pub use args::{ArgIter, ArgView, Args, I64s};
pub use author::LiveAuthor;
pub use category::{Categories, Category};
pub use chunk::{
    CHUNK_BYTES, CHUNK_HEADER_WORDS, CHUNK_WORDS, ChunkHeader, ChunkKind, ChunkState, FILE_HEADER_BYTES, LIVE_MAGIC,
    LIVE_VERSION, PACKED_MAGIC,
};
pub use device::{Arrow, DEVICE_STREAM, DEVICE_WORK, DeviceWork, MEMORY_KIND, MEMORY_PLACE, MemoryPlace, WorkPlace};
pub use error::{Error, NotLive};
pub use event::{ClockId, CounterValue, DropReason, Event, FlowStage, Remark, What, take_out};
pub use gpu_times::{GPU_TIMES, GpuTimes};
pub use live::{Chunks, LIVE_HEAD_BYTES, LiveFile, live_head, live_process};
pub use noted::{NOTED, Noted};
pub use open::{Recording, Thread};
pub use page::{
    LivePage, PAGE_ARRIVAL_WORDS, PAGE_ARRIVALS, PAGE_ARRIVALS_AT, PAGE_BYTES, PAGE_COUNT_AT, PAGE_GROUP_WORDS, PAGE_GROUPS,
    PAGE_GROUPS_AT, PAGE_NAME_BYTES, PAGE_STATE_WORDS, PAGE_STATES_AT, PAGE_WORDS, PageArrival, PageGroup, PageHead, PageMark,
    PageOp, PagePhase, PageRefused, PageState, newest_state, page_name, phase_limit_ns, rank_of_page, state_checksum,
};
pub use replay::Replay;
pub use resumed::{FirstSlice, RESUMED, Resumed};
pub use session::{Cut, SessionMark};
pub use system::{Anchor, Name};
pub use ticks::{TickCursor, TickMap};
pub use varint::zigzag;
pub use wall::{WallChange, wall_changes};
pub use word::{DELTA_BITS, KIND_BITS, Kind, NAME_BITS, NameId, Word};
