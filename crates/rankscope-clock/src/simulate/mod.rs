//! Clocks and networks in simulated time, with the truth known exactly.

mod clock;
mod text;

pub use clock::SimClock;
pub use text::ClockTextError;
