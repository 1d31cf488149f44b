//! [`join_run`]: a rank of a run with the work of its GPUs, in one line.

use rankscope_record::plugins::Registry;
use rankscope_record::{JoinedRun, SessionOptions, join_run_with};

use crate::source::Rocprofiler;

/// As [`rankscope_record::join_run`], with a [`Rocprofiler`] beside the recording. Call it before the first call into HIP. Where there is
/// no GPU, the rank is recorded without, and its recording says why under `rocprofiler.absent`.
///
/// ```
/// // Started by `rankscope run`, this records the rank and its GPU work; started by hand, it does nothing.
/// let _run = rankscope_rocprofiler::join_run();
/// ```
pub fn join_run() -> Option<JoinedRun> {
    join_run_with(SessionOptions::default(), Registry::new().with(Rocprofiler::default()))
}
