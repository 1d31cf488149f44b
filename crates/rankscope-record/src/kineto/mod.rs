//! The face of Kineto: the entry points, types and words of torch's profiler in Rust names (recorder specification, section 1).
//!
//! Beneath it are the core's sessions; the face adds what Kineto's users know (one profiler a process, its errors, its events
//! and their tree) and returns as a value whatever Kineto asserts, prints or keeps quiet about. What is not here: tensors, Python,
//! the legacy profiler, device libraries.

mod accessors;
mod activity;
mod amend;
mod callbacks;
mod child;
mod config;
mod config_values;
mod convert;
mod dynamic;
mod enable;
mod error;
mod event;
mod fields;
mod flows;
mod inputs;
mod keys;
mod links;
mod memory_profile;
mod op;
mod op_args;
mod result;
mod slot;
mod state;
mod steps;
mod tree;
mod vendor;

pub use activity::{Activities, ActivityType};
pub use callbacks::{
    CallbackHandle, Kept, OpView, RecordFunctionCallback, Scopes, add_global_callback, add_thread_local_callback,
};
pub use child::{disable_profiler_in_child_thread, enable_profiler_in_child_thread};
pub use config::{ExperimentalConfig, ProfilerConfig};
pub use config_values::GenericValue;
pub use dynamic::{
    add_metadata_json, iterations, preset_metadata_json, profiler_step, report_backend_event_to_active_profiler,
    toggle_collection_dynamic,
};
pub use enable::{
    PrepareOptions, active_profiler_type, disable_profiler, enable_profiler, enable_profiler_with_event_post_process,
    is_profiler_enabled_in_main_thread, prepare_profiler,
};
pub use error::{Fault, KinetoError, Warning, WhyEmpty};
pub use event::{EventType, Flow, FlowType, KinetoEvent, Metadata, Shape};
pub use flows::{Sequenced, forward_backward};
pub use inputs::{Input, SCALARS_KEPT, Tensor};
pub use memory_profile::{export_memory_profile, start_memory_profile, stop_memory_profile};
pub use op::{Op, RecordFunction, current_thread_id};
pub use result::ProfilerResult;
pub use state::{ActiveProfilerType, ProfilerState, ResourceType, TraceStatus};
pub use steps::KinetoStepTracker;
pub use tree::{EventTree, NodeId, TreeBuilder};
pub use vendor::Ranges;
