//! What sources of device work have in common, whichever vendor's profiler they load.
//!
//! ```text
//!  vendor's profiler ──► callback ──► Pool ──► Worker: decodes ──► the session's recording
//!                        (no lock, no wait)
//! ```
//!
//! A profiler's callbacks, which a [`Switch`] turns on and off, only move buffers of a [`Pool`] that was there before; a [`Worker`] decodes
//! what is in them and hands it over; [`ClockFit`] says which clock of the host its stamps are of. A [`SourcePlugin`] takes a [`Profiler`]
//! through a session, and [`SourceState`] tells the program how it goes. Nothing here knows a vendor: which library is loaded, in which order, what its records are and why it is absent are each source's own.

mod call;
mod clock;
mod loading;
mod plugin;
mod pool;
mod record;
mod state;
mod status;
mod switch;
mod worker;

pub use call::{ApiCalls, CallSort};
pub use clock::{ClockFit, NoClock};
pub use loading::{Tried, file_name, mapped_files, mapped_in, open_first, said, symbol, text};
pub use plugin::{Collected, Ended, Profiler, SourcePlugin};
pub use pool::{Filled, Pool};
pub use record::{Field, bytes_at, stamp_ns};
pub use state::SourceState;
pub use switch::Switch;
pub use worker::{Collect, Worker};
