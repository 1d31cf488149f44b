//! Clocks and networks in simulated time, with the truth known exactly.

mod clock;

pub use clock::SimClock;
