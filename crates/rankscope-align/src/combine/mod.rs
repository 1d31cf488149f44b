//! What traces of several nodes need before they go into one file, beyond what every alignment does.
//!
//! The origin of this way of combining leaves its clocks in a file of offsets, a row a node and window, and its stamps relative
//! to when a node's collector started, on the wall clock for the host and on the accelerator's clock for devices. Here such
//! stamps are made whole again ([`restore_stamps`]), such rows become a map ([`through`]), and what a stamp was before stays
//! with its event where that is wanted ([`keep_original`]).

mod offsets;
mod original;
mod placed;
mod points;
mod stamps;

pub use offsets::{NodeOffsets, offsets_by_node};
pub use original::keep_original;
pub use placed::{PlacedBy, PlacedTrace};
pub use points::{OffsetPoint, PointMap, through};
pub use stamps::{CollectorStart, Restored, restore_stamps};
