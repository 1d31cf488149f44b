//! Starts a job as a run.
