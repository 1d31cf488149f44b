//! Laws of plans, networks and exchanges, and plans as others made them.
//!
//! One test binary, so that everything is linked once; a module for each of its subjects.

mod alltoall_laws;
mod batches;
mod binary_laws;
mod bound_laws;
mod calibration;
mod choose_laws;
mod event_laws;
mod exchange_laws;
mod export_laws;
mod head_laws;
mod kept_laws;
mod network_laws;
mod planner_golden;
mod planner_laws;
mod received;
mod reference_laws;
mod row_indices_laws;
mod split_batch_laws;
mod split_bound_laws;
mod split_exchange_laws;
mod split_laws;
mod split_time_laws;
mod step_laws;
mod whole_attention;
