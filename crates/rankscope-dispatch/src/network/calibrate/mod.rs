//! Alpha and beta out of measurements.
//!
//! A benchmark says what an operation of so many bytes took. Of those bytes only some cross a rank's port (for an all-gather over
//! eight ranks seven eighths), in so many messages; [`Sample`] holds these two, so that figures of different operations can be
//! fitted together. The fit minimises relative errors: what matters of a millisecond is the percent, and of ten microseconds too.

mod bench;
mod fit;
mod least_squares;
mod levels;
mod nccl;
mod osu;
mod sample;

pub use bench::read;
pub use fit::{Calibration, Errors, Outlier, calibrate};
pub use levels::Calibrated;
pub use sample::{Operation, Sample, Samples};

/// From here on alpha and beta describe NCCL; below, its protocols change with the size (dispatch spec 7.E).
pub const BULK_BYTES: u64 = 8 << 20;
