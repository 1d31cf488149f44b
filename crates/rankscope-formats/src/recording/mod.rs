//! The recorder's own formats: the *live* file, which a recording process maps and writes in place, and the *packed* file,
//! columnar and compressed, which a recording becomes when it is exported.
//!
//! Both start with a magic number of their own and both are read from any `Read + Seek`. The live layout is what survives a
//! killed process: nothing in it has to be completed for it to be readable. What is not here: writing the live file while a
//! program runs (rankscope-record), paths, clocks of this machine.

pub mod export;
pub mod packed;
#[cfg(test)]
#[path = "../../../rankscope-recording/tests/shadow/mod.rs"]
mod shadow;
mod trace;

pub use rankscope_recording::*;
pub use trace::{read_live, to_trace};
