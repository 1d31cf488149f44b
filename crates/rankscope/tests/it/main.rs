//! The binary as its users meet it: on files, folders, archives and whole jobs in processes of their own.
//!
//! One test binary, so that everything is linked once; a module for each of its subjects.

#[cfg(all(target_os = "linux", feature = "clock"))]
mod agents;
mod align_from_traces;
mod archives;
mod bad_input;
mod clock_agent;
mod clock_doctor;
mod clock_files;
mod clock_fit;
mod clock_simulate;
mod combine;
mod combine_run;
mod common;
mod comparable;
mod config;
mod corpus;
mod demo;
mod dispatch_bytes;
mod dispatch_check;
mod dispatch_functions;
mod dispatch_hostile;
mod dispatch_metadata;
mod dispatch_plan;
mod dispatch_predict;
mod dispatch_run;
mod endless_input;
mod fixtures;
mod input_rules;
mod job_truth;
mod launch_files;
mod measured_clocks;
mod plain_text;
mod recover;
mod run_crash;
mod run_exit;
mod run_frameworks;
mod run_hooks;
mod run_launchers;
mod run_no_harm;
mod run_ranks;
mod run_signals;
#[cfg(all(target_os = "linux", feature = "clock"))]
mod running;
mod runs;
mod spans;
mod timeline;
mod validate;
mod windows;
